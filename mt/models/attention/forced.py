"""A step with forced attention, as Seq2Seq-Vis lets its users try out (Strobelt et al. 2019): the model's prediction,
had it looked there."""

import torch

from mt.models.attention.base import Attention, AttentionStep, Memory, State
from mt.step import SELECTED_NONE, Attended


def forced_step(attention: Attention, step: AttentionStep, memory: Memory, state: State) -> AttentionStep:
    """Returns a step that attends as `memory.forced` says; a hard one stops at the last position with any weight.

    step: with its own attention. state: before it. memory: none of its positions was dropped.
    """
    weights = memory.forced
    if weights is None:
        return step
    context = memory.contexts(weights[:, None])[:, 0]
    _, *of_hard_step = step.attended
    stops, first, looked_at = (None if numbers is None else torch.zeros_like(numbers) for numbers in of_hard_step)
    if stops is not None:
        positions = torch.arange(weights.shape[1], device=weights.device)
        stops = torch.where(weights > 0, positions, SELECTED_NONE).amax(1)
    after = attention.state_after(step.state, state, weights)
    return AttentionStep(context, Attended(weights, stops, first, looked_at), after)
