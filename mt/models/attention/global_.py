"""Global attention: a softmax over the whole source (Luong et al. 2015, section 3.1, equation 7), with each of the
paper's energies (equation 8), and Bahdanau et al. (2015), whose energy is `concat`."""

from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel
from torch import Tensor

from mt.common.options import Options
from mt.kernels.input_feeding import DotProductAttention
from mt.models.attention import energy as energies
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory, State
from mt.models.attention.energy import ConcatConfig, DotConfig, Energy, GeneralConfig, LocationConfig, Scaled
from mt.models.encoders.base import Encoded
from mt.ops.sequences import masked_softmax


class ScaledConfig(Options):
    scaled: bool = True
    """Whether energies have a learned gain that starts at 1 / sqrt(d), d the terms of an energy, and concat's direction
    is normalized (TF-NMT's `scaled_luong`, `normed_bahdanau`; Salimans & Kingma 2016). Without it (Luong et al. 2015)
    dot and general of hundreds of terms make the softmax one-hot before it has learnt to align."""


class DotAttentionConfig(ScaledConfig, DotConfig):
    pass


class GeneralAttentionConfig(ScaledConfig, GeneralConfig):
    pass


class BahdanauAttentionConfig(ScaledConfig, ConcatConfig):
    name: Literal["bahdanau"] = "bahdanau"  # type: ignore[assignment]
    scaled: bool = False
    """Whether energies have a learned gain that starts at 1 / sqrt(d), d hidden units. The additive energy, whose terms
    are bounded, begins more evenly with it, and learns sooner without."""


class LocationAttentionConfig(ScaledConfig, LocationConfig):
    pass


class SoftmaxAttention(Attention):
    """A softmax over the energies of all source positions."""

    def __init__(self, energy: Energy, *, scaled: bool) -> None:
        super().__init__()
        self.max_source_length = energy.max_source_length
        self.energy = Scaled(energy) if scaled else energy

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((self.energy.keys(encoded),), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns the number of steps so far: [B] int64."""
        return (memory.mask.new_zeros(len(memory.mask), dtype=torch.int64),)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        return self._attend(query[:, None], memory, state[0][:, None]).only_step((state[0] + 1,))

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        steps = torch.arange(queries.shape[1], device=queries.device).expand(queries.shape[:2])  # [B, T]
        return self._attend(queries, memory, steps)

    def _attend(self, queries: Float[Tensor, "B T Q"], memory: Memory, steps: Int[Tensor, "B T"]) -> AttentionOutput:
        """Attends with the queries of one step or all. steps: the number of each, from 0."""
        weights = self._weights(self.energy(queries, memory.keys[0]), memory.visible(steps))
        return AttentionOutput(memory.contexts(weights), weights)

    def _weights(self, energies: Float[Tensor, "B T S"], visible: Bool[Tensor, "B _ S"]) -> Float[Tensor, "B T S"]:
        """Returns the distribution over the visible positions, in float32; zeros where there is none."""
        return masked_softmax(energies, visible)


class Global(SoftmaxAttention):
    """Each energy is an attention of its own name, whose options are the energy's and `scaled`."""

    supports_wait_k = True
    energy_class: ClassVar[type[Energy]]

    def __init__(self, config: Any, query_size: int, value_size: int) -> None:
        energy = self.energy_class(config, query_size, value_size, normalized=config.scaled)
        super().__init__(energy, scaled=config.scaled)


class Dot(Global):
    """score(h_t, h_s) = h_t . h_s"""

    Config: ClassVar[type[BaseModel]] = DotAttentionConfig
    energy_class = energies.Dot


class General(Global):
    """score(h_t, h_s) = h_t . W_a h_s"""

    Config: ClassVar[type[BaseModel]] = GeneralAttentionConfig
    energy_class = energies.General


class Bahdanau(Global):
    """e_tj = v_a . tanh(W_a s_{t-1} + U_a h_j) (Bahdanau et al. 2015, A.1.2), which is Luong's `concat` (equation 8).
    The query is s_{t-1} where decoder=bahdanau."""

    Config: ClassVar[type[BaseModel]] = BahdanauAttentionConfig
    energy_class = energies.Concat


class Location(Global):
    """a_t = softmax(W_a h_t), from the query alone."""

    Config: ClassVar[type[BaseModel]] = LocationAttentionConfig
    energy_class = energies.Location


def as_dot_products(attention: Attention, memory: Memory, steps: int) -> DotProductAttention | None:
    """Returns a softmax over dot products, whose gradient a decoder computes itself; None of others and subclasses."""
    if type(attention) not in (Dot, General, Location):
        return None
    energy: Any = attention.energy
    gain = memory.values.new_ones(())
    if type(energy) is Scaled:
        gain = energy.gain
        energy = energy.energy
    if not energy.is_dot_product:
        return None
    numbers = torch.arange(steps, device=memory.mask.device).expand(len(memory.mask), -1)
    return DotProductAttention(memory.keys[0], gain, memory.values, memory.visible(numbers))
