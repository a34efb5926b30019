"""The products of a step of search with the matrices of a model."""

import torch
from jaxtyping import Float
from torch import Tensor

from mt.kernels.int8 import in_int8, int8_linear
from mt.kernels.linear import linear
from mt.kernels.processor import processor

FEW = 8
"""Rows up to which the matrix is better the left factor."""
LARGE = 1 << 21
"""Numbers of a matrix from which on that is so: those that stay in the processor's cache are read fast either way."""
PARTS = 16
"""Of the matrix, for one row."""


def step_linear(
    rows: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*N O"]:
    """`torch.nn.functional.linear`; where rows are few, the matrix large and no gradient needed, on AMD's processors in
    float32, in a half to a third of its time; and in int8 inside of `int8_steps`.

    For `rows @ weight.T` MKL copies the whole matrix there before it uses it a few times, and not for
    `weight @ rows.T`. One row is taken as a batch of products with parts of the matrix, since MKL's product with a
    vector reads more slowly. On Intel's the plain product reads as fast as the memory allows, and these take twice its
    time.
    """
    if in_int8(rows):
        return int8_linear(rows, weight, bias)
    if bias is None or not _suits(rows, weight):
        return linear(rows, weight, bias)
    rows = rows.contiguous()  # the other order of its numbers takes BLAS three times as long
    if len(rows) == 1 and len(weight) % PARTS == 0:
        parts = weight.unflatten(0, (PARTS, -1))
        return torch.bmm(parts, rows.T.expand(PARTS, -1, -1)).view(1, -1) + bias
    return (weight @ rows.T).T + bias


def _suits(rows: Tensor, weight: Tensor) -> bool:
    if torch.compiler.is_compiling():  # which must not take the number of rows for a constant
        return False
    plain = rows.device.type == "cpu" and not torch.is_autocast_enabled("cpu") and not torch.is_grad_enabled()
    return plain and processor().amd and weight.numel() >= LARGE and rows.dim() == 2 and len(rows) <= FEW
