"""The check of Triton's kernels on a device, since its compiler has been wrong before.

The first call loads Triton, compiles kernels that are not in its cache on disk, and compares values and gradients with
plain PyTorch's.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

Operation = Callable[..., Tensor]
"""A differentiable function of tensors, and of arguments of other kinds."""


def block_size(positions: int) -> int:
    """Returns the columns that a kernel of the alignment scans at once: a power of 2, up to eight for each thread."""
    return min(256, max(32, 1 << (positions - 1).bit_length()))


@cache
def fused_alignment(device: torch.device, dtype: torch.dtype, block: int, reference: Operation) -> Operation | None:
    """Returns `expected_alignment` by kernels (`mt.kernels.triton_kernels`) for tensors of one dtype, by blocks of
    columns; None, with a warning, where they do not work. reference: the wavefront."""

    def cases() -> list[tuple[Tensor, ...]]:
        # Two blocks.
        p = _up_and_down((2, 3, block + 1), dtype, device)
        return [(p, p.detach()[:, 0].flip(1).requires_grad_())]

    def fused(p_choose: Tensor, start: Tensor) -> Tensor:
        from mt.kernels.triton_kernels import FusedAlignment  # Not above: not all have Triton, and it loads slowly.

        return FusedAlignment.apply(p_choose, start, block)

    return _trusted("the expected alignment", device, fused, reference, cases)


@torch.inference_mode(False)
@torch.enable_grad()
def _trusted(
    what: str,
    device: torch.device,
    fused: Operation,
    reference: Operation,
    cases: Callable[[], Sequence[tuple[Any, ...]]],
) -> Operation | None:
    """Returns the fused operation where it agrees with the reference in all cases; else None."""
    try:
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < (7, 0):
            raise RuntimeError("Triton needs a GPU of compute capability 7.0 or more")
        for arguments in cases():
            passes = zip(_passes(fused, arguments), _passes(reference, arguments), strict=True)
            for computed, expected in passes:
                torch.testing.assert_close(computed, expected)
    except Exception as error:  # Of any kind: the reference gives the same result.
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(f"{what} is computed without Triton, and slower: {reason}", stacklevel=3)
        return None
    return fused


def _up_and_down(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Returns numbers from 0 to 1 and from 1 to 0."""
    line = torch.linspace(0, 2, torch.Size(shape).numel(), dtype=dtype, device=device).view(shape)
    return torch.minimum(line, 2 - line).requires_grad_()


def _passes(function: Operation, arguments: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Returns the result, and its gradients in all tensors."""
    result = function(*arguments)
    tensors = [x for x in arguments if isinstance(x, Tensor)]
    return result, *torch.autograd.grad(result, tensors, tensors[0].detach())
