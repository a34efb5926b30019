"""Global attention: a softmax over the whole source (Luong et al. 2015, section 3.1, equation 7), with each of the
paper's energies (equation 8), and Bahdanau et al. (2015), whose energy is `concat`.

The options come first, those of each energy with `scaled`. `SoftmaxAttention` is the base of further attentions, too.
`with_energy` makes the rows of the table `ATTENTIONS`."""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mt.common.options import Options
from mt.kernels.sequences import masked_softmax
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory, State
from mt.models.attention.energy import ConcatConfig, DotConfig, GeneralConfig, LocationConfig, Scaled, build_energy
from mt.models.encoders.base import Encoded

# The options: those of an energy, and `scaled`.


class ScaledConfig(Options):
    scaled: bool = True
    """Whether energies have a learned gain that starts at 1 / sqrt(d), d the terms of an energy, and concat's direction
    is normalized (TF-NMT's `scaled_luong`, `normed_bahdanau`; Salimans & Kingma 2016). Without it (Luong et al. 2015)
    dot and general of hundreds of terms make the softmax one-hot before it has learnt to align."""


class OneEnergyConfig(ScaledConfig):
    """Options of an attention and of its only energy in one class."""

    @property
    def energy(self) -> Options:
        return self


class DotAttentionConfig(OneEnergyConfig, DotConfig):
    """Luong et al. 2015, equation 8: h . s."""


class GeneralAttentionConfig(OneEnergyConfig, GeneralConfig):
    """Luong et al. 2015, equation 8: h . W s."""


# Bahdanau et al. 2015, A.1.2: the query is the previous state s_{t-1} where decoder=bahdanau.
class BahdanauAttentionConfig(OneEnergyConfig, ConcatConfig):
    name: Literal["bahdanau"] = "bahdanau"  # type: ignore[assignment]
    scaled: bool = False
    """Whether energies have a learned gain that starts at 1 / sqrt(d), d hidden units. The additive energy, whose terms
    are bounded, begins more evenly with it, and learns sooner without."""


class LocationAttentionConfig(OneEnergyConfig, LocationConfig):
    """Luong et al. 2015, section 3.1: W h, a row of W for each position, whatever its value."""


# The attention.


class SoftmaxAttention(Attention):
    """A softmax over the energies of all source positions."""

    def __init__(self, config: Any, query_size: int, value_size: int) -> None:
        """config: has `energy`, the options of the energy, and `scaled`."""
        super().__init__()
        energy = build_energy(config.energy, query_size, value_size, normalized=config.scaled)
        self.max_source_length = energy.max_source_length
        self.energy = Scaled(energy) if config.scaled else energy

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((self.energy.keys(encoded),), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns the number of steps so far: [B] int64."""
        # Wait-k shows more of the source from step to step, and the window of local-m moves with them.
        return (memory.mask.new_zeros(len(memory.mask), dtype=torch.int64),)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        return self._attend(query[:, None], memory, state[0][:, None]).only_step((state[0] + 1,))

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        steps = torch.arange(queries.shape[1], device=queries.device).expand(queries.shape[:2])  # [B, T]
        return self._attend(queries, memory, steps)

    def _attend(self, queries: Float[Tensor, "B T Q"], memory: Memory, steps: Int[Tensor, "B T"]) -> AttentionOutput:
        """Attends with the queries of one step or all. steps: the number of each, from 0."""
        # Energies, and weights of them, [B, T, S]; then contexts, [B, T, V].
        weights = self._weights(self.energy(queries, memory.keys[0]), memory.visible(steps))
        return AttentionOutput(memory.contexts(weights), weights)

    def _weights(self, energies: Float[Tensor, "B T S"], visible: Bool[Tensor, "B _ S"]) -> Float[Tensor, "B T S"]:
        """Returns the distribution over the visible positions, in float32; zeros where there is none."""
        return masked_softmax(energies, visible)


class Global(SoftmaxAttention):
    """Global attention with a fixed kind of energy, whose options are the attention's, together with `scaled`."""

    # Not in the base class: `Stochastic` and local-p are subclasses, too, and look at the whole source.
    supports_wait_k = True


def with_energy(options: type[OneEnergyConfig]) -> type[Global]:
    """Returns global attention as the class whose `Config` has the options of one energy."""
    return type(options.__name__.removesuffix("Config"), (Global,), {"Config": options, "__module__": __name__})
