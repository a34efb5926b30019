import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from jaxtyping import Bool, Float
from torch import Tensor

from mt.ops.losses import (
    LEAST_PROBABILITY,
    coverage_loss,
    differentiable_average_lagging,
    doubly_stochastic_loss,
    guided_alignment_loss,
    quantity_loss,
)
from tests.ops import oracle
from tests.ops.arguments import assert_agree

# The coverage loss (See et al. 2017), against its equations in float64 loops.
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


def test_it_is_the_equation():
    assert_agree(
        lambda given: coverage_loss(given, SOURCE, TARGET), lambda given: equations(given, SOURCE, TARGET), [weights()]
    )


def test_long_sums_are_exact():
    """In float32 the sums of so many small weights would be off."""
    given = torch.full((1, 3000, 100), 0.01)
    hundredth = given[0, 0, 0].double()
    mask = torch.ones(1, 3000, dtype=torch.bool)
    assert coverage_loss(given, mask[:, :100], mask).item() == pytest.approx(float(2999 * 100 * hundredth), rel=1e-6)
    assert quantity_loss(given, mask).item() == pytest.approx(float(3000 * (1 - 100 * hundredth).abs()), rel=1e-3)


def test_the_quantity_is_of_what_is_selected_beside_what_is_written():
    def equation(alpha: torch.Tensor) -> torch.Tensor:
        real = zip(alpha, TARGET.sum(1).tolist(), strict=True)
        return torch.stack([(steps - of_row[:steps].sum()).abs() for of_row, steps in real])

    for alpha in (weights() / 2, weights() * 2):  # and more than one position for a token
        assert_agree(lambda alpha: quantity_loss(alpha, TARGET), equation, [alpha])


# Guided alignment (Chen et al. 2016), against its equation in float64 loops.
LINKED = torch.tensor([[[0.5, 0.0, 0.5, 0.0, 0.0], [0.0] * 5, [0.0, 1.0, 0.0, 0.0, 0.0]] + [[0.0] * 5] * 3])


def cross_entropy(given: torch.Tensor, linked: torch.Tensor) -> torch.Tensor:
    rows = []
    for alpha, links in zip(given, linked, strict=True):
        terms = [-a * p.log() for a, p in zip(links.flatten(), alpha.flatten(), strict=True) if a]
        rows.append(torch.stack(terms).sum() if terms else given.new_zeros(()))
    return torch.stack(rows)


def test_it_is_the_cross_entropy_of_links():
    linked = torch.cat((LINKED, torch.zeros_like(LINKED), LINKED.roll(1, 1)))
    assert_agree(
        lambda given: guided_alignment_loss(given, linked), lambda given: cross_entropy(given, linked), [weights()]
    )
    assert guided_alignment_loss(weights(), linked)[1] == 0


def test_a_link_that_cannot_be_attended_to_moves_nothing():
    given = torch.zeros(1, 6, 5, requires_grad=True)
    loss = guided_alignment_loss(given, LINKED)
    loss.sum().backward()
    assert loss.item() == pytest.approx(-2 * math.log(LEAST_PROBABILITY)) and not given.grad.any()


# The doubly stochastic penalty (Xu et al. 2015), against its equation in float64 loops.
def test_each_position_is_attended_to_once_in_all():
    actual = doubly_stochastic_loss(weights(), SOURCE, TARGET)
    for loss, alpha, length, steps in zip(actual.tolist(), weights().tolist(), (5, 2, 4), (3, 6, 1), strict=True):
        expected = sum((1 - sum(alpha[t][i] for t in range(steps))) ** 2 for i in range(length))
        assert loss == pytest.approx(expected, rel=1e-6)


@given(steps=st.integers(1, 12), seed=st.integers(0, 2**31))
@settings(max_examples=80, deadline=None)
def test_equals_the_recurrence(steps: int, seed: int):
    """Of expected delays of three sentences."""
    generator = torch.Generator().manual_seed(seed)
    sources = torch.randint(1, 400, (3,), generator=generator)
    targets = torch.randint(0, steps + 1, (3,), generator=generator)
    targets[0] = steps
    delays = 1 + (sources[:, None] - 1) * torch.rand(3, steps, generator=generator)
    mask = torch.arange(steps) < targets[:, None]
    fast = delays.sort(1).values.requires_grad_()
    slow = delays.double().sort(1).values.requires_grad_()
    lag = differentiable_average_lagging(fast, sources, mask)
    truth = oracle.differentiable_average_lagging(slow, sources, mask)
    assert lag.dtype == torch.float32
    torch.testing.assert_close(lag.double(), truth, atol=1e-6, rtol=1e-6)
    lag.sum().backward()
    truth.sum().backward()
    assert fast.grad is not None and slow.grad is not None
    torch.testing.assert_close(fast.grad.double(), slow.grad, atol=1e-6, rtol=0)
    assert not fast.grad[~mask].any()
