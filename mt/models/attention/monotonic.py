"""Hard monotonic attention, trained in expectation (Raffel et al. 2017).

The process: from the position where it last stopped, a pointer moves right and stops at each position with probability
p_choose. Soft mode computes the expectation over all its paths; hard mode follows the one path of decisions
energy >= 0, which is p_choose >= 0.5. Both are the same recurrence, the second with p_choose rounded to 0 and 1, so
that training and decoding cannot drift apart.

Subclasses attend to a chunk that ends at the stop: here, to the stop itself.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, Field, model_validator
from torch import Tensor
from torch.nn.functional import pad

from mt.common.options import Options
from mt.errors import UserError
from mt.kernels import hard_step as kernel
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory, State
from mt.models.attention.energy import Energy, EnergyConfig, GeneralConfig, Scaled, build_energy
from mt.models.encoders.base import Encoded
from mt.ops.expected import expected_alignment
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE, Attended


class MonotonicConfig(Options):
    name: Literal["monotonic"] = "monotonic"
    energy: EnergyConfig = GeneralConfig()
    """concat is Raffel et al. 2017, equation 16; general is equation 17."""
    energy_bias: Annotated[float, "nats"] = Field(-2.0, ge=-1e6, le=1e6)
    """Initial r, in nats: negative, so that at first the pointer moves; the longer the source, the lower (Raffel et al.
    2017, appendices D, G: -1 to -5)."""
    noise_std: Annotated[float, "nats"] = Field(2.0, ge=0, le=1e6)
    """Standard deviation of the noise before the sigmoid, in training; it brings soft and hard together (Raffel et al.
    2017, section 2.4: 1; Arivazhagan et al. 2019, table 4: 4). Where each word is copied from one position, 0.5 is
    enough; for headlines 3."""
    mass_preservation: bool = True
    """true: a pointer that leaves the source stops at its last position (Arivazhagan et al. 2019, section 3.2). false:
    it selects nothing, in this step and all later ones (Raffel et al. 2017, section 2.2)."""
    latency_weight: Annotated[float, "nats per token"] = Field(0.0, ge=0, le=1e6)
    """lambda, the weight of the latency loss, in nats for each source token of expected lagging (Arivazhagan et al.
    2019, section 3.3, there 0.01 to 0.75 with milk). Above 0, the pointer stops earlier."""
    quantity_weight: Annotated[float, "nats per token"] = Field(0.0, ge=0, le=1e6)
    """The weight of the quantity loss, in nats for each target token without a selected position (Inaguma et al. 2020;
    in neural_sp 0.1, for speech, which needs it). With mass_preservation=true there is none."""

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


class Monotonic(Attention):
    """A step attends to the chunk that ends at its stop (`chunk_begin`): here, to the stop alone."""

    Config: ClassVar[type[BaseModel]] = MonotonicConfig
    supports_hard = monotonic = needs_order = True
    lookback: int = 0
    """The most positions before its stop that a step attends to."""
    since_last_stop: ClassVar[bool] = False
    """Whether none of them lies before the last stop."""
    chunk_energy: Energy | None
    """The energy of the softmax over the chunk, with the second keys of the memory; None: the stop alone has a
    weight."""

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.noise_std = config.noise_std
        self.mass_preservation = config.mass_preservation
        energy = build_energy(config.energy, query_size, value_size, normalized=True)
        self.energy = Scaled(energy, config.energy_bias)
        self.chunk_energy = None  # where the stop alone is attended to, its weight is 1
        self.max_source_length = energy.max_source_length

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((self.energy.keys(encoded),), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns alpha before the first step, [B, S], one-hot on the first position (Raffel et al. 2017, section 2.3).
        Hard: the position of the last stop, and the next one to be looked at, both [B] int64."""
        begin = torch.zeros(len(memory.mask), dtype=torch.int64, device=memory.mask.device)
        return (begin, begin) if hard else (_one_hot(begin, memory.mask),)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        if hard:
            return self._hard_step(query, memory, state)
        previous = pad(state[0], (0, memory.mask.shape[1] - state[0].shape[1]))  # of a source that has grown
        output = self._attend(query[:, None], memory, previous, previous, hard=False)
        assert output.alpha is not None
        return output.only_step((output.alpha[:, 0],))

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        if hard and (terms := self._compiled_terms(queries, memory)):
            return AttentionOutput(*kernel.hard_steps(*terms))
        # One-hot, not the two numbers of a hard state: the recurrence over all steps is the same, hard or soft.
        (start,) = self.init_state(memory)
        return self._attend(queries, memory, start, start, hard)

    def chunk_begin(self, last_stops: Int[Tensor, " B"], stops: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
        """Returns the first attended position of steps that stop at `stops` after `last_stops`."""
        begin = (stops - self.lookback).clamp(min=0)
        return torch.maximum(begin, last_stops) if self.since_last_stop else begin

    def first_needed(self, state: State) -> Sequence[int]:
        last_stops, position = state
        # A source may end while a step waits for it: then the stop is the last position that was looked at.
        return self.chunk_begin(last_stops, torch.maximum(last_stops, position - 1)).tolist()

    def _attend(self, queries: Tensor, memory: Memory, start: Tensor, previous: Tensor, hard: bool) -> AttentionOutput:
        """Attends with all queries. start: [B, S], the probability that the first step begins at each position.
        previous: [B, S], alpha before that step. The two differ only for a hard step that has waited for more of the
        source."""
        # The probability of stopping at each position once it is reached, then that of stopping there at all.
        p_choose = self._p_choose(queries, memory, hard)  # [B, T, S]
        alpha = expected_alignment(p_choose, start)
        alignment = MonotonicAlignment(torch.cat((previous[:, None], alpha[:, :-1]), 1), p_choose, alpha, hard)
        weights = self._weights(alignment, queries, memory)
        return AttentionOutput(memory.contexts(weights), weights, alpha, None if hard else p_choose)

    def _p_choose(self, queries: Tensor, memory: Memory, hard: bool) -> Tensor:
        # Noise teaches energies of a large size, which decide nearly as hard steps do.
        energy = self.energy(queries, memory.keys[0])
        if self.training and self.noise_std and not hard:
            energy = energy + self.noise_std * torch.randn_like(energy)
        # The decision is on the energy: just below 0, its sigmoid in float32 is 0.5.
        p_choose = (energy >= 0).to(energy.dtype) if hard else energy.sigmoid()  # [B, T, S]
        p_choose = p_choose.masked_fill(~memory.mask[:, None], 0.0)
        if not self.mass_preservation:
            return p_choose
        # With it, whoever reaches the end of a complete source stops there.
        forced = memory.is_last() if memory.complete is None else memory.is_last() & memory.complete[:, None]
        return p_choose.masked_fill(forced[:, None], 1.0)

    def _weights(self, alignment: MonotonicAlignment, queries: Tensor, memory: Memory) -> Tensor:
        """Returns the attention weights, [B, T, S]; each row sums to as much as alpha's."""
        return alignment.alpha

    def _hard_step(self, query: Tensor, memory: Memory, state: State) -> AttentionStep:
        """Takes one hard step: by a compiled loop, which looks at no position beyond the stop, or else over the whole
        source. The state of a step without a stop is at the end of the positions so far."""
        if terms := self._compiled_terms(query, memory):
            energies, source, rule = terms
            return AttentionStep(*kernel.hard_step(energies, source, state, rule))
        # Else by the recurrence over all columns. Positions become columns of the memory, whose beginning may be gone.
        offset = 0 if memory.first is None else memory.first
        last_stops, begin = (position - offset for position in state)
        lengths = memory.mask.sum(1)
        # A pointer behind the last column is one-hot nowhere, so that the step stops nowhere.
        start = begin
        if self.mass_preservation:
            # Where a source has ended while the step waited, the pointer may still stop at the last position.
            start = torch.minimum(begin, lengths - 1)
            start = start if memory.complete is None else torch.where(memory.complete, start, begin)
        output = self._attend(
            query[:, None], memory, _one_hot(start, memory.mask), _one_hot(last_stops, memory.mask), hard=True
        )
        # The stop of each row, and the state after it.
        assert output.alpha is not None
        alpha = output.alpha[:, 0]  # [B, S]
        stopped = alpha.any(1)
        stops = alpha.argmax(1)
        position = torch.where(stopped, stops, lengths)  # [B]
        # With the stop itself.
        looked_at = position - begin + stopped
        after = torch.where(stopped, stops, last_stops) + offset, position + offset
        stops = (stops + offset).masked_fill(~stopped, SELECTED_NONE)
        if memory.complete is not None:
            # While the source goes on, a row that has not stopped has decided nothing.
            stops = stops.masked_fill(~stopped & ~memory.complete, NEEDS_MORE_SOURCE)
        return AttentionStep(
            output.contexts[:, 0], Attended(output.weights[:, 0], stops, memory.first, looked_at), after
        )

    def _compiled_terms(
        self, queries: Tensor, memory: Memory
    ) -> tuple[kernel.Energies, kernel.Source, kernel.Rule] | None:
        """Returns the arguments of the compiled loops for queries [B, ..., Q]; None where the loops cannot compute this
        attention, or are not available."""
        if not kernel.is_compiled(queries, memory.values):
            return None
        modules: Any = self._modules  # as attributes they take longer than a step computes
        keys = memory.keys
        energy = modules["energy"].as_plain(queries, keys[0])
        chunk_energy = modules.get("chunk_energy")
        # Where the stop alone is attended to, its weight is 1 whatever its energy.
        chunk = energy if chunk_energy is None else chunk_energy.as_plain(queries, keys[1])
        if energy is None or chunk is None:
            return None
        source = memory.values.contiguous(), memory.mask.contiguous(), memory.complete, memory.first
        return (energy, chunk), source, (self.lookback, self.since_last_stop, self.mass_preservation)


def _one_hot(positions: Int[Tensor, " B"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S"]:
    """Returns 1 at the position of each row, and 0 elsewhere."""
    return (torch.arange(mask.shape[1], device=mask.device) == positions[:, None]).float()
