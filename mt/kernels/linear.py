"""The linear layer, which chooses how it computes by device, precision and number of rows: see `strategy`.

Compiled products of a few rows come first, then the layer with its strategies, then a product without gradient for
functions that have a backward pass of their own."""

from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mt.kernels.compiled import ANY_ORDER, Loop, compiled_loop, float32_at
from mt.kernels.int8 import Int8Layer, Int8Matrix
from mt.kernels.processor import processor
from mt.kernels.threads import at_once, shares

# Products of a few rows with a matrix in float32, compiled for CPUs: the steps of single sentences and of streams.
#
# Such a product takes as long as reading the matrix. On AMD's processors MKL takes two to four times as long: it copies
# the matrix before it uses it a few times. Here a number of the matrix is read once for all rows. The products of a row
# are the same to the last bit whatever the other rows are.

FEW = 8
"""The most rows: with more, a product takes longer than reading."""
LARGE = 1 << 16
"""The fewest numbers of a matrix: with fewer, a call takes longer than the product."""
THREAD = 1 << 20
"""The fewest numbers of a matrix for each thread: some 50 microseconds. Beside other work it may take milliseconds
until a second thread begins."""
FLOAT = 4
"""Bytes of a number."""
ZERO = np.float32(0)


def are_few(rows: Tensor, weight: Tensor) -> bool:
    """Returns whether `few_rows` can compute these, and faster than PyTorch: without gradient or autocast, on a CPU of
    AMD. (On Intel's, MKL reads a matrix as fast as the memory allows.)"""
    return (
        rows.is_cpu
        and rows.numel() <= FEW * rows.shape[-1]
        and weight.numel() >= LARGE
        and rows.dtype == weight.dtype == torch.float32
        and not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling())
        and processor().amd
        and product_loop() is not None
    )


def few_rows(
    rows: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None
) -> Float[Tensor, "*N O"]:
    """Computes `torch.nn.functional.linear` where rows `are_few`."""
    loop = product_loop()
    assert loop is not None
    outputs, size = weight.shape
    *shape, columns = rows.shape
    if columns != size or (bias is not None and bias.shape[0] != outputs):
        raise ValueError(f"rows of {columns} numbers and a matrix {tuple(weight.shape)} do not fit")
    # The loop reads addresses, so that each row's numbers must lie side by side.
    rows = rows.contiguous()
    weight = weight.contiguous()
    products = rows.new_empty(*shape, outputs)
    numbers = (
        prod(shape),
        size,
        outputs,
        rows.data_ptr(),
        weight.data_ptr(),
        0 if bias is None else bias.data_ptr(),
        products.data_ptr(),
    )
    over_columns(partial(loop, *numbers), outputs, weight)
    return products


def over_columns(call: Callable[[int, int], object], columns: int, weight: Tensor) -> None:
    """Has `call(first, end)` compute all columns, in only as many threads as save time for a matrix of this size."""
    threads = min(torch.get_num_threads(), weight.numel() // THREAD)
    if threads < 2:
        call(0, columns)
    else:
        at_once([partial(call, share.start, min(share.stop, columns)) for share in shares(columns, threads)])


@cache
def product_loop() -> Loop | None:
    """Returns the loop; None where numba cannot."""
    return compiled_loop(f"void({', '.join(['int64'] * 9)})", product, helpers=[store], fastmath=ANY_ORDER)


@no_type_check
def product(count, size, outputs, rows, weight, bias, products, first, end) -> None:
    """Fills columns `first` to `end` - 1 of the products [N, O]. rows, weight, bias, products: addresses, 0 for no
    bias. Two rows are multiplied by four columns at a time; a remainder is computed twice."""
    # Columns far from one another: a processor reads ahead in each of several places of its memory.
    quarter = -(-(end - first) // 4)
    for output in range(first, first + quarter):
        columns = (
            output,
            min(output + quarter, end - 1),
            min(output + 2 * quarter, end - 1),
            min(output + 3 * quarter, end - 1),
        )
        w = float32_at(weight + FLOAT * size * columns[0])
        x = float32_at(weight + FLOAT * size * columns[1])
        y = float32_at(weight + FLOAT * size * columns[2])
        z = float32_at(weight + FLOAT * size * columns[3])
        for row in range(0, count, 2):
            next_row = min(row + 1, count - 1)
            # Eight sums at once, of two rows and four columns, each in a register of the processor.
            a = float32_at(rows + FLOAT * size * row)
            b = float32_at(rows + FLOAT * size * next_row)
            a_w = ZERO
            a_x = ZERO
            a_y = ZERO
            a_z = ZERO
            b_w = ZERO
            b_x = ZERO
            b_y = ZERO
            b_z = ZERO
            for number in range(size):
                a_w += a[number] * w[number]
                a_x += a[number] * x[number]
                a_y += a[number] * y[number]
                a_z += a[number] * z[number]
                b_w += b[number] * w[number]
                b_x += b[number] * x[number]
                b_y += b[number] * y[number]
                b_z += b[number] * z[number]
            store((a_w, a_x, a_y, a_z), columns, bias, products + FLOAT * outputs * row)
            store((b_w, b_x, b_y, b_z), columns, bias, products + FLOAT * outputs * next_row)


@no_type_check
def store(sums, columns, bias, row) -> None:
    """Fills columns of a row of the products, at its address."""
    out = float32_at(row)
    for number in range(4):
        column = columns[number]
        out[column] = sums[number] + float32_at(bias)[column] if bias else sums[number]


# The linear layer, which chooses how it computes by device, precision and number of rows: see `strategy`.

Strategy = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""Computes rows [*N, O] of rows [*N, I], a weight [O, I] and a bias [O] or None."""


class Linear(Int8Layer, nn.Linear):
    """`torch.nn.Linear`, computed by the fastest of the strategies of this file that suits."""

    def __init__(
        self, in_features: int, out_features: int, *, bias: bool = True, int8: bool = False, exact: bool = False
    ) -> None:
        """int8: whether decoding in int8 rounds the layer (`mt.kernels.int8.int8_copy`). exact: whether it computes in
        float32 on a CPU under autocast, too. That suits layers of few rows, once a batch, since oneDNN compiles a
        program for each number of rows in bfloat16, in 7 ms."""
        super().__init__(in_features, out_features, bias)
        self.int8 = int8
        self.exact = exact
        self.rounded: Int8Matrix | None = None
        """The weight in int8, in an `int8_copy`."""

    def round_to_int8(self) -> None:
        self.rounded = Int8Matrix(self.weight)

    def forward(self, input: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        if self.rounded is not None:
            return self.rounded(input, self.bias)
        if not self.exact:
            return strategy(input, self.weight, self.bias)(input, self.weight, self.bias)
        if input.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):
                return plain(input.float(), self.weight, self.bias).type_as(input)
        return plain(input, self.weight, self.bias)


def strategy(rows: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None) -> Strategy:
    """Returns the function that computes a linear layer. An exported graph has the plain product of any rows."""
    if rows.device.type != "cpu" or torch.compiler.is_compiling():
        return plain
    return few_rows if are_few(rows, weight) else plain


plain: Strategy = nn.functional.linear


def matrix_product(
    left: Float[Tensor, "N I"], right: Float[Tensor, "I O"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "N O"]:
    """Returns `left @ right + bias` for functions with a backward pass of their own: it has no gradient.

    In float32 torch calls MKL, which takes twice oneDNN's time on AMD's processors: its vectors have 256 bits of 512.
    """
    float32_on_cpu = left.dtype == torch.float32 and left.device.type == "cpu"
    # With a slice of the columns of a larger matrix, oneDNN is two thousand times as slow.
    whole = all(matrix.is_contiguous() or matrix.T.is_contiguous() for matrix in (left, right))
    if float32_on_cpu and whole and processor().mkl_is_slow and has_onednn_product():
        return torch.ops.mkldnn._linear_pointwise(left, right.T, bias, "none", [], "")
    return left @ right if bias is None else torch.addmm(bias, left, right)


@cache
def has_onednn_product() -> bool:
    """Returns whether this torch has oneDNN's linear layer, which is not public."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    return libraries and hasattr(torch.ops.mkldnn, "_linear_pointwise")
