"""Linear layers by blocks, against float64 products of the same numbers rounded to bfloat16."""

import pytest
import torch
from torch import Tensor, nn

from mt.kernels.linear import ROWS, Linear, _Blocks

ROUNDING = 2**-8
"""Of bfloat16, relative: half a unit of its last of eight bits, once for each product that is a result's part."""


def in_bfloat16(layer: nn.Module, rows: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return layer(rows)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(ROWS,), (ROWS + 1,), (3, 100), (2, 3 * ROWS), (7, 13, 9)])
def test_products_and_gradients(shape: tuple[int, ...], bias: bool):
    torch.manual_seed(len(shape))
    layer, rows = Linear(24, 40, bias=bias), torch.randn(*shape, 24, requires_grad=True)
    grad = torch.randn(*shape, 40).bfloat16()
    found = in_bfloat16(layer, rows)
    assert found.dtype == torch.bfloat16 and found.shape == grad.shape
    leaves = [rows, *layer.parameters()]
    gradients = torch.autograd.grad(found, leaves, grad)

    exact = [leaf.detach().bfloat16().double().requires_grad_() for leaf in leaves]
    wanted = nn.functional.linear(*exact)
    expected = (wanted.detach(), *torch.autograd.grad(wanted, exact, grad.double()))
    for ours, theirs in zip((found, *gradients), expected, strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours.double(), theirs, rtol=ROUNDING, atol=ROUNDING * float(theirs.abs().max()))
    # What is summed over the rows is summed in float32, and not rounded to bfloat16 but for what a block adds.
    assert [gradient.dtype for gradient in gradients] == [torch.float32] * len(leaves)


def test_blocks_are_for_training_in_bfloat16(monkeypatch: pytest.MonkeyPatch):
    taken = list[int]()

    def apply(rows: Tensor, *rest: Tensor) -> Tensor:
        taken.append(len(rows))
        return nn.functional.linear(rows, *rest)

    monkeypatch.setattr(_Blocks, "apply", apply)
    layer, rows = Linear(3, 4), torch.randn(2, ROWS, 3)
    in_bfloat16(layer, rows)
    assert taken == [2 * ROWS]
    layer(rows)
    with torch.no_grad():
        in_bfloat16(layer, rows)
    in_bfloat16(layer, rows[:1, 1:])  # a step of a batch, whose program is met again in the next
    in_bfloat16(layer.double(), rows.double())
    assert taken == [2 * ROWS]


def test_a_layer_is_one_of_torch():
    torch.manual_seed(0)
    layer = Linear(3, 4)
    torch.manual_seed(0)
    other = nn.Linear(3, 4)
    rows = torch.randn(ROWS, 3)
    assert torch.equal(layer(rows), other(rows)) and layer.state_dict().keys() == other.state_dict().keys()
