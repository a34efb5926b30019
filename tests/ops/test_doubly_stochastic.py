"""The doubly stochastic penalty (Xu et al. 2015), against its equation in float64 loops."""

import pytest
import torch

from mt.ops import doubly_stochastic_loss

SOURCE = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]
TARGET = torch.arange(6) < torch.tensor([3, 6, 1])[:, None]


def weights() -> torch.Tensor:
    energies = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(0))
    return energies.masked_fill(~SOURCE[:, None], -torch.inf).softmax(-1)


def test_it_is_the_equation():
    actual = doubly_stochastic_loss(weights(), SOURCE, TARGET)
    for loss, alpha, length, steps in zip(actual.tolist(), weights().tolist(), (5, 2, 4), (3, 6, 1), strict=True):
        expected = sum((1 - sum(alpha[t][i] for t in range(steps))) ** 2 for i in range(length))
        assert loss == pytest.approx(expected, rel=1e-6)


def test_padding_has_no_part_in_it():
    garbage = weights().masked_fill(~TARGET[..., None], 7.0).masked_fill(~SOURCE[:, None], 7.0)
    assert torch.equal(
        doubly_stochastic_loss(garbage, SOURCE, TARGET), doubly_stochastic_loss(weights(), SOURCE, TARGET)
    )


def test_attention_that_is_one_in_all_everywhere_costs_nothing():
    assert doubly_stochastic_loss(torch.eye(4)[None], *(torch.ones(1, 4, dtype=torch.bool),) * 2).item() == 0


def test_its_gradient():
    source = SOURCE[:1]
    target = TARGET[:1]
    given = weights()[:1].double().requires_grad_()
    assert torch.autograd.gradcheck(lambda alpha: doubly_stochastic_loss(alpha, source, target), (given,))
