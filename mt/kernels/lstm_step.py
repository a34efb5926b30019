"""A step of an LSTM for a few rows in float32, in one compiled loop for CPUs: both products of `few_rows`, and the next
state. In calls of PyTorch a state takes a fifth as long as the products.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from mt.kernels.compiled import Loop, compiled_loop, float32_at
from mt.kernels.few_rows import FLOAT, THREAD, product, store
from mt.kernels.numba_loops import ANY_ORDER, rational_tanh
from mt.kernels.threads import at_once, shares

HALF = torch.tensor(0.5).numpy()[()]
"""In float32, as a literal would make numba compute in float64."""


def lstm_step(vectors: Float[Tensor, "B I"], state: Sequence[Tensor], weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns the next hidden and cell vectors, both [B, H], where rows `are_few`. state: those before; weights: the
    matrices of input and hidden state, and their two biases. Raises ValueError where they do not fit."""
    loop = step_loop()
    assert loop is not None
    count, size = vectors.shape
    units = weights[1].shape[1]
    if weights[0].shape[1] != size or any(part.shape != (count, units) for part in state):
        raise ValueError(f"rows of {size} numbers and states of {units} do not fit")
    before = [part.float().contiguous() for part in (vectors, *state)]  # a state may come from layers in bfloat16
    gates = vectors.new_empty(2, count, 4 * units)
    after = vectors.new_empty(2, count, units)
    tensors = [*before, *(weight.contiguous() for weight in weights), gates, after]
    call = partial(loop, count, size, units, *(tensor.data_ptr() for tensor in tensors))
    threads = min(torch.get_num_threads(), weights[1].numel() // THREAD)
    at_once([partial(call, share.start, min(share.stop, units)) for share in shares(units, threads)])
    return after.unbind()


@cache
def step_loop() -> Loop | None:
    """Returns the loop; None where numba cannot."""
    signature = f"void({', '.join(['int64'] * 14)})"
    return compiled_loop(signature, _step, helpers=[store, product, rational_tanh, sigmoid], fastmath=ANY_ORDER)


@no_type_check
def _step(
    count, size, units, vectors, hidden, cell, w_input, w_hidden, b_input, b_hidden, gates, after, first, end
) -> None:
    """Fills units `first` to `end` - 1 of the next hidden and cell vectors, after [2, B, H]; all are addresses.
    gates: [2, B, 4 H] for the products."""
    rows = 4 * units
    of_hidden = gates + FLOAT * count * rows
    for gate in range(0, rows, units):
        product(count, size, rows, vectors, w_input, b_input, gates, gate + first, gate + end)
        product(count, units, rows, hidden, w_hidden, b_hidden, of_hidden, gate + first, gate + end)
    for row in range(count):
        x = float32_at(gates + FLOAT * row * rows)
        h = float32_at(of_hidden + FLOAT * row * rows)
        before = float32_at(cell + FLOAT * row * units)
        shown = float32_at(after + FLOAT * row * units)
        kept = float32_at(after + FLOAT * (count + row) * units)
        for unit in range(first, end):
            enter = sigmoid(x[unit] + h[unit])
            keep = sigmoid(x[units + unit] + h[units + unit])
            candidate = rational_tanh(x[2 * units + unit] + h[2 * units + unit])
            show = sigmoid(x[3 * units + unit] + h[3 * units + unit])
            kept[unit] = keep * before[unit] + enter * candidate
            shown[unit] = show * rational_tanh(kept[unit])


@no_type_check
def sigmoid(x):
    return HALF + HALF * rational_tanh(HALF * x)
