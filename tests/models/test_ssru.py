"""The layers of SSRU; the unit's equations are tested with those of its decoder."""

import torch
from torch import Tensor

from mt.models.ssru import BiSSRULayer

B = 3
T = 7
I = 4  # noqa: E741 - the size of inputs
H = 6


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


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
