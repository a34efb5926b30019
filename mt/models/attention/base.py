"""The four verbs of an attention mechanism, and their law."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.encoders import Encoded

State = tuple[Tensor, ...]
"""What the next step needs to know of the steps before: batch-first tensors, so that a search can reorder them."""

NOWHERE = -1
"""A stop of a hard attention that selected no position of a complete source."""
NOT_YET = -2
"""A stop of a hard attention that selected no position of the source so far, which goes on."""


class Memory(NamedTuple):
    """A source as attention sees it."""

    keys: tuple[Tensor, ...]
    """What energies compare queries with, projected once per source; each [B, S, ...]."""
    values: Tensor
    """[B, S, V]: what contexts are made of."""
    mask: Tensor
    """[B, S] bool: true on real positions, the EOS included; padding is on the right."""
    complete: Tensor | None = None
    """[B] bool: false where the source goes on (see `Attention.extend`); None: all sources are complete."""


class AttentionStep(NamedTuple):
    """The attention of one target step."""

    context: Tensor
    """[B, V]: the weighted sum of the values."""
    weights: Tensor
    """[B, S], float32. They sum to 1, or to less where the mechanism may select nothing."""
    state: State
    stops: Tensor | None = None
    """[B] int64: the position that a hard attention selected, NOWHERE or NOT_YET; None where it is soft."""
    alpha: Tensor | None = None
    """[B, S]: see `AttentionOutput`."""
    p_choose: Tensor | None = None
    """[B, S]: see `AttentionOutput`."""


class AttentionOutput(NamedTuple):
    """The attention of all target steps."""

    contexts: Tensor
    """[B, T, V]"""
    weights: Tensor
    """[B, T, S], float32."""
    alpha: Tensor | None = None
    """[B, T, S]: of a mechanism that selects one position, the probability of selecting each. None for other ones."""
    p_choose: Tensor | None = None
    """[B, T, S]: of a monotonic mechanism, the probability of stopping at a position, given that it is reached."""


class Attention(nn.Module):
    """An attention mechanism. Law: `forward(queries)[i]` equals the i-th `step` from `init_state`, for any batch.

    A subclass is constructed as `Class(config, query_size, value_size)` and declares its abilities:
    """

    Config: ClassVar[type[BaseModel]]
    """The options, a frozen pydantic class whose `name` is the key in the table."""
    supports_hard: ClassVar[bool] = False
    """Whether `hard=True` is defined: decoding by decisions in place of expectations."""
    monotonic: ClassVar[bool] = False
    """Whether, in hard mode, it attends to nothing after the position where it stops, nor stops before the last one."""
    needs_order: ClassVar[bool] = False
    """Whether it takes positions one after another, as those of a picture do not come."""
    chunk_size: int | None = None
    """How many positions, up to where it stopped, a hard attention attends to; None where it is one, or no fixed
    number."""
    max_source_length: int | None = None
    """Most source positions, EOS included, that it is defined for; None for any number."""
    uses_source: bool = True
    """Whether contexts depend on the source at all."""

    @abstractmethod
    def init_memory(self, encoded: Encoded) -> Memory:
        """Projects the keys, once per source."""

    def extend(self, memory: Memory | None, encoded: Encoded, complete: Bool[Tensor, " B"]) -> Memory:
        """The memory of sources that have grown by the newly encoded positions.

        memory: of the positions before, None where there are none; complete: which sources end with these.
        For monotonic mechanisms, whose steps then say NOT_YET where they need more of a source.
        """
        if memory is None:
            return self.init_memory(encoded)._replace(complete=complete)
        added = self.init_memory(encoded._replace(first_position=memory.mask.sum(1)))
        mask = torch.cat((memory.mask, added.mask), 1)
        # Padding goes to the right: a row with fewer old positions than others has a gap before its new ones.
        order = (~mask).to(torch.uint8).argsort(stable=True, dim=1)[:, : int(mask.sum(1).max())]

        def joined(old: Tensor, new: Tensor) -> Tensor:
            both = torch.cat((old, new), 1)
            index = order.view(*order.shape, *(1 for _ in both.shape[2:]))
            return both.gather(1, index.expand(-1, -1, *both.shape[2:]))

        keys = tuple(joined(old, new) for old, new in zip(memory.keys, added.keys, strict=True))
        return Memory(keys, joined(memory.values, added.values), mask.gather(1, order), complete)

    def init_state(self, memory: Memory) -> State:
        """The state before the first target step."""
        return ()

    @abstractmethod
    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        """One target step. `hard` is legal where `supports_hard`."""

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        """All target steps. This default is the law itself; an override is only faster."""
        state, steps = self.init_state(memory), []
        for query in queries.unbind(1):
            steps.append(self.step(query, memory, state, hard=hard))
            state = steps[-1].state
        return stacked(steps)

    def auxiliary_loss(
        self,
        output: AttentionOutput,
        losses: Float[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, ""] | None:
        """What training minimises besides the cross entropy, in nats summed over the batch; None for nothing.

        losses: the cross entropy of each target token, 0 on padding, without a gradient.
        """
        return None


def stacked(steps: Sequence[AttentionStep]) -> AttentionOutput:
    """Single steps as the output for all of them."""
    alpha = [step.alpha for step in steps if step.alpha is not None]
    p_choose = [step.p_choose for step in steps if step.p_choose is not None]
    return AttentionOutput(
        torch.stack([step.context for step in steps], 1),
        torch.stack([step.weights for step in steps], 1),
        torch.stack(alpha, 1) if alpha else None,
        torch.stack(p_choose, 1) if p_choose else None,
    )


def single_step(output: AttentionOutput, state: State, stops: Tensor | None = None) -> AttentionStep:
    """The only step of an output with T = 1."""
    alpha, p_choose = (None if part is None else part[:, 0] for part in (output.alpha, output.p_choose))
    return AttentionStep(output.contexts[:, 0], output.weights[:, 0], state, stops, alpha, p_choose)


def weighted_sum(weights: Float[Tensor, "B T S"], values: Float[Tensor, "B S V"]) -> Float[Tensor, "B T V"]:
    """The contexts, in the type of the values."""
    return weights.to(values.dtype) @ values
