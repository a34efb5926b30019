"""One step from the attention of all target steps; the other way around is `AttentionOutput.stack`."""

from torch import Tensor

from mt.models.attention.base import AttentionOutput, AttentionStep, State
from mt.step import Attended


def step_from_output(output: AttentionOutput, state: State, stops: Tensor | None = None) -> AttentionStep:
    """Returns the only step of an output with T = 1. state: the state after it."""
    context, weights, alpha, p_choose = (None if part is None else part[:, 0] for part in output)
    assert context is not None and weights is not None
    return AttentionStep(context, Attended(weights, stops), state, alpha, p_choose)
