"""The check of Triton's kernels on a device, since its compiler has been wrong before.

The first call loads Triton, compiles kernels that are not in its cache on disk, and compares values and gradients with
plain PyTorch's.
"""

import warnings
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

Alignment = Callable[[Tensor, Tensor], Tensor]
"""Computes `expected_alignment` of p_choose and start, of one dtype; differentiable."""


def block_size(positions: int) -> int:
    """Returns the columns that a kernel of the alignment scans at once: a power of 2, up to eight for each thread."""
    return min(256, max(32, 1 << (positions - 1).bit_length()))


@cache
def fused_alignment(device: torch.device, dtype: torch.dtype, block: int, reference: Alignment) -> Alignment | None:
    """Returns the alignment by kernels (`mt.kernels.triton_kernels`), by blocks of columns; None, with a warning, where
    they do not work here. reference: what they are compared with."""

    def fused(p_choose: Tensor, start: Tensor) -> Tensor:
        from mt.kernels.triton_kernels import FusedAlignment  # Not above: not all have Triton, and it loads slowly.

        return FusedAlignment.apply(p_choose, start, block)

    try:
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < (7, 0):
            raise RuntimeError("Triton needs a GPU of compute capability 7.0 or more")
        torch.testing.assert_close(_passes(fused, device, dtype, block), _passes(reference, device, dtype, block))
    except Exception as error:  # Of any kind: the reference gives the same result.
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(f"the expected alignment is computed without Triton, and slower: {reason}", stacklevel=2)
        return None
    return fused


# The first call may come from decoding, where gradients are off.
@torch.inference_mode(False)
@torch.enable_grad()
def _passes(alignment: Alignment, device: torch.device, dtype: torch.dtype, block: int) -> tuple[Tensor, ...]:
    """Returns the result and its gradients for probabilities that go from 0 to 1 and back, in two blocks of columns."""
    line = torch.linspace(0, 2, 6 * (block + 1), dtype=dtype, device=device).view(2, 3, block + 1)
    p_choose = torch.minimum(line, 2 - line).requires_grad_()  # [B, T, S]
    start = p_choose.detach()[:, 0].flip(1).requires_grad_()
    alpha = alignment(p_choose, start)
    return alpha, *torch.autograd.grad(alpha, (p_choose, start), p_choose.detach())
