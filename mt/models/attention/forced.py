"""Forced attention: a step with given weights shows what a model would predict, had it attended there (Seq2Seq-Vis,
Strobelt et al. 2019)."""

import torch
from jaxtyping import Float
from torch import Tensor

from mt.models.attention.base import Attention, AttentionStep, Memory, State
from mt.models.attention.coverage import Coverage
from mt.models.attention.location_aware import LocationAware
from mt.models.attention.marginal import NEVER, Marginal
from mt.models.attention.monotonic import Monotonic
from mt.step import SELECTED_NONE, Attended


def forced_step(
    attention: Attention, step: AttentionStep, memory: Memory, before: State, weights: Float[Tensor, "B S"]
) -> AttentionStep:
    """Returns the step with these weights in place of the computed ones. A hard step stops at the last position that
    has a weight.

    step: the one that the attention takes by itself. memory: none of its positions was dropped. before: the state
    before the step.
    """
    # Stops and windows that agree with the weights, which are over the whole source.
    _, stops, first, looked_at = step.attended
    after = step.state
    if stops is not None:
        positions = torch.arange(weights.shape[1], device=weights.device)
        stops = torch.where(weights > 0, positions, SELECTED_NONE).amax(1)  # [B]
        first = None if first is None else torch.zeros_like(stops)
        # The position was given, not looked for.
        looked_at = None if looked_at is None else torch.zeros_like(stops)
    # The state of a mechanism whose steps depend on the weights of earlier ones.
    if isinstance(attention, Monotonic):
        # Soft, the state is alpha. Hard, it is the last stop and the next position, which are both the stop.
        after = (weights,) if stops is None else tuple(torch.where(stops >= 0, stops, part) for part in after)
    elif isinstance(attention, LocationAware):
        after = (weights,)
    elif isinstance(attention, Coverage):
        after = (before[0] + weights,)
    log_weights = None
    if isinstance(attention, Marginal):
        # Finite also where a weight is 0, since sums and differences of -inf are NaN.
        log_weights = weights.log().clamp(min=NEVER)
        # What the token says about the position is added later, by `observe`.
        after = (log_weights, after[1])
    context = memory.contexts(weights[:, None])[:, 0]
    return AttentionStep(context, Attended(weights, stops, first, looked_at), after, log_weights=log_weights)
