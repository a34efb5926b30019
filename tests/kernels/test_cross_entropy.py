"""Against torch's softmax over the whole of the logits in float64: each term of the loss, in all of its forms."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from mt.kernels import cross_entropy
from mt.kernels.cross_entropy import Mixture, distance, token_losses
from tests.marks import combined

EACH = 1e-6
"""Rounding of the cross entropy of a token in float32: it is a difference of numbers of about 10, whatever its size."""
VOCABULARY = 11


@pytest.fixture(params=["real tokens", "padding, too"], autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real tokens alone, and with all, as on a GPU, which is not asked how many are real."""
    if request.param == "padding, too":
        monkeypatch.setattr(cross_entropy, "selects_tokens", lambda device: False)


class Problem(NamedTuple):
    """Two sequences, or each of them twice, with readouts that differ."""

    readouts: Tensor
    weight: Tensor
    bias: Tensor
    share: Tensor
    other: Tensor
    parts: Tensor
    targets: Tensor
    mask: Tensor
    """Hides about a third."""

    @property
    def leaves(self) -> list[Tensor]:
        return [*self[:6]]


def problem(rows: int, *, twice: bool = False) -> Problem:
    draw = torch.Generator().manual_seed(rows)
    count = 4 if twice else 2
    share = torch.rand(count, rows, generator=draw) * 0.9 + 0.05
    other = (1 - share) * torch.rand(count, rows, generator=draw)
    mask = torch.rand(2, rows, generator=draw) < 0.67
    mask[0, 0] = True
    targets = torch.randint(VOCABULARY, (2, rows), generator=draw)
    return Problem(
        torch.randn(count, rows, 6, generator=draw).requires_grad_(),
        torch.randn(VOCABULARY, 6, generator=draw).requires_grad_(),
        torch.randn(VOCABULARY, generator=draw).requires_grad_(),
        share.requires_grad_(),
        (other * (torch.rand(count, rows, generator=draw) > 0.33)).requires_grad_(),
        torch.rand(count, rows, 3, generator=draw).requires_grad_(),
        targets.repeat(count // 2, 1),
        mask.repeat(count // 2, 1),
    )


def losses(given: Problem, *, mixing: bool = False, **options: Any) -> Any:
    """Calls `token_losses`. mixing: with the problem's mixture."""
    mixture = Mixture(given.share, given.other, given.parts) if mixing else None
    output = given.weight, given.bias
    return token_losses(given.readouts, *output, given.targets, given.mask, mixture=mixture, **options)


def truth(given, leaves, *, mixing=False, smoothing=0.0, r_drop_weight=0.0) -> tuple[Tensor, Tensor]:
    """The loss by its equations, of leaves in float64."""
    readouts, weight, bias, share, other, parts = leaves
    log_probs = linear(readouts, weight, bias).log_softmax(-1)
    wanted = log_probs.gather(2, given.targets[..., None])[..., 0]
    each = -((share * wanted.exp() + other).log() if mixing else wanted)
    smoothed = (1 - smoothing) * each - smoothing * log_probs.mean(-1)
    total = smoothed[given.mask].sum()
    if r_drop_weight:
        half = given.mask.chunk(2)[0]
        for logs in [log_probs + share.log()[..., None], parts.log()] if mixing else [log_probs]:
            p, q = (logs_of_half[half] for logs_of_half in logs.chunk(2))
            total = total + r_drop_weight * ((p.exp() - q.exp()) * (p - q)).sum() / 2
    return total, (each * given.mask).detach()


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "smoothed": {"smoothing": 0.1},
    "a mixture": {"mixing": True},
    "a smoothed mixture": {"mixing": True, "smoothing": 0.9},
    "two passes": {"r_drop_weight": 3.0, "smoothing": 0.1},
    "two passes of a mixture": {"r_drop_weight": 3.0, "smoothing": 0.1, "mixing": True},
}


# A block has 256 tokens on a CPU: less than one, about one, and several.
@combined(rows=[1, 3, 128, 129, 200, 700], case=CASES)
def test_it_is_the_equation_with_its_gradients(rows: int, case: str) -> None:
    options = CASES[case]
    given = problem(rows, twice="r_drop_weight" in options)
    total, each = losses(given, **options)
    exact = [leaf.detach().double().requires_grad_() for leaf in given.leaves]
    expected, expected_each = truth(given, exact, **options)
    assert total.dtype == torch.float32 and not each.requires_grad
    torch.testing.assert_close(total.double(), expected, atol=EACH * int(given.mask.sum()), rtol=1e-6)
    torch.testing.assert_close(each.double(), expected_each, atol=1e-5, rtol=1e-5)
    ours = torch.autograd.grad(2.5 * total, given.leaves, materialize_grads=True, allow_unused=True)
    theirs = torch.autograd.grad(2.5 * expected, exact, materialize_grads=True, allow_unused=True)
    for gradient, true_gradient in zip(ours, theirs, strict=True):
        largest = float(true_gradient.abs().max())
        torch.testing.assert_close(gradient.double(), true_gradient, atol=3e-6 * largest, rtol=1e-5)


# Several blocks of one size, of which the last may share tokens with the one before; these count once.
@combined(rows=[3, 98, 196, 256, 400], case=["plain", "smoothed", "two passes"])
def test_half_precision_readouts(rows: int, case: str) -> None:
    options = CASES[case]
    given = problem(rows, twice="r_drop_weight" in options)
    given = given._replace(readouts=given.readouts.detach().bfloat16().requires_grad_())
    total, _ = losses(given, **options)
    exact = [leaf.detach().double().requires_grad_() for leaf in given.leaves]
    expected, _ = truth(given, exact, **options)
    assert total.dtype == torch.float32
    torch.testing.assert_close(total.double(), expected, atol=0, rtol=1e-2)
    gradients = (torch.autograd.grad(*pair) for pair in ((total, given.leaves[:3]), (expected, exact[:3])))
    for ours, theirs in zip(*gradients, strict=True):
        # bfloat16 has 8 bits.
        assert (ours.double() - theirs).norm() / theirs.norm() < 3e-2


def test_products_are_computed_in_the_type_of_autocast() -> None:
    """Readouts that a norm has left in float32 are multiplied as others are."""
    given = problem(20)
    expected, _ = losses(given._replace(readouts=given.readouts.bfloat16()))
    with torch.autocast("cpu", torch.bfloat16):
        total, _ = losses(given)
    assert torch.equal(total, expected) and total.dtype == torch.float32
    assert not torch.equal(total, losses(given)[0])


@pytest.mark.parametrize("case", CASES)
def test_the_loss_of_nothing_is_zero(case: str) -> None:
    given = problem(3, twice="r_drop_weight" in CASES[case])
    for nothing in (given._replace(mask=torch.zeros_like(given.mask)), Problem(*_without_steps(given))):
        total, _ = losses(nothing, **CASES[case])
        assert total.item() == 0 and not any(
            gradient.any() for gradient in torch.autograd.grad(total, nothing.leaves[:3])
        )


def _without_steps(given: Problem) -> Iterator[Tensor]:
    for name, tensor in given._asdict().items():
        yield tensor if name in ("weight", "bias") else tensor[:, :0]


@pytest.mark.parametrize("case", CASES)
def test_what_is_nearly_impossible_has_finite_losses_and_gradients(case: str) -> None:
    given = problem(5, twice="r_drop_weight" in CASES[case])
    share = torch.tensor([1.0, 0.0, 0.0, 0.5, 1.0]).expand_as(given.share).clone().requires_grad_()
    sharp = given._replace(readouts=(given.readouts.detach() * 1e4).requires_grad_(), share=share, other=1 - share)
    total, each = losses(sharp, **CASES[case])
    gradients = torch.autograd.grad(total, [sharp.readouts, sharp.weight, share], allow_unused=True)
    assert all(part.isfinite().all() for part in (total, each, *gradients) if part is not None)


def test_the_distance_of_measures() -> None:
    """By hand, of real steps alone: nothing is infinitely far from something."""
    parts = torch.tensor([[[0.5, 0.0], [9.0, 9.0]], [[0.25, 0.1], [1.0, 2.0]]], requires_grad=True)
    apart = distance(parts, torch.tensor([[True, False]]).repeat(2, 1))
    expected = (0.25 * math.log(2) + 0.1 * math.log(0.1 / 1e-9)) / 2
    torch.testing.assert_close(apart, torch.tensor(expected))
    (gradient,) = torch.autograd.grad(apart, [parts])
    assert gradient.isfinite().all() and not gradient[:, 1].any()
