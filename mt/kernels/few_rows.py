"""Products of a few rows with a matrix in float32, compiled for CPUs: the steps of single sentences and of streams.

Such a product takes as long as reading the matrix. On AMD's processors MKL takes two to four times as long: it copies
the matrix before it uses it a few times. Here a row of the matrix is read once, for all rows that it is multiplied by.
"""

from functools import cache, partial
from math import prod
from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mt.kernels.compiled import Loop, compiled, float32_at
from mt.kernels.numba_loops import ANY_ORDER
from mt.kernels.processor import processor
from mt.kernels.threads import at_once

FEW = 8
"""Most rows: of more, a product takes longer than reading."""
LARGE = 1 << 16
"""Fewest numbers of a matrix: of fewer, a call takes longer than the product."""
THREAD = 1 << 19
"""Numbers of a matrix for each thread at least: some 25 microseconds."""
FLOAT = 4
"""Bytes of a number."""
ZERO = np.float32(0)


def are_few(rows: Tensor, weight: Tensor) -> bool:
    """Returns whether `few_rows` is there for these, and faster than PyTorch: without gradient or autocast, on a CPU of
    AMD."""
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
    if threads < 2:
        loop(*numbers, 0, outputs)
    else:
        part = -(-outputs // threads)
        at_once([partial(loop, *numbers, first, min(first + part, outputs)) for first in range(0, outputs, part)])
    return products


@cache
def product_loop() -> Loop | None:
    """Returns the loop; None where numba cannot."""
    loops = compiled([(f"void({', '.join(['int64'] * 9)})", _product)], fastmath=ANY_ORDER)
    return None if loops is None else loops[0]


@no_type_check
def _product(count, size, outputs, rows, weight, bias, products, first, end) -> None:
    """Fills columns `first` to `end` - 1 of the products [N, O]; rows, weight, bias, products: addresses, 0 for no
    bias."""
    for output in range(first, end):
        column = float32_at(weight + FLOAT * size * output)
        offset = float32_at(bias)[output] if bias else ZERO
        row = 0
        while row < count:
            a = float32_at(rows + FLOAT * size * row)
            out = float32_at(products + FLOAT * (outputs * row + output))
            sum_a = ZERO
            if row + 4 <= count:  # four rows at a time, for which a number of the matrix is loaded once
                b = float32_at(rows + FLOAT * size * (row + 1))
                c = float32_at(rows + FLOAT * size * (row + 2))
                d = float32_at(rows + FLOAT * size * (row + 3))
                sum_b = ZERO
                sum_c = ZERO
                sum_d = ZERO
                for number in range(size):
                    factor = column[number]
                    sum_a += a[number] * factor
                    sum_b += b[number] * factor
                    sum_c += c[number] * factor
                    sum_d += d[number] * factor
                out[outputs] = sum_b + offset
                out[2 * outputs] = sum_c + offset
                out[3 * outputs] = sum_d + offset
                row += 4
            else:
                for number in range(size):
                    sum_a += a[number] * column[number]
                row += 1
            out[0] = sum_a + offset
