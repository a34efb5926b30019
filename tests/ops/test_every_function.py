"""What holds for every function of mt.ops, and for the additive energy and the softmax of mt.kernels."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mt.kernels.additive import additive_energy
from mt.kernels.sequences import masked_softmax
from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from mt.ops.chunkwise import chunkwise_attention
from mt.ops.expected import expected_alignment
from mt.ops.infinite_lookback import infinite_lookback_attention
from mt.ops.losses import coverage_loss, differentiable_average_lagging, doubly_stochastic_loss, quantity_loss
from mt.ops.scan import linear_scan

Function = Callable[..., Tensor]


def drawn(function: Function) -> list[Tensor]:
    """Arguments of three rows: probabilities, of which some are 0 and 1, shares of one, energies, masks."""
    generator = torch.Generator().manual_seed(5)
    p = torch.rand(3, 4, 6, generator=generator)
    p[0, 2, 1], p[1, 1, 0] = 0.0, 1.0
    share = torch.rand(3, 4, 6, generator=generator).softmax(-1)
    energy = 4 * torch.randn(3, 4, 6, generator=generator)
    lengths = torch.tensor([6, 3, 5])
    source = torch.arange(6) < lengths[:, None]
    target = torch.arange(4) < torch.tensor([4, 2, 3])[:, None]
    delays = torch.tensor([[1.0, 2.7, 3.1, 7.0], [4.0, 4.2, 4.9, 1.0], [0.5, 3.0, 4.1, 6.0]])
    return {
        "adaptive_chunkwise_attention": [share, p, energy],
        "additive_energy": [energy, energy.flip(1), energy[0, 0]],
        "chunkwise_attention": [share, energy],
        "coverage_loss": [share, source, target],
        "differentiable_average_lagging": [delays, lengths, target],
        "doubly_stochastic_loss": [share, source, target],
        "expected_alignment": [p, share[:, 0]],
        "infinite_lookback_attention": [share, energy],
        "linear_scan": [p, energy],
        "masked_softmax": [energy, source[:, None].expand(-1, 4, -1)],
        "quantity_loss": [0.7 * share, target],
    }[function.__name__]


def called(function: Function, given: list[Tensor]) -> Tensor:
    return function(*given, 3) if function is chunkwise_attention else function(*given)


FUNCTIONS = [
    adaptive_chunkwise_attention,
    additive_energy,
    chunkwise_attention,
    coverage_loss,
    differentiable_average_lagging,
    doubly_stochastic_loss,
    expected_alignment,
    infinite_lookback_attention,
    linear_scan,
    masked_softmax,
    quantity_loss,
]
every_one = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)


@every_one
@pytest.mark.parametrize("size", [3, 4, 6])
def test_empty_arguments_have_a_result_and_gradients(function: Function, size: int):
    """Without rows, without steps, and without positions."""
    if not any(size in part.shape for part in drawn(function)):
        pytest.skip("it has none")
    given = []
    for part in drawn(function):
        for axis, length in enumerate(part.shape):
            part = part.narrow(axis, 0, 0) if length == size else part
        given.append(part.clone().requires_grad_(part.is_floating_point()))
    leaves = [part for part in given if part.requires_grad]
    result = called(function, given)
    gradients = torch.autograd.grad(result.sum(), leaves, allow_unused=True, materialize_grads=True)
    assert result.isfinite().all() and not any(gradient.any() for gradient in gradients)


@every_one
def test_gradients_are_those_of_finite_differences(function: Function):
    given = [part.double() if part.is_floating_point() else part for part in drawn(function)]
    leaves = [part.requires_grad_() for part in given if part.is_floating_point()]
    assert called(function, given).dtype == torch.float64

    def of(*parts: Tensor) -> Tensor:
        rest = iter(parts)
        return called(function, [next(rest) if part.is_floating_point() else part for part in given])

    assert torch.autograd.gradcheck(of, leaves)


@every_one
def test_half_precision_is_computed_in_single(function: Function):
    half = [part.bfloat16() if part.is_floating_point() else part for part in drawn(function)]
    single = [part.float() if part.is_floating_point() else part for part in half]
    result = called(function, half)
    assert result.dtype == (torch.bfloat16 if function is additive_energy else torch.float32)
    assert torch.equal(result, called(function, single).to(result.dtype))


@every_one
def test_each_row_is_as_alone(function: Function):
    given = drawn(function)
    whole = called(function, given)
    assert len(whole) == 3
    for row in range(3):
        of_row = [part if part.shape == (6,) else part[row : row + 1] for part in given]
        alone = called(function, of_row)
        torch.testing.assert_close(alone[0], whole[row], atol=1e-7, rtol=1e-6)


MISFITS = [
    (r"expected p_choose \[B, T, S\] and start \[B, S\]", expected_alignment, "23 23, 234 23, 234 14"),
    (r"decay and inputs \[\*, T, H\] and start \[\*, H\]", linear_scan, "234 235 24, 234 234 14"),
    (r"queries \[B, T, H\], keys \[B, S, H\]", additive_energy, "23 234 4, 234 134 4, 234 235 4, 234 234 5"),
]
"""Sizes of arguments that do not fit, a digit for each dimension."""


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("sentence", "function", "misfits"), MISFITS)
def test_shapes_that_do_not_fit_are_refused(sentence: str, function: Function, misfits: str):
    for shapes in misfits.split(", "):
        with pytest.raises(ValueError, match=sentence):
            function(*(torch.zeros([*map(int, shape)]) for shape in shapes.split()))
