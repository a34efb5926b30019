"""Hard monotonic attention, trained in expectation (Raffel et al. 2017).

The process: from the position where it last stopped, a pointer moves right and stops at each position with probability
p_choose. Soft mode computes the expectation over all its paths; hard mode follows the one path of decisions
energy >= 0, which is p_choose >= 0.5. Both are the same recurrence, the second with p_choose rounded to 0 and 1, so
that training and decoding cannot drift apart.

Subclasses define what is attended to at a stop: here, the position itself.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from pydantic import BaseModel, Field
from torch import Tensor
from torch.nn.functional import pad

from mt.models.attention.base import (
    NOT_YET,
    NOWHERE,
    Attention,
    AttentionOutput,
    AttentionStep,
    Memory,
    State,
    single_step,
    weighted_sum,
    without_first,
)
from mt.models.attention.energy import EnergyConfig, GeneralConfig, Scaled, build_energy
from mt.models.attention.masks import first, last
from mt.models.attention.windows import real, window
from mt.models.encoders import Encoded
from mt.ops import differentiable_average_lagging, expected_alignment
from mt.parsing import Options

BLOCK = 16
"""How many positions a hard step computes the energies of at once."""


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
    Config: ClassVar[type[BaseModel]] = MonotonicConfig
    supports_hard = True
    monotonic = True

    def __init__(self, config: MonotonicConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.noise_std = config.noise_std
        self.mass_preservation = config.mass_preservation
        self.latency_weight = config.latency_weight
        energy = build_energy(config.energy, query_size, value_size, normalized=True)
        self.energy = Scaled(energy, config.energy_bias)
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
        """A hard step costs what it moves: no more than BLOCK energies beyond the positions that it passes."""
        if hard:
            return self._hard_step(query, memory, state)
        previous = pad(state[0], (0, memory.mask.shape[1] - state[0].shape[1]))  # of a source that has grown
        output = self._attend(query[:, None], memory, previous, hard)
        assert output.alpha is not None
        return single_step(output, (output.alpha[:, 0],))

    def trim(self, memory: Memory, state: State) -> Memory:
        # A source may end where it is waited for: then the stop is the last position that was looked at.
        return without_first(memory, self._first_attended(state[0], torch.maximum(state[0], state[1] - 1)))

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        return self._attend(queries, memory, self.init_state(memory)[0], hard)

    def auxiliary_loss(
        self,
        output: AttentionOutput,
        losses: Float[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, ""] | None:
        """The expected lagging (Arivazhagan et al. 2019, equations 10 to 14)."""
        if not self.latency_weight:
            return None
        assert output.alpha is not None
        lengths = source_mask.sum(1)
        positions = torch.arange(1, source_mask.shape[1] + 1, device=lengths.device)
        # A pointer that has left the source has read all of it.
        lost = (1 - output.alpha.sum(-1)).clamp(min=0)
        delays = output.alpha @ positions.to(output.alpha.dtype) + lost * lengths[:, None]
        return self.latency_weight * differentiable_average_lagging(delays, lengths, target_mask).sum()

    def _attend(self, queries: Tensor, memory: Memory, previous: Tensor, hard: bool) -> AttentionOutput:
        """previous: [B, S], alpha of the step before the first."""
        p_choose = self._p_choose(queries, memory, hard)
        alpha = expected_alignment(p_choose, previous)
        alignment = MonotonicAlignment(torch.cat((previous[:, None], alpha[:, :-1]), 1), p_choose, alpha, hard)
        weights = self._weights(alignment, queries, memory)
        return AttentionOutput(weighted_sum(weights, memory.values), weights, alpha, None if hard else p_choose)

    def _stopping_energy(self, queries: Tensor, keys: Tensor) -> Tensor:
        """[B, T, S]: the pointer stops where it is not negative."""
        energy = self.energy(queries, keys)
        return energy + self.noise_std * torch.randn_like(energy) if self.training and self.noise_std else energy

    def _p_choose(self, queries: Tensor, memory: Memory, hard: bool) -> Tensor:
        energy = self._stopping_energy(queries, memory.keys[0])
        # Decided on the energy: of one just below 0 the sigmoid in float32 is 0.5.
        p_choose = (energy >= 0).to(energy.dtype) if hard else energy.sigmoid()
        p_choose = p_choose.masked_fill(~memory.mask[:, None], 0.0)
        if not self.mass_preservation:
            return p_choose
        forced = last(memory.mask) if memory.complete is None else last(memory.mask) & memory.complete[:, None]
        return p_choose.masked_fill(forced[:, None], 1.0)

    def _weights(self, alignment: MonotonicAlignment, queries: Tensor, memory: Memory) -> Tensor:
        """The attention weights, [B, T, S]; each row sums to as much as alpha's."""
        return alignment.alpha

    def _hard_step(self, query: Tensor, memory: Memory, state: State) -> AttentionStep:
        last_stop, begin = state
        # Within the step, columns of the memory; in its outcome, positions of the source.
        offset = 0 if memory.first is None else memory.first
        stops, end, energies = self._scan(query, memory, begin - offset)
        complete = torch.ones_like(stops, dtype=torch.bool) if memory.complete is None else memory.complete
        if self.mass_preservation:
            forced = (stops == NOWHERE) & complete
            stops = torch.where(forced, end - 1, stops)
            end = torch.where(forced, stops, end)
        stopped = stops >= 0
        begin = torch.where(stopped, self._first_attended(last_stop - offset, stops), 0)
        widths = torch.where(stopped, stops - begin + 1, 0)
        weights, context = self._window_attention(query, memory, begin, widths)
        # A source that goes on is not used up: the step is to be taken again, from where it has come to.
        stops = torch.where(stopped, stops + offset, torch.where(complete, NOWHERE, NOT_YET))
        state = (torch.where(stopped, stops, last_stop), end + offset)
        return AttentionStep(context, weights, state, stops, first=begin + offset, energies=energies)

    def _scan(self, query: Tensor, memory: Memory, begin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Moves pointers right from the columns `begin`, block by block; a row that has stopped is left alone.

        Returns the columns where they stopped, NOWHERE where not; those to be looked at next; and how many energies
        that took; all [B] int64.
        """
        stops, end, energies = torch.full_like(begin, NOWHERE), begin.clone(), torch.zeros_like(begin)
        rows = torch.arange(len(begin), device=begin.device)
        while len(rows) and memory.mask.shape[1]:
            at = end[rows]
            count = real(memory.mask, at, BLOCK, rows)
            size = int(count.max())
            if size == 0:
                break
            keys = window(memory.keys[0], at, size, rows)
            energy = self._stopping_energy(query[rows, None], keys)[:, 0]
            columns = torch.arange(size, device=rows.device)
            found = (energy >= 0) & (columns < count[:, None])
            passed = torch.where(found, columns, BLOCK).amin(1)
            stopped = passed < BLOCK
            stops[rows] = torch.where(stopped, at + passed, NOWHERE)
            end[rows] = at + torch.where(stopped, passed, count)
            energies[rows] += count
            rows = rows[~stopped & (count == BLOCK)]
        return stops, end, energies

    def _first_attended(self, last_stop: Tensor, stops: Tensor) -> Tensor:
        """The first position that a hard step attends to, given the last stop and this one; all [B]."""
        return stops

    def _window_attention(self, query: Tensor, memory: Memory, begin: Tensor, widths: Tensor) -> tuple[Tensor, Tensor]:
        """The weights [B, W] and the context of a hard step that attends to the columns from `begin` [B] on, `widths`
        [B] of them, or none where it did not stop."""
        size = int(widths.max())
        if size == 0:
            zeros = memory.values.new_zeros(len(begin), memory.values.shape[2])
            return torch.zeros(len(begin), 1, device=begin.device), zeros
        inside = torch.arange(size, device=begin.device) < widths[:, None]
        weights = self._window_weights(query, memory, begin, inside)
        return weights, weighted_sum(weights[:, None], window(memory.values, begin, size))[:, 0]

    def _window_weights(self, query: Tensor, memory: Memory, begin: Tensor, inside: Tensor) -> Tensor:
        """inside: [B, W] bool, the columns that are attended to, of W from `begin` on."""
        return inside.float()
