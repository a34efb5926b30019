"""Hard steps of monotonic attentions: what a decoder does that decides in place of taking expectations.

A step looks right from the last stop, inclusive, and stops at the first position whose energy is not negative. Where
the positions so far have none, it needs more of the source; where the source is complete, it stops at the last position
(mass preservation) or selects none. Then it attends to a window that ends at the stop.

On a CPU, in float32 and without a gradient, a step is one compiled loop (`mt.kernels.hard_step`), and so are all steps
where their queries are known. Elsewhere a step is what follows here: it computes no more than BLOCK energies beyond the
positions that it passes, and makes nothing as long as the source. Its few numbers are Python's, one record for each
row, since a tensor costs more to make than to compute with.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mt.kernels import hard_step as kernel
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, State
from mt.models.attention.energy import Energy
from mt.models.attention.memory import Memory
from mt.models.attention.steps import step_from_output
from mt.models.attention.windows import real, window
from mt.ops import masked_softmax
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE, Attended

BLOCK = 16
"""How many positions a hard step computes the energies of at once."""


class Mechanism(Attention):
    """An attention that is a monotonic process."""

    energy: Energy
    """The pointer stops where it is not negative; of the first of the memory's keys."""
    chunk_energy: Energy | None
    """Of the softmax over what is attended to, and of the second of the memory's keys; None: the stop alone is."""
    lookback: int | None
    """How many positions before its stop a hard step attends to; None: those from the last stop on."""


def first_attended(lookback: int | None, last_stop: int, stop: int) -> int:
    """Returns the first position that a step attends to, given the last stop and this one."""
    return last_stop if lookback is None else max(0, stop - lookback)


class Pointer(NamedTuple):
    """Where one row of the batch has come to. Positions are columns of the memory, which begins at `offset`."""

    offset: int
    last_stop: int
    position: int
    """What is to be looked at next."""
    complete: bool
    """Whether the source has ended."""
    stop: int = SELECTED_NONE
    first: int = 0
    """The first position that is attended to, where the pointer stops."""
    energies: int = 0
    """How many were needed: those of a block beyond the stop were not."""

    @property
    def width(self) -> int:
        """How many positions are attended to."""
        return self.stop - self.first + 1 if self.stop >= 0 else 0

    def move(self, energies: Sequence[float]) -> "Pointer":
        """Past these energies of the next positions, or to the first of them that is not negative, where it stops."""
        passed = next((column for column, energy in enumerate(energies) if energy >= 0), len(energies))
        position = self.position + passed
        stop = position if passed < len(energies) else SELECTED_NONE
        # Each field by its place, which takes a third of the time of `_replace`.
        looked_at = passed + (stop >= 0)
        return Pointer(self.offset, self.last_stop, position, self.complete, stop, 0, self.energies + looked_at)

    def settle(self, mechanism: Mechanism) -> "Pointer":
        """Returns what becomes of the step after the last energy: it stops, needs more of the source, or selects
        none."""
        stop = self.stop
        if stop < 0 and not self.complete:
            return self._replace(stop=NEEDS_MORE_SOURCE)
        if stop < 0 and mechanism.mass_preservation:
            stop = self.position - 1
        if stop < 0:
            return self
        first = first_attended(mechanism.lookback, self.last_stop, stop)
        return Pointer(self.offset, stop, stop, self.complete, stop, first, self.energies)

    def outcome(self) -> tuple[int, int, int, int, int]:
        """Returns the stop, the state after the step (two positions), and the first position that is attended to, all
        counted from the beginning of the source; and the number of energies."""
        offset = self.offset
        stop = self.stop + offset if self.stop >= 0 else self.stop
        return stop, self.last_stop + offset, self.position + offset, self.first + offset, self.energies


def hard_step(mechanism: Mechanism, query: Tensor, memory: Memory, state: State) -> AttentionStep:
    """Takes one step of queries [B, Q]. state: the last stop and the next position to be looked at, both [B]
    int64."""
    if kernel.is_compiled(query, memory.values) and (energies := _plain_energies(mechanism, query, memory)):
        source = _source(memory)
        return AttentionStep(*kernel.hard_step(energies, source, state, _rule(mechanism)))
    pointers = _look_right(mechanism, query, memory, _pointers(memory, state))
    pointers = [pointer.settle(mechanism) for pointer in pointers]
    weights, context = _attend(mechanism, query, memory, pointers)
    outcomes = zip(*(pointer.outcome() for pointer in pointers), strict=True)
    stops, last_stops, positions, first, looked_at = torch.tensor([*outcomes], device=query.device)
    return AttentionStep(context, Attended(weights, stops, first, looked_at), (last_stops, positions))


def all_hard_steps(mechanism: Mechanism, queries: Tensor, memory: Memory) -> AttentionOutput | None:
    """Takes the steps of all queries [B, T, Q] by one loop; None where that is not compiled."""
    if not kernel.is_compiled(queries, memory.values):
        return None
    energies = _plain_energies(mechanism, queries, memory)
    if energies is None:
        return None
    source = _source(memory)
    return AttentionOutput(*kernel.hard_steps(energies, source, _rule(mechanism)))


def _rule(mechanism: Mechanism) -> kernel.Rule:
    lookback = mechanism.lookback
    return kernel.Rule(sys.maxsize if lookback is None else lookback, lookback is None, mechanism.mass_preservation)


def _source(memory: Memory) -> kernel.Source:
    return kernel.Source(memory.values, memory.mask, memory.complete, memory.first)


def _plain_energies(
    mechanism: Mechanism, query: Tensor, memory: Memory
) -> tuple[kernel.PlainEnergy, kernel.PlainEnergy] | None:
    """Returns both energies of queries [B, ..., Q] in the form that a loop takes; None where one has no such form."""
    assert isinstance(mechanism, nn.Module)
    parts: Any = mechanism._modules  # as attributes they take longer than a step computes
    keys = memory.keys
    energy = parts["energy"].as_plain(query, keys[0])
    chunk_energy = parts.get("chunk_energy")
    # Where the stop alone is attended to, its weight is 1 whatever its energy.
    chunk = energy if chunk_energy is None else chunk_energy.as_plain(query, keys[1])
    return None if energy is None or chunk is None else (energy, chunk)


def _pointers(memory: Memory, state: State) -> list[Pointer]:
    """Returns the pointers before the step."""
    rows = memory.mask.shape[0]
    offsets = [0] * rows if memory.first is None else memory.first.tolist()
    complete = [True] * rows if memory.complete is None else memory.complete.tolist()
    last_stops, positions = (part.tolist() for part in state)
    return [
        Pointer(offset, last_stop - offset, position - offset, ended)
        for offset, last_stop, position, ended in zip(offsets, last_stops, positions, complete, strict=True)
    ]


def _look_right(mechanism: Mechanism, query: Tensor, memory: Memory, pointers: list[Pointer]) -> list[Pointer]:
    """Each pointer where it stops, or where there is nothing more to look at. Energies are computed by blocks."""
    moving = list(range(len(pointers)))
    while moving:
        counts = real(memory.mask, [pointers[row].position for row in moving], BLOCK, moving)
        if not all(counts):
            moving = [row for row, count in zip(moving, counts, strict=True) if count]
            counts = [count for count in counts if count]
        if not moving:
            break
        queries = query if len(moving) == len(pointers) else query[torch.tensor(moving, device=query.device)]
        keys = window(memory.keys[0], [pointers[row].position for row in moving], max(counts), moving)
        energies = mechanism.energy(queries[:, None], keys)[:, 0].tolist()
        for row, count, block in zip(moving, counts, energies, strict=True):
            pointers[row] = pointers[row].move(block[:count])
        moving = [row for row in moving if pointers[row].stop < 0]
    return pointers


def _attend(mechanism: Mechanism, query: Tensor, memory: Memory, pointers: Sequence[Pointer]) -> tuple[Tensor, Tensor]:
    """Returns the weights [B, W] and contexts [B, V]: a softmax over the window of each pointer, zeros where it is
    empty."""
    widths = [pointer.width for pointer in pointers]
    size = max(widths)
    if size == 0:
        values = memory.values
        return torch.zeros(len(widths), 1, device=query.device), values.new_zeros(len(widths), values.shape[2])
    begin = [pointer.first for pointer in pointers]
    # Where the stop alone is attended to, its weight is 1 whatever its energy.
    energy = torch.zeros(len(widths), size, device=query.device)
    if mechanism.chunk_energy is not None:
        energy = mechanism.chunk_energy(query[:, None], window(memory.keys[1], begin, size))[:, 0]
    if min(widths) == size:
        weights = energy.softmax(-1)
    else:
        inside = torch.arange(size, device=query.device) < torch.tensor(widths, device=query.device)[:, None]
        weights = masked_softmax(energy, inside)
    values = window(memory.values, begin, size)
    return weights, (weights[:, None].to(values.dtype) @ values)[:, 0]


def whole_hard_step(attend: Callable[[Tensor], AttentionOutput], memory: Memory, state: State) -> AttentionStep:
    """Returns the hard step of an attention that does not declare `monotonic`: whatever it overrides, the step is what
    `forward` computes over the whole source, which must be complete.

    attend: the hard attention of the step, from the alpha [B, S] of the step before. state: as of `hard_step`.
    """
    last_stops, begin = (part[:, None] for part in state)
    lengths = memory.mask.sum(1)
    positions = torch.arange(memory.mask.shape[1], device=lengths.device)
    output = attend(((positions == last_stops) & (begin < lengths[:, None])).float())
    assert output.alpha is not None
    alpha = output.alpha[:, 0]
    stopped = alpha.any(1)
    stops = alpha.argmax(1)
    after = torch.where(stopped, stops, state[0]), torch.where(stopped, stops, lengths)
    return step_from_output(output, after, stops.masked_fill(~stopped, SELECTED_NONE))
