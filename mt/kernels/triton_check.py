"""Whether Triton's kernels of the expected alignment (`mt.kernels.triton_alignment`) can be trusted on a device."""

import warnings
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.autograd import Function

Alignment = Callable[[Tensor, Tensor], Tensor]


def block_size(positions: int) -> int:
    """Returns the columns that a kernel scans at once: a power of 2, up to eight for each thread of its warp."""
    return min(256, max(32, 1 << (positions - 1).bit_length()))


@cache
def fused_alignment(
    device: torch.device, dtype: torch.dtype, block: int, reference: type[Function]
) -> Alignment | None:
    """Returns the kernels for tensors of one dtype, by blocks of columns; None, with a warning, where they do not work.

    The first call loads Triton, compiles what is not in Triton's cache on disk, and compares values and gradients with
    those of `reference`, the wavefront, so that a compiler that is wrong is not trusted.
    """
    try:
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < (7, 0):
            raise RuntimeError("Triton needs a GPU of compute capability 7.0 or more")
        from mt.kernels.triton_alignment import (
            FusedAlignment,  # Not above: not every machine has Triton, and it is slow to import.
        )

        def fused(p_choose: Tensor, start: Tensor) -> Tensor:
            return FusedAlignment.apply(p_choose, start, block)

        with torch.inference_mode(False), torch.enable_grad():
            # Two blocks: p from 0 to 1 and from 1 to 0.
            p = torch.linspace(0, 2, 2 * 3 * (block + 1), dtype=dtype, device=device).view(2, 3, -1)
            p = torch.minimum(p, 2 - p).requires_grad_()
            start = p.detach()[:, 0].flip(1).requires_grad_()
            for computed, expected in zip(_passes(fused, p, start), _passes(reference.apply, p, start), strict=True):
                torch.testing.assert_close(computed, expected)
    except Exception as error:  # Of any kind: the wavefront gives the same result.
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(f"the expected alignment is computed without Triton, and slower: {reason}", stacklevel=2)
        return None
    return fused


def _passes(function: Alignment, p: Tensor, start: Tensor) -> tuple[Tensor, ...]:
    """alpha, and two gradients through it."""
    alpha = function(p, start)
    return alpha, *torch.autograd.grad(alpha, (p, start), p.detach())
