"""The four verbs of an attention mechanism, and their law."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention.memory import Memory, joined, with_a_column
from mt.models.attention.windows import scattered
from mt.models.encoders import Encoded
from mt.models.shortcuts import OwnShortcuts
from mt.ops.input_feeding import DotProductAttention

State = tuple[Tensor, ...]
"""What the next step needs to know of the steps before: batch-first tensors, so that a search can reorder them."""

SELECTED_NONE = -1
"""A stop of a hard attention that selected no position of a complete source."""
NEEDS_MORE_SOURCE = -2
"""A stop of a hard attention that selected no position of the source so far, which goes on."""


class AttentionStep(NamedTuple):
    """The attention of one target step."""

    context: Tensor
    """[B, V]: the weighted sum of the values."""
    weights: Tensor
    """[B, W], float32: of W positions from `first` on, outside of which they are 0; those beyond a source's end are 0,
    too. They sum to 1, or to less where the mechanism may select nothing."""
    state: State
    stops: Tensor | None = None
    """[B] int64: the position that a hard attention selected, SELECTED_NONE or NEEDS_MORE_SOURCE; None where it is
    soft."""
    alpha: Tensor | None = None
    """[B, S]: see `AttentionOutput`."""
    p_choose: Tensor | None = None
    """[B, S]: see `AttentionOutput`."""
    first: Tensor | None = None
    """[B] int64: the source position of column 0 of the weights; None: 0, and W = S."""
    energies: Tensor | None = None
    """[B] int64: how many positions a hard monotonic attention computed an energy for, to find where it stops."""


class AttentionOutput(NamedTuple):
    """The attention of all target steps."""

    contexts: Tensor
    """[B, T, V]"""
    weights: Tensor
    """[B, T, S], float32."""
    alpha: Tensor | None = None
    """[B, T, S]: of a mechanism that selects one position, the probability of selecting each. None for other ones."""
    p_choose: Tensor | None = None
    """[B, T, S]: of a monotonic mechanism in soft mode, the probability of stopping at a position, given that it is
    reached."""


class Attention(OwnShortcuts, nn.Module):
    """An attention mechanism. Law: `forward(queries)[i]` equals the i-th `step` from `init_state`, for any batch.

    A subclass is constructed as `Class(config, query_size, value_size)` and declares its abilities. It inherits neither
    `forward`, `as_dot_product`, `monotonic` nor `supports_wait_k` from a parent: where these hold for it, too, it names
    them (see `OwnShortcuts`).
    """

    not_inherited = ("forward", "as_dot_product", "monotonic", "supports_wait_k")
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
    supports_wait_k: ClassVar[bool] = False
    """Whether it heeds `Memory.visible_from`, and depends on nothing of the source that is not visible."""
    uses_source: bool = True
    """Whether contexts depend on the source at all."""
    data_dependent_loop: ClassVar[bool] = False
    """Whether a step goes over positions one after another, so that no fixed graph is the step."""
    learns_weights: ClassVar[bool] = True
    """Whether its weights can be trained."""

    @abstractmethod
    def init_memory(self, encoded: Encoded) -> Memory:
        """Projects the keys, once per source."""

    def extend(self, memory: Memory | None, encoded: Encoded, complete: Bool[Tensor, " B"]) -> Memory:
        """The memory of sources that have grown by the newly encoded positions.

        memory: of the positions before, None where there are none; complete: which sources end with these.
        For monotonic mechanisms, whose steps then say NEEDS_MORE_SOURCE where they need more of a source.
        """
        if memory is None:
            return with_a_column(self.init_memory(encoded))._replace(complete=complete)
        lengths = memory.mask.sum(1)
        before = lengths if memory.first is None else lengths + memory.first
        added = self.init_memory(encoded._replace(first_position=before))
        return joined(memory, added)._replace(complete=complete, first=memory.first)

    def trim(self, memory: Memory, state: State) -> Memory:
        """The memory without the positions that no later hard step can use. state: that of the next step.

        Whatever a step says of positions counts from the beginning of the source, before and after.
        """
        return memory

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """The state before the first target step. hard: whether the steps are."""
        return ()

    @abstractmethod
    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        """One target step. `hard` is legal where `supports_hard`."""

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        """All target steps. This default is the law itself; an override is only faster."""
        state, steps = self.init_state(memory, hard=hard), []
        for query in queries.unbind(1):
            steps.append(self.step(query, memory, state, hard=hard))
            state = steps[-1].state
        return stacked(steps, memory.mask.shape[1])

    def as_dot_product(self, memory: Memory, steps: int) -> DotProductAttention | None:
        """Of soft steps that are a softmax over products of a query with keys, so that a decoder can compute the
        gradient of a loop of steps itself (`mt.ops.input_feeding`); None where they are anything else."""
        return None

    def weights_for_loss(self, output: AttentionOutput) -> Float[Tensor, "B T S"]:
        """The weights that a loss on them trains: those of the contexts, but for a mechanism that samples."""
        return output.weights

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

    def after_update(self, loss: float) -> None:
        """Called in training after each update. loss: mean cross entropy of all its tokens, without smoothing."""


def stacked(steps: Sequence[AttentionStep], width: int) -> AttentionOutput:
    """Single steps as the output for all of them. width: S."""
    weights = [step.weights if step.first is None else scattered(step.weights, step.first, width) for step in steps]
    alpha = [alpha for step in steps if (alpha := _alpha(step, width)) is not None]
    p_choose = [step.p_choose for step in steps if step.p_choose is not None]
    return AttentionOutput(
        torch.stack([step.context for step in steps], 1),
        torch.stack(weights, 1),
        torch.stack(alpha, 1) if alpha else None,
        torch.stack(p_choose, 1) if p_choose else None,
    )


def _alpha(step: AttentionStep, width: int) -> Tensor | None:
    """[B, S]; where a step gives its stop alone, one-hot, or all zeros for none."""
    if step.alpha is not None or step.stops is None:
        return step.alpha
    return (torch.arange(width, device=step.stops.device) == step.stops[:, None]).to(step.weights.dtype)


def step_from_output(output: AttentionOutput, state: State, stops: Tensor | None = None) -> AttentionStep:
    """The only step of an output with T = 1."""
    alpha, p_choose = (None if part is None else part[:, 0] for part in (output.alpha, output.p_choose))
    return AttentionStep(output.contexts[:, 0], output.weights[:, 0], state, stops, alpha, p_choose)


def weighted_sum(weights: Float[Tensor, "B T S"], values: Float[Tensor, "B S V"]) -> Float[Tensor, "B T V"]:
    """The contexts, in the type of the values."""
    return weights.to(values.dtype) @ values
