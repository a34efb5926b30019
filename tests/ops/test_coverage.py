"""The coverage loss (See et al. 2017), against its equations in float64 loops."""

import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mt.ops import coverage_loss

SOURCE = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]
TARGET = torch.arange(6) < torch.tensor([3, 6, 1])[:, None]


def weights() -> torch.Tensor:
    energies = 3 * torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(0))
    return energies.masked_fill(~SOURCE[:, None], -torch.inf).softmax(-1)


def equations(
    weights: Float[Tensor, "B T S"], source_mask: Bool[Tensor, "B S"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """See et al. 2017, equations 10 and 12, one cell at a time."""
    rows = []
    for row, alpha in enumerate(weights.double()):
        total = alpha.new_zeros(())
        for s in range(int(source_mask[row].sum())):
            coverage = alpha.new_zeros(())
            for t in range(int(target_mask[row].sum())):
                total = total + torch.minimum(alpha[t, s], coverage)
                coverage = coverage + alpha[t, s]
        rows.append(total)
    return torch.stack(rows)


def test_it_is_the_equation(assert_agree):
    assert_agree(
        lambda given: coverage_loss(given, SOURCE, TARGET),
        lambda given: equations(given, SOURCE, TARGET),
        [weights()],
    )


def test_padding_has_no_part_in_it():
    garbage = weights().masked_fill(~TARGET[..., None], 7.0).masked_fill(~SOURCE[:, None], 7.0)
    assert torch.equal(coverage_loss(garbage, SOURCE, TARGET), coverage_loss(weights(), SOURCE, TARGET))
    for row in range(3):
        alone = weights()[row : row + 1, : TARGET[row].sum(), : SOURCE[row].sum()]
        everything = torch.ones(alone.shape[:2], dtype=torch.bool), torch.ones(alone.shape[::2], dtype=torch.bool)
        expected = coverage_loss(weights(), SOURCE, TARGET)[row]
        torch.testing.assert_close(coverage_loss(alone, everything[1], everything[0])[0], expected)


def test_what_is_attended_to_once_costs_nothing_and_a_return_its_weight():
    everything = (torch.ones(1, 4, dtype=torch.bool),) * 2
    assert coverage_loss(torch.eye(4)[None], *everything).item() == 0
    assert coverage_loss(torch.eye(4)[None, [0, 1, 1, 0]], *everything).item() == 2
    assert coverage_loss(torch.full((1, 4, 4), 0.25), *everything).item() == 3


def test_its_gradient():
    source = SOURCE[:1]
    target = TARGET[:1]
    given = weights()[:1].double().requires_grad_()
    # No weight equals the sum of those before it, but the zero before the first step, to which nothing is compared.
    assert torch.autograd.gradcheck(lambda alpha: coverage_loss(alpha, source, target), (given,))


def test_long_sums_are_exact():
    """In float32 the sums of so many small weights would be off."""
    given = torch.full((1, 3000, 100), 0.01, dtype=torch.float32)
    mask = torch.ones(1, 3000, dtype=torch.bool)
    expected = 2999 * 100 * float(torch.tensor(0.01))
    assert coverage_loss(given, mask[:, :100], mask).item() == pytest.approx(expected, rel=1e-6)
