"""The layers of SSRU; the unit's equations are tested with those of its decoder."""

import math

import torch
from torch import Tensor

from mt.models.ssru import BiSSRULayer, FeedForward, Recurrent, SSRULayer

B = 3
T = 7
I = 4  # noqa: E741 - the size of inputs
H = 6


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_the_forget_bias_is_what_gates_start_from() -> None:
    unit = SSRULayer(I, H, forget_bias=2.0)
    _, after = unit(torch.zeros(B, 1, I), torch.ones(B, H))
    torch.testing.assert_close(after, torch.full((B, H), 1 / (1 + math.exp(-2))))


def test_both_directions_have_half_of_the_units_each(shake) -> None:
    unit = shake(BiSSRULayer(I, H, 0.0))
    inputs = drawn(B, T, I)
    mask = torch.ones(B, T, dtype=torch.bool)
    outputs, after = unit(inputs, None, mask)
    right, right_after = unit.right(inputs)
    unit.left.reverse = False
    left, left_after = unit.left(inputs.flip(1))
    torch.testing.assert_close(outputs, torch.cat((right, left.flip(1)), -1), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(after, torch.cat((right_after, left_after), -1), atol=1e-6, rtol=1e-5)


def test_residuals_are_around_what_is_computed_of_the_norm(shake) -> None:
    inputs = drawn(B, T, H)
    layer = shake(Recurrent(SSRULayer(H, H, 0.0), H, 0.5))
    outputs, _ = layer(inputs)
    torch.testing.assert_close(outputs, inputs + layer.recurrence(layer.norm(inputs))[0])
    network = shake(FeedForward(H, 5, 0.5))
    inner = (network.norm(inputs) @ network.enter.weight.T + network.enter.bias).clamp(min=0)
    torch.testing.assert_close(network(inputs), inputs + inner @ network.leave.weight.T + network.leave.bias)
