"""The four verbs of an attention mechanism, and their law.

`Memory` is the source of an attention. `AttentionStep` and `AttentionOutput` are the attention of one target step and
of all. `Attention` has the verbs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.encoders.base import Encoded
from mt.step import Attended

State = tuple[Tensor, ...]
"""The state between two steps: batch-first tensors, so that a search can reorder them."""


class Memory(NamedTuple):
    """An encoded source with its projected keys, made once and used by all target steps. It is passed from call to
    call, and never stored on a module."""

    keys: tuple[Tensor, ...]
    """Each [B, S, ...]: compared with queries by energies. Where the decoder copies, the last one is [B, S] int64, the
    tokens of the source."""
    values: Tensor
    """[B, S, V]: summed to contexts."""
    mask: Tensor
    """[B, S] bool, S at least 1: true on real positions, EOS included; padding on the right. A source that is still
    arriving may have no real position yet."""
    complete: Tensor | None = None
    """[B] bool: false where the source goes on (see `mt.models.attention.arriving`); None: all sources are complete."""
    first: Tensor | None = None
    """[B] int64: the source position of column 0, where earlier ones were dropped; None: 0."""
    visible_from: Tensor | None = None
    """[B, S] int64: the first target step, counted from 0, that may attend to each position, for the attentions that
    support wait-k; None: every step may attend to all of them."""
    final_state: Tensor | None = None
    """[B, U]: the encoder's final state, of which the decoder makes its first one; None where there is no decoder."""

    def visible(self, steps: Int[Tensor, "B T"]) -> Bool[Tensor, "B _ S"]:
        """Returns the real positions that each of these target steps, counted from 0, may attend to."""
        if self.visible_from is None:
            return self.mask[:, None]
        return self.mask[:, None] & (self.visible_from[:, None] <= steps[..., None])

    def contexts(self, weights: Float[Tensor, "B T S"]) -> Float[Tensor, "B T V"]:
        """Returns the sum of the values, each times its weight, in the type of the values."""
        return weights.to(self.values.dtype) @ self.values

    def is_last(self) -> Bool[Tensor, "B S"]:
        """Returns a mask that is true on the last real position of each source."""
        # The last real position is the one before padding, or before the end.
        return self.mask & ~torch.nn.functional.pad(self.mask, (0, 1))[:, 1:]


class AttentionStep(NamedTuple):
    """The attention of one target step."""

    context: Tensor
    """[B, V]: the weighted sum of the values."""
    attended: Attended
    """The attended positions and their weights."""
    state: State
    alpha: Tensor | None = None
    """[B, S], as in `AttentionOutput`; None, too, where a hard step returns its stop only."""
    p_choose: Tensor | None = None
    """[B, S], as in `AttentionOutput`."""
    log_weights: Tensor | None = None
    """[B, S], as in `AttentionOutput`."""


class AttentionOutput(NamedTuple):
    """The attention of all target steps."""

    contexts: Tensor  # [B, T, V]
    weights: Tensor
    """[B, T, S] float32."""
    alpha: Tensor | None = None
    """[B, T, S]: the probability that a mechanism of one position selects each; None of other mechanisms."""
    p_choose: Tensor | None = None
    """[B, T, S]: the probability that a soft monotonic mechanism stops at a position, given that it reaches it."""
    log_weights: Tensor | None = None
    """[B, T, S]: the logarithms of the weights, of a mechanism that mixes predictions; None of others."""
    posterior: Tensor | None = None
    """[B, T, S]: the probability of each position given all target tokens, of a mechanism that mixes predictions and
    knows these, in evaluation; no gradient."""
    log_likelihoods: Tensor | None = None
    """[B, T, S]: where predictions are mixed, the log-probability of the target token at each position."""
    mean_log_probs: Tensor | None = None
    """[B, T, S]: where predictions are mixed, the mean log-probability of all tokens at each position."""

    @property
    def links(self) -> Tensor:
        """Returns the weights that links are made of, [B, T, S]."""
        return self.weights if self.posterior is None else self.posterior

    @classmethod
    def stack(cls, steps: Sequence[AttentionStep], width: int) -> "AttentionOutput":
        """Stacks single steps over sources of `width` positions."""
        # For each field a tuple of [B, ...] over the steps, which becomes [B, T, ...].
        fields = zip(*(_over_source(step, width) for step in steps), strict=True)
        stacked: Any = (None if of_steps[0] is None else torch.stack(of_steps, 1) for of_steps in fields)
        return cls(*stacked)

    def only_step(self, state: State) -> AttentionStep:
        """Returns the only step where T = 1. state: the state after it."""
        # A single step has only the first five fields.
        fields = (None if tensor is None else tensor[:, 0] for tensor in self[:5])
        context, weights, alpha, p_choose, log_weights = fields
        assert context is not None
        return AttentionStep(context, Attended(weights), state, alpha, p_choose, log_weights)


def _over_source(step: AttentionStep, width: int) -> tuple[Tensor | None, ...]:
    """Returns the fields of an `AttentionOutput` for one step, over whole sources of `width` positions."""
    weights, stops, first, _ = step.attended
    weights = weights if first is None else scattered(weights, first, width)
    alpha = step.alpha
    if alpha is None and stops is not None:  # of the stop only: one-hot, or all zeros where nothing was selected
        alpha = (torch.arange(width, device=weights.device) == stops[:, None]).to(weights.dtype)  # [B, S]
    return step.context, weights, alpha, step.p_choose, step.log_weights


def scattered(weights: Float[Tensor, "B W"], first: Int[Tensor, " B"], width: int) -> Float[Tensor, "B S"]:
    """Returns weights [B, S] over whole sources of `width` positions, from weights of windows that begin at `first`."""
    columns = first[:, None] + torch.arange(weights.shape[1], device=first.device)  # [B, W]
    # Room for a window that extends beyond the end, where its weights are 0.
    whole = weights.new_zeros(len(weights), width + weights.shape[1])
    return whole.scatter(1, columns, weights)[:, :width]


class Attention(nn.Module, ABC):
    """Law: `forward(queries)[i]` equals the i-th `step` from `init_state`, for any batch.
    Built as `Class(config, query_size, value_size)`."""

    Config: ClassVar[type[BaseModel]]
    """The options, a frozen pydantic class whose `name` is the key in the table."""
    supports_hard: ClassVar[bool] = False
    """Whether `hard=True` is defined: decoding by decisions in place of expectations."""
    monotonic: ClassVar[bool] = False
    """Whether a hard step attends to nothing after the position where it stops, nor stops before the last stop. It
    looks at as many positions as the source demands, so that no fixed graph computes it."""
    needs_order: ClassVar[bool] = False
    """Whether it needs an order of positions, which a picture has not."""
    chunk_size: int | None = None
    """The number of positions up to its stop that a hard step attends to; None: one, or no fixed number."""
    max_source_length: int | None = None
    """The most source positions, EOS included, that it is defined for; None: any number."""
    supports_wait_k: ClassVar[bool] = False
    """Whether it respects `Memory.visible_from`, and depends on visible positions alone."""
    uses_source: bool = True
    """Whether contexts depend on the source at all."""
    mixes_predictions: ClassVar[bool] = False
    """Whether a prediction is the sum of the predictions that each value would give as context, times its weight.
    Then `observe` tells it of each step how likely the token was at each position, and `forward` of all steps by the
    argument `log_likelihoods`, [B, T, S]."""
    learns_weights: ClassVar[bool] = True
    """Whether its weights can be trained."""
    mass_preservation: bool = True
    """Whether the weights of each step sum to 1, up to rounding. Where they sum to less, copying gives the rest to the
    generator."""
    after_update: Callable[[float], None] | None = None
    """A method that runs after each update in training, with the mean cross entropy of all its tokens without
    smoothing."""

    @abstractmethod
    def init_memory(self, encoded: Encoded) -> Memory:
        """Projects the keys, once per source."""

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns the state before the first target step. hard: whether the steps will be hard."""
        return ()

    @abstractmethod
    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        """Takes one target step. `hard` is legal where `supports_hard`."""

    def observe(self, state: State, log_likelihoods: Float[Tensor, "B S"]) -> State:
        """Returns the state after a step once its token is known. log_likelihoods: of the token at each position."""
        return state

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        """Takes all target steps. This default is the law itself; an override is only faster."""
        # One step after another, each from the state that the step before left.
        state = self.init_state(memory, hard=hard)
        steps = []
        for query in queries.unbind(1):
            steps.append(self.step(query, memory, state, hard=hard))
            state = steps[-1].state
        return AttentionOutput.stack(steps, memory.mask.shape[1])

    def first_needed(self, state: State) -> Sequence[int] | None:
        """Returns the first position of each source that hard steps from `state` on can use; None: any."""
        return None
