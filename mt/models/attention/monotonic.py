"""Hard monotonic attention, trained in expectation (Raffel et al. 2017).

The process: from the position where it last stopped, a pointer moves right and stops at each position with probability
p_choose. Soft mode computes the expectation over all its paths; hard mode follows the one path of decisions
energy >= 0, which is p_choose >= 0.5. Both are the same recurrence, the second with p_choose rounded to 0 and 1, so
that training and decoding cannot drift apart.

Subclasses define what is attended to at a stop: here, the position itself.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from pydantic import BaseModel, Field, model_validator
from torch import Tensor
from torch.nn.functional import pad

from mt.common.options import Options
from mt.errors import UserError
from mt.models.attention.base import AttentionOutput, AttentionStep, State
from mt.models.attention.energies import EnergyConfig, build_energy
from mt.models.attention.energy import GeneralConfig, Scaled
from mt.models.attention.hard_steps import Mechanism, all_hard_steps, first_attended, hard_step, whole_hard_step
from mt.models.attention.masks import first, last
from mt.models.attention.memory import Memory
from mt.models.attention.steps import step_from_output
from mt.models.encoders import Encoded
from mt.ops import expected_alignment, expected_lagging, quantity_loss


class MonotonicConfig(Options):
    name: Literal["monotonic"] = "monotonic"
    energy: EnergyConfig = GeneralConfig()
    """concat is Raffel et al. 2017, equation 16; general is equation 17."""
    energy_bias: float = Field(-2.0, ge=-1e6, le=1e6)
    """Initial r, in nats: negative, so that at first the pointer moves (Raffel et al. 2017, appendices D, G: -1 to
    -5)."""
    noise_std: float = Field(2.0, ge=0, le=1e6)
    """Standard deviation of the noise before the sigmoid, in training (Raffel et al. 2017, section 2.4: 1;
    Arivazhagan et al. 2019, table 4: 4)."""
    mass_preservation: bool = True
    """When the pointer leaves the source. false: nothing is selected, in this step and all later ones (Raffel et al.
    2017, section 2.2); true: it stops at the last position (Arivazhagan et al. 2019, section 3.2)."""
    latency_weight: float = Field(0.0, ge=0, le=1e6)
    """lambda: nats that training pays for each source token of expected lagging (Arivazhagan et al. 2019, section 3.3,
    there 0.01 to 0.75 with milk)."""
    quantity_weight: float = Field(0.0, ge=0, le=1e6)
    """Nats that training pays for each target token that nothing is selected for (Inaguma et al. 2020; in
    neural_sp 0.1, for speech). With mass_preservation=true there is none."""

    @model_validator(mode="after")
    def _can_lose_a_token(self) -> "MonotonicConfig":
        if self.quantity_weight and self.mass_preservation:
            raise UserError(
                f"attention.quantity_weight={self.quantity_weight:g} is the price of selecting nothing, which does not "
                "happen with attention.mass_preservation=true: set that to false, or the weight to 0"
            )
        return self


class MonotonicAlignment(NamedTuple):
    """The alignment of some target steps; all [B, T, S] in float32."""

    previous: Tensor
    """alpha of the step before."""
    p_choose: Tensor
    """The probability of stopping at a position, given that it is reached."""
    alpha: Tensor
    """The probability of stopping at a position."""
    hard: bool
    """Whether all three are 0 and 1."""


class Monotonic(Mechanism):
    Config: ClassVar[type[BaseModel]] = MonotonicConfig
    supports_hard = monotonic = needs_order = data_dependent_loop = True
    lookback: int | None = 0

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.noise_std = config.noise_std
        self.mass_preservation = config.mass_preservation
        self.latency_weight = config.latency_weight
        self.quantity_weight = config.quantity_weight
        energy = build_energy(config.energy, query_size, value_size, normalized=True)
        self.energy = Scaled(energy, config.energy_bias)
        self.chunk_energy = None  # where the stop alone is attended to, its weight is 1
        self.max_source_length = energy.max_source_length

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((self.energy.keys(encoded),), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Soft: alpha before the first step, [B, S]: one-hot on the first position (Raffel et al. 2017, section 2.3).
        Hard: the position of the last stop, and the next one to be looked at, both [B] int64."""
        if not hard:
            return (first(memory.mask).float(),)
        begin = torch.zeros(len(memory.mask), dtype=torch.int64, device=memory.mask.device)
        return (begin, begin)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        if hard and self.monotonic:
            return hard_step(self, query, memory, state)
        if hard:
            return whole_hard_step(lambda previous: self._attend(query[:, None], memory, previous, True), memory, state)
        previous = pad(state[0], (0, memory.mask.shape[1] - state[0].shape[1]))  # of a source that has grown
        output = self._attend(query[:, None], memory, previous, hard)
        assert output.alpha is not None
        return step_from_output(output, (output.alpha[:, 0],))

    def first_needed(self, state: State) -> Sequence[int]:
        # A source may end where it is waited for: then the stop is the last position that was looked at.
        pairs = zip(*(part.tolist() for part in state), strict=True)
        return [first_attended(self.lookback, stop, max(stop, end - 1)) for stop, end in pairs]

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        output = all_hard_steps(self, queries, memory) if hard and self.monotonic else None
        return output or self._attend(queries, memory, self.init_state(memory)[0], hard)

    def auxiliary_loss(
        self,
        output: AttentionOutput,
        losses: Float[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, ""] | None:
        """Returns the expected lagging (Arivazhagan et al. 2019, equations 10 to 14), and the tokens that nothing is
        selected for (`quantity_loss`)."""
        assert output.alpha is not None
        terms = []
        if self.latency_weight:
            terms.append(self.latency_weight * expected_lagging(output.alpha, source_mask, target_mask).sum())
        if self.quantity_weight:
            terms.append(self.quantity_weight * quantity_loss(output.alpha, target_mask).sum())
        return torch.stack(terms).sum() if terms else None

    def _attend(self, queries: Tensor, memory: Memory, previous: Tensor, hard: bool) -> AttentionOutput:
        """previous: [B, S], alpha of the step before the first."""
        p_choose = self._p_choose(queries, memory, hard)
        alpha = expected_alignment(p_choose, previous)
        alignment = MonotonicAlignment(torch.cat((previous[:, None], alpha[:, :-1]), 1), p_choose, alpha, hard)
        weights = self._weights(alignment, queries, memory)
        return AttentionOutput(memory.contexts(weights), weights, alpha, None if hard else p_choose)

    def _p_choose(self, queries: Tensor, memory: Memory, hard: bool) -> Tensor:
        energy = self.energy(queries, memory.keys[0])
        if self.training and self.noise_std and not hard:
            energy = energy + self.noise_std * torch.randn_like(energy)
        # Decided on the energy: of one just below 0 the sigmoid in float32 is 0.5.
        p_choose = (energy >= 0).to(energy.dtype) if hard else energy.sigmoid()
        p_choose = p_choose.masked_fill(~memory.mask[:, None], 0.0)
        if not self.mass_preservation:
            return p_choose
        forced = last(memory.mask) if memory.complete is None else last(memory.mask) & memory.complete[:, None]
        return p_choose.masked_fill(forced[:, None], 1.0)

    def _weights(self, alignment: MonotonicAlignment, queries: Tensor, memory: Memory) -> Tensor:
        """Returns the attention weights, [B, T, S]; each row sums to as much as alpha's."""
        return alignment.alpha
