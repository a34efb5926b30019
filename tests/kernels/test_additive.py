"""Against the plain expression in float64. Every test runs twice: compiled (numba), and with blocks in its place."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from mt.kernels import additive
from mt.kernels.additive import additive_energy

SHAPES = [(3, 5, 7, 4), (4, 1, 9, 8), (2, 6, 1, 3), (1, 1, 1, 1), (5, 4, 3, 1)]
# Of more hidden units than a block of 2^20 has: a few sentences of several, a few steps of one sentence with a
# remainder, and one step that is larger than a block.
LARGE = [(7, 8, 60, 512), (1, 40, 80, 512), (2, 2, 2100, 512)]


@pytest.fixture(params=["compiled", "blocks"], scope="module", autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "blocks":
            patch.setattr(additive, "additive_kernels", lambda: None)
        elif additive.additive_kernels() is None:
            pytest.skip("numba cannot compile here")
        yield


def plain(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    return torch.tanh(queries[:, :, None] + keys[:, None]) @ direction


def arguments(shape: tuple[int, int, int, int], size: float = 1.0) -> list[Tensor]:
    (batch, steps, positions, hidden) = shape
    generator = torch.Generator().manual_seed(1)
    shapes = (batch, steps, hidden), (batch, positions, hidden), (hidden,)
    return [size * torch.randn(shape, generator=generator) for shape in shapes]


def assert_equals_plain(inputs: list[Tensor]) -> None:
    """Values to 2e-6 in float32, gradients to 1e-5 of their largest entry."""
    fast = [x.detach().requires_grad_() for x in inputs]
    slow = [x.detach().double().requires_grad_() for x in inputs]
    energy = additive_energy(*fast)
    truth = plain(*slow)
    upstream = torch.randn(truth.shape, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(energy.double(), truth, atol=2e-6, rtol=0)
    energy.backward(upstream)
    truth.backward(upstream.double())
    for ours, theirs in zip(fast, slow, strict=True):
        assert ours.grad is not None and theirs.grad is not None
        torch.testing.assert_close(ours.grad.double(), theirs.grad, atol=1e-5 * theirs.grad.abs().max().item(), rtol=0)


@pytest.mark.parametrize("shape", SHAPES + LARGE)
def test_equals_the_plain_expression(shape: tuple[int, int, int, int]):
    queries, keys, direction = arguments(shape)
    assert_equals_plain([queries, keys, direction / direction.norm()])


def test_relative_accuracy_for_any_size():
    """Of one hidden unit, as a sum of several may cancel. Its slope 1 - tanh^2 loses digits where tanh is nearly 1."""
    size = torch.logspace(-30, 1.3, 1000)
    keys = torch.cat((size, -size)).view(1, -1, 1)
    for direction in (torch.ones(1), torch.tensor([-3.0])):
        queries, keys = torch.zeros(1, 1, 1), keys.detach().requires_grad_()
        energy = additive_energy(queries, keys, direction)
        truth = direction.double() * keys.double().view(1, 1, -1).tanh()
        torch.testing.assert_close(energy.double(), truth, atol=0, rtol=1e-6)
        energy.sum().backward()
        slope = direction.double() * (1 - keys.double().tanh() ** 2)
        assert keys.grad is not None
        torch.testing.assert_close(keys.grad.double(), slope, atol=3e-6, rtol=1e-6)


@pytest.mark.parametrize("hidden", [1, 40])
def test_values_that_are_not_numbers_are_not_hidden(hidden: int):
    queries = torch.zeros(1, 4, hidden)
    keys = torch.zeros(1, 3, hidden)
    queries[0, 1, -1] = torch.nan
    queries[0, 2, -1] = torch.inf
    queries[0, 3, -1] = -torch.inf
    energy = additive_energy(queries.requires_grad_(), keys, torch.ones(hidden))
    energy.sum().backward()
    assert energy[0, 1].isnan().all()
    torch.testing.assert_close(energy[0, ::2], torch.tensor([[0.0] * 3, [1.0] * 3]), atol=1e-6, rtol=0)
    torch.testing.assert_close(energy[0, 3], torch.full((3,), -1.0), atol=1e-6, rtol=0)
    assert queries.grad is not None and queries.grad[0, 1, -1].isnan()
    assert queries.grad[0, 2:].isfinite().all()


@pytest.mark.usefixtures("three_threads")
def test_the_number_of_threads_changes_nothing():
    queries, keys, direction = arguments((5, 30, 40, 600))  # of 3.4 times the hidden units that a thread has at least
    inputs = [x.requires_grad_() for x in (queries, keys, direction / direction.norm())]
    results = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        energy = additive_energy(*inputs)
        results.append([energy, *torch.autograd.grad(energy.square().sum(), inputs)])
    for others in results[1:]:
        for ours, theirs in zip(others, results[0], strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-6 * theirs.detach().abs().max().item() + 1e-5, rtol=1e-6)


def test_hidden_units_are_not_kept_for_the_backward_pass():
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        additive_energy(*(x.requires_grad_() for x in arguments((3, 20, 30, 16))))
    assert sum(x.numel() for x in kept) == 3 * 20 * 16 + 3 * 30 * 16 + 16
