"""Products of a few rows with a matrix in float32, compiled for CPUs: the steps of single sentences and of streams.

Such a product takes as long as reading the matrix. On AMD's processors MKL takes two to four times as long: it copies
the matrix before it uses it a few times. Here a number of the matrix is read once for all the rows.
Each row's products are the same to the last bit whatever the others are.
"""

from functools import cache, partial
from math import prod
from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mt.kernels.compiled import Loop, compiled_loop, float32_at
from mt.kernels.numba_loops import ANY_ORDER
from mt.kernels.processor import processor
from mt.kernels.threads import at_once, shares

FEW = 8
"""Most rows: of more, a product takes longer than reading."""
LARGE = 1 << 16
"""Fewest numbers of a matrix: of fewer, a call takes longer than the product."""
THREAD = 1 << 20
"""Numbers of a matrix for each thread at least: some 50 microseconds. Beside other work it may take milliseconds until
a second thread begins."""
FLOAT = 4
"""Bytes of a number."""
ZERO = np.float32(0)


def are_few(rows: Tensor, weight: Tensor) -> bool:
    """Returns whether `few_rows` is there for these, and faster than PyTorch: without gradient or autocast, on a CPU of
    AMD, whose MKL is slow (on Intel's it reads a matrix as fast as the memory allows)."""
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
    threads = min(torch.get_num_threads(), weight.numel() // THREAD)
    columns_of_threads = shares(outputs, threads)
    at_once([partial(loop, *numbers, share.start, min(share.stop, outputs)) for share in columns_of_threads])
    return products


@cache
def product_loop() -> Loop | None:
    """Returns the loop; None where numba cannot."""
    return compiled_loop(f"void({', '.join(['int64'] * 9)})", product, helpers=[store], fastmath=ANY_ORDER)


@no_type_check
def product(count, size, outputs, rows, weight, bias, products, first, end) -> None:
    """Fills columns `first` to `end` - 1 of the products [N, O]; rows, weight, bias, products: addresses, 0 for no
    bias. Two rows are multiplied by four columns at a time; what is left over, by some of them twice.
    """
    # Columns far from one another: a processor reads ahead in each of several parts of its memory.
    part = -(-(end - first) // 4)
    for output in range(first, first + part):
        columns = (
            output,
            min(output + part, end - 1),
            min(output + 2 * part, end - 1),
            min(output + 3 * part, end - 1),
        )
        w = float32_at(weight + FLOAT * size * columns[0])
        x = float32_at(weight + FLOAT * size * columns[1])
        y = float32_at(weight + FLOAT * size * columns[2])
        z = float32_at(weight + FLOAT * size * columns[3])
        for row in range(0, count, 2):
            next_row = min(row + 1, count - 1)
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
