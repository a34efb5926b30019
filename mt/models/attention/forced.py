"""A step whose attention is forced, as Seq2Seq-Vis lets its users try out (Strobelt et al. 2019): what would the model
write, had it looked there?"""

import torch

from mt.models.attention.base import Attention, AttentionStep, Memory, State
from mt.step import SELECTED_NONE, Attended


def forced_step(attention: Attention, step: AttentionStep, memory: Memory, state: State) -> AttentionStep:
    """Returns a step that attends as `memory.forced` says; a hard one stops at the last position with any weight.

    step: what it would have been. state: before it. Of a memory from which nothing was dropped.
    """
    weights = memory.forced
    if weights is None:
        return step
    context = memory.contexts(weights[:, None])[:, 0]
    stops, first, looked_at = (None if part is None else torch.zeros_like(part) for part in step.attended[1:])
    if stops is not None:
        positions = torch.arange(weights.shape[1], device=weights.device)
        stops = torch.where(weights > 0, positions, SELECTED_NONE).amax(1)
    after = attention.state_after(step.state, state, weights)
    return AttentionStep(context, Attended(weights, stops, first, looked_at), after)
