"""Products of matrices in functions with a backward pass of their own, by the faster of two libraries.

In float32, torch asks MKL, which on AMD's processors computes with vectors of 256 bits where there are 512. oneDNN,
which torch comes with, takes half the time there; its sums are rounded in another order.
"""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from mt.kernels.processor import processor


def product(
    left: Float[Tensor, "N I"], right: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "N O"]:
    """`left @ right + bias`, without a gradient."""
    if _by_onednn(left, right):
        return torch.ops.mkldnn._linear_pointwise(left, right.T, bias, "none", [], "")
    return left @ right if bias is None else torch.addmm(bias, left, right)


def _by_onednn(left: Tensor, right: Tensor) -> bool:
    if left.dtype != torch.float32 or left.device.type != "cpu" or not _mkl_is_slow():
        return False
    # By some columns of a larger matrix, oneDNN multiplies two thousand times as slowly.
    return all(matrix.is_contiguous() or matrix.T.is_contiguous() for matrix in (left, right))


@cache
def _mkl_is_slow() -> bool:
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    # What torch's compiler calls for linear layers, which is no part of its public interface.
    called = libraries and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return called and processor().amd and "avx512f" in processor().instructions
