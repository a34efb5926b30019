"""Arguments that break naive formulas, and the comparison of an operation with its oracle."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# Values that break closed forms: nothing, everything, almost nothing, almost everything.
EXTREMES = torch.tensor([0.0, 1.0, 1e-30, 1e-8, 1 - 2**-24, 0.5])

Function = Callable[..., Tensor]


def probabilities(kind: str, shape: tuple[int, ...], seed: int) -> Tensor:
    """Values in [0, 1]. Those of the kinds `one position` and `distribution` sum to 1."""
    uniform = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    if kind == "extremes":
        return EXTREMES[(uniform * len(EXTREMES)).long()]
    if kind == "one position":
        return torch.nn.functional.one_hot(uniform.argmax(-1), shape[-1]).float()
    if kind == "distribution":
        return uniform / uniform.sum(-1, keepdim=True)
    return {
        "any": uniform,
        "zeros and ones": (uniform < 0.3).float(),
        "ones": torch.ones(shape),
        "zeros": torch.zeros(shape),
        "sharp": torch.sigmoid(100 * (uniform - 0.5)),
    }[kind]


def energies(size: float, shape: tuple[int, ...], seed: int) -> Tensor:
    """Energies within +-size."""
    return size * (2 * torch.rand(shape, generator=torch.Generator().manual_seed(seed + 1)) - 1)


def assert_agree(
    ours: Function, oracle: Function, arguments: Sequence[Tensor], seed: int = 0, gradients_to: float = 1e-5
) -> None:
    """Compares an operation with its oracle: values to 1e-6, gradients to 1e-5 of their largest entry (1e-14 is the
    rounding of the truth itself)."""
    fast = [x.clone().requires_grad_() for x in arguments]
    slow = [x.double().requires_grad_() for x in arguments]
    result = ours(*fast)
    truth = oracle(*slow)
    assert result.dtype == torch.float32
    assert truth.dtype == torch.float64
    torch.testing.assert_close(result.double(), truth, atol=1e-6, rtol=0)
    upstream = torch.randn(truth.shape, generator=torch.Generator().manual_seed(seed))
    gradients = torch.autograd.grad(result, fast, upstream)
    true_gradients = torch.autograd.grad(truth, slow, upstream.double(), materialize_grads=True)
    for gradient, true_gradient in zip(gradients, true_gradients, strict=True):
        scale = true_gradient.abs().max().item()
        torch.testing.assert_close(gradient.double(), true_gradient, atol=gradients_to * scale + 1e-14, rtol=0)
