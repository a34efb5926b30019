"""The four verbs of an attention mechanism, and their law."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from pydantic import BaseModel
from torch import Tensor, nn

State = tuple[Tensor, ...]
"""What the next step needs to know of the steps before: batch-first tensors, so that a search can reorder them."""


class Memory(NamedTuple):
    """A source sentence as attention sees it."""

    keys: tuple[Tensor, ...]
    """What energies compare queries with, projected once per source; each [B, S, ...]."""
    values: Tensor
    """[B, S, V]: what contexts are made of."""
    mask: Tensor
    """[B, S] bool: true on real positions, the EOS included; padding is on the right."""


class Read(NamedTuple):
    """One target step's look at the source."""

    context: Tensor
    """[B, V]: the weighted sum of the values."""
    weights: Tensor
    """[B, S], float32. They sum to 1, or to less where the mechanism may read less."""
    state: State
    stops: Tensor | None = None
    """[B] int64: the position that a hard attention decided for, S for none; None where it is soft."""
    alpha: Tensor | None = None
    """[B, S]: see `Reads`."""
    p: Tensor | None = None
    """[B, S]: see `Reads`."""


class Reads(NamedTuple):
    """The looks of all target steps."""

    contexts: Tensor
    """[B, T, V]"""
    weights: Tensor
    """[B, T, S], float32."""
    alpha: Tensor | None = None
    """[B, T, S]: of a mechanism that chooses one position, the probability of choosing each. None for other ones."""
    p: Tensor | None = None
    """[B, T, S]: of a monotonic mechanism, the probability of stopping at a position that is looked at."""


class Attention(nn.Module):
    """An attention mechanism. Law: `forward(queries)[i]` equals the i-th `step` from `start`, for any batch.

    A subclass is constructed as `Class(config, query_size, value_size)` and says what it can do:
    """

    Config: ClassVar[type[BaseModel]]
    """The options, a frozen pydantic class whose `name` is the key in the table."""
    can_be_hard: ClassVar[bool] = False
    """Whether `hard=True` is defined: decoding by decisions in place of expectations."""
    monotonic: ClassVar[bool] = False
    """Whether, read hard, it never looks beyond where it stops, nor stops before where it last stopped."""
    width: int | None = None
    """How many positions, up to where it stopped, a hard attention reads; None where it is no fixed number."""
    longest_source: int | None = None
    """Most source tokens, EOS included, that it can read; None for any number."""
    blind: bool = False
    """Whether it reads nothing at all, ever."""

    @abstractmethod
    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        """Projects the keys, once per source. values: [B, S, V]; mask: [B, S] bool."""

    def start(self, memory: Memory) -> State:
        """The state before the first target step."""
        return ()

    @abstractmethod
    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        """One target step. query: [B, Q]. `hard` is legal where `can_be_hard`."""

    def forward(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> tuple[Tensor, Tensor]:
        """All target steps. queries: [B, T, Q]; returns contexts [B, T, V] and weights [B, T, S]."""
        reads = self.reads(queries, memory, hard=hard)
        return reads.contexts, reads.weights

    def reads(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> Reads:
        """`forward` with all that is known of the looks. This default is the law itself; an override is only faster."""
        state, steps = self.start(memory), []
        for query in queries.unbind(1):
            steps.append(self.step(query, memory, state, hard=hard))
            state = steps[-1].state
        return stacked(steps)

    def extra_loss(self, reads: Reads, losses: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        """What training minimises besides the cross entropy, in nats summed over the batch; None for nothing.

        losses: [B, T] float32, the cross entropy of each target token, 0 on padding, without a gradient;
        source_mask: [B, S] bool; target_mask: [B, T] bool.
        """
        return None


def stacked(steps: Sequence[Read]) -> Reads:
    """Single steps as those of a whole sentence."""
    alpha = [step.alpha for step in steps if step.alpha is not None]
    p = [step.p for step in steps if step.p is not None]
    return Reads(
        torch.stack([step.context for step in steps], 1),
        torch.stack([step.weights for step in steps], 1),
        torch.stack(alpha, 1) if alpha else None,
        torch.stack(p, 1) if p else None,
    )


def read_one(reads: Reads, state: State, stops: Tensor | None = None) -> Read:
    """The only step of `reads`, which has T = 1."""
    alpha, p = (None if part is None else part[:, 0] for part in (reads.alpha, reads.p))
    return Read(reads.contexts[:, 0], reads.weights[:, 0], state, stops, alpha, p)


def weighted(weights: Tensor, values: Tensor) -> Tensor:
    """Contexts [B, T, V] in the type of the values [B, S, V], from weights [B, T, S] in float32."""
    return weights.to(values.dtype) @ values
