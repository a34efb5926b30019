"""The four verbs of an attention mechanism, and their law."""

from abc import abstractmethod
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
    """[B, S], float32. They sum to 1, or to less where a monotonic attention may leave the sentence."""
    state: State
    stops: Tensor | None = None
    """[B] int64: where a hard attention stopped, S where it selected nothing; None where it is soft."""


class Attention(nn.Module):
    """An attention mechanism. Law: `forward(queries)[i]` equals the i-th `step` from `start`, for any batch.

    A subclass is constructed as `Class(config, query_size, value_size)` and says what it can do:
    """

    Config: ClassVar[type[BaseModel]]
    """The options, a frozen pydantic class whose `name` is the key in the table."""
    can_be_hard: ClassVar[bool] = False
    """Whether `hard=True` is defined: decoding by decisions in place of expectations."""
    width: int | None = None
    """How many positions, up to where it stopped, a hard attention reads; None where it reads that one alone."""

    @abstractmethod
    def remember(self, values: Tensor, mask: Tensor) -> Memory:
        """Projects the keys, once per source. values: [B, S, V]; mask: [B, S] bool."""

    def start(self, memory: Memory) -> State:
        """The state before the first target step."""
        return ()

    @abstractmethod
    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        """One target step. query: [B, Q]. `hard` is legal where `can_be_hard`, and means deciding by p >= 0.5."""

    def forward(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> tuple[Tensor, Tensor]:
        """All target steps. queries: [B, T, Q]; returns contexts [B, T, V] and weights [B, T, S].

        This default is the law itself. An override is only faster.
        """
        state, reads = self.start(memory), []
        for query in queries.unbind(1):
            reads.append(self.step(query, memory, state, hard=hard))
            state = reads[-1].state
        return torch.stack([read.context for read in reads], 1), torch.stack([read.weights for read in reads], 1)
