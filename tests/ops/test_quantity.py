import pytest
import torch

from mt.ops import quantity_loss


def test_it_is_the_difference_of_what_is_selected_and_what_is_written():
    alpha = torch.tensor(
        [
            [[0.5, 0.5], [0.0, 0.25], [0.0, 0.0]],  # 1.25 of 3
            [[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]],  # 2 of 2, and padding
            [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        ]
    )
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])
    assert quantity_loss(alpha, mask).tolist() == pytest.approx([1.75, 0, 1])
    # More than one position for a token, which no attention of ours selects.
    assert quantity_loss(2 * alpha, mask).tolist() == pytest.approx([0.5, 2, 1])


def test_its_gradient_asks_for_more():
    alpha = torch.full((2, 3, 4), 0.1, requires_grad=True)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    quantity_loss(alpha, mask).sum().backward()
    assert torch.equal(alpha.grad, -mask[..., None].float().expand(2, 3, 4))


def test_long_sums_are_exact():
    """In float32 the sum of so many ones and their loss would be off."""
    alpha = torch.full((1, 3000, 100), 0.01, dtype=torch.float32)
    expected = 3000 * abs(1 - 100 * float(torch.tensor(0.01)))
    assert quantity_loss(alpha, torch.ones(1, 3000, dtype=torch.bool)).item() == pytest.approx(expected, rel=1e-3)
