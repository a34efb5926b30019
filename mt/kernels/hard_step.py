"""A hard step of a monotonic attention on a CPU, in one compiled loop: for each row of a batch its energies from where
it is to where it stops, a softmax over the window that ends there, and the context.

A step of one row looks at a position or two, which takes less time than any call of PyTorch. So the loop is given
addresses, sizes and strides, checks them, and makes everything that a step returns. The same in PyTorch, block by
block, is `mt.models.attention.hard_steps`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.kernels.compiled import Array
from mt.kernels.hard_step_loop import step_loop


class PlainEnergy(NamedTuple):
    """The energies of one query of each row: gain * (query . key) + bias, or, where there is a direction v, gain *
    v . tanh(query + key) + bias."""

    query: Float[Tensor, "B K"]
    direction: Float[Tensor, " K"] | None = None
    normalized: bool = False
    """Whether the direction is divided by its length."""
    gain: Float[Tensor, ""] | None = None
    bias: Float[Tensor, ""] | None = None


@runtime_checkable
class Source(Protocol):
    """What a step looks at and attends to: a memory of an attention."""

    @property
    def keys(self) -> tuple[Tensor, ...]:
        """Each [B, S, K]; those of the first energy come first, those of the other last."""

    @property
    def values(self) -> Tensor:
        """[B, S, V]"""

    @property
    def mask(self) -> Tensor:
        """[B, S] bool: true on real positions; padding is on the right."""

    @property
    def complete(self) -> Tensor | None:
        """[B] bool: false where the source goes on; None: nowhere."""

    @property
    def first(self) -> Tensor | None:
        """[B] int64: the source position of column 0; None: 0."""


class Outcome(NamedTuple):
    """A step of each row. Positions count from the beginning of the source."""

    context: Float[Tensor, "B V"]
    weights: Float[Tensor, "B W"]
    """Of W positions from `first` on: as many as the widest window has, one at least."""
    stops: Int[Tensor, " B"]
    """A position, SELECTED_NONE or NEEDS_MORE_SOURCE."""
    last_stops: Int[Tensor, " B"]
    positions: Int[Tensor, " B"]
    """What the next step looks at first."""
    first: Int[Tensor, " B"]
    energies: Int[Tensor, " B"]
    """How many positions were looked at."""


def is_compiled(query: Tensor, values: Tensor) -> bool:
    """Returns whether `hard_step` is there for these: in float32 on a CPU, without gradient or autocast."""
    return (
        query.is_cpu
        and query.dtype == values.dtype == torch.float32
        and not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
        and step_loop() is not None
    )


def hard_step(
    energies: tuple[PlainEnergy, PlainEnergy],
    source: Source,
    state: tuple[Tensor, ...],
    lookback: int | None,
    mass_preservation: bool,
) -> Outcome:
    """Takes one step of each row, where `is_compiled`.

    energies: those by which a row stops, at the first that is not negative, and those of the softmax. state: the last
    stop, and the position that is looked at first, both [B] int64. lookback: positions before its stop that a row
    attends to; None: those from the last stop on. mass_preservation: whether a row that passes a whole source stops at
    its last position. Raises ValueError where shapes do not fit.
    """
    rule = -1 if lookback is None else lookback, int(mass_preservation)
    keys = source.keys[0], source.keys[-1]
    try:
        context, weights, numbers = _run(energies, keys, source.values, source.mask, source, state, rule)
    except ValueError:
        # The loop wants the numbers of a row side by side.
        beside = [energy._replace(query=energy.query.contiguous()) for energy in energies]
        keys = keys[0].contiguous(), keys[1].contiguous()
        values = source.values.contiguous()
        context, weights, numbers = _run(beside, keys, values, source.mask.contiguous(), source, state, rule)
    return Outcome(torch.from_numpy(context), torch.from_numpy(weights), *torch.from_numpy(numbers).unbind())


def _run(
    energies: Sequence[PlainEnergy],
    keys: Sequence[Tensor],
    values: Tensor,
    mask: Tensor,
    source: Source,
    state: tuple[Tensor, ...],
    rule: tuple[int, int],
) -> Sequence[Array]:
    """Calls the loop, while the tensors stay where they are."""
    loop = step_loop()
    assert loop is not None
    terms = energy_terms(energies[0], keys[0])
    last_stops, positions = state
    complete = source.complete
    first = source.first
    return loop(
        value_terms(values),
        (*mask.shape, *mask.stride(), mask.data_ptr(), 0 if complete is None else complete.data_ptr()),
        (
            *last_stops.shape,
            *last_stops.stride(),
            last_stops.data_ptr(),
            *positions.shape,
            *positions.stride(),
            positions.data_ptr(),
            0 if first is None else first.data_ptr(),
        ),
        rule,
        terms,
        terms if energies[1] is energies[0] else energy_terms(energies[1], keys[1]),
    )


def value_terms(values: Float[Tensor, "B S V"]) -> tuple[int, ...]:
    """Returns what the loop knows of values."""
    return (*values.shape, *values.stride(), values.data_ptr())


def energy_terms(energy: PlainEnergy, keys: Float[Tensor, "B S K"]) -> tuple[int, ...]:
    """Returns what the loop knows of energies."""
    query, direction, normalized, gain, bias = energy
    return (
        *query.shape,
        *query.stride(),
        query.data_ptr(),
        *keys.shape,
        *keys.stride(),
        keys.data_ptr(),
        0 if direction is None else direction.data_ptr(),
        int(normalized),
        0 if gain is None else gain.data_ptr(),
        0 if bias is None else bias.data_ptr(),
    )
