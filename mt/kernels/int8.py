"""Quantized products in whole numbers of 8 bits, for the steps of a search, and the recurrent cells that use them.

The states of recurrent cells come first, then the layers and matrices in int8, the rounding of rows, and the products
by oneDNN or FBGEMM."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from typing import TypeVar, no_type_check

import torch
from jaxtyping import Float, Int8, UInt8
from torch import Tensor, nn

from mt.kernels.compiled import Loop, compiled_loop, float32_at, int32_at, uint8_at

# The states of recurrent cells from the products of their matrices, where torch does not compute these.


def lstm_state(gates: Float[Tensor, "B G"], cell: Float[Tensor, "B H"]) -> tuple[Float[Tensor, "B H"], ...]:
    """Returns the next hidden and cell vectors. gates: i, f, g and o before their nonlinearities."""
    enter, keep, _, show = gates.sigmoid().chunk(4, 1)  # one call for all costs less than three
    cell = keep * cell + enter * gates.chunk(4, 1)[2].tanh()
    return show * cell.tanh(), cell


def gru_state(
    of_input: Float[Tensor, "B G"], of_hidden: Float[Tensor, "B G"], hidden: Float[Tensor, "B H"]
) -> tuple[Float[Tensor, "B H"], ...]:
    """Returns the next hidden vectors. of_input, of_hidden: r, z and n before their nonlinearities."""
    reset, keep = (of_input + of_hidden).sigmoid().chunk(3, 1)[:2]
    candidate = (of_input.chunk(3, 1)[2] + reset * of_hidden.chunk(3, 1)[2]).tanh()
    return (keep * hidden + (1 - keep) * candidate,)


# Quantized products. A matrix has a quarter of its bytes. Processors with instructions for such products (VNNI, AMX)
# take several of them in the time of one in float32.
#
# Each row of a matrix has a scale, its largest number over 127, and is rounded to steps of it once (Wu et al. 2016,
# section 6). The rows that it is multiplied by are rounded so at every product. Sums are exact: processors without
# those instructions add pairs of products in 16 bits, so that there a matrix has 63 steps.

MOST = 127
SMALLEST = 1e-30
"""The least scale of a row, so that a row of zeros stays one."""
ZERO = 128
"""The offset of quantized rows: VNNI's instructions multiply unsigned by signed numbers. For two signed ones oneDNN has
a plain loop, which is a thousand times as slow."""

Model = TypeVar("Model")


class Int8Layer(ABC):
    """A layer that an `int8_copy` rounds where its `int8` is true."""

    int8: bool

    @abstractmethod
    def round_to_int8(self) -> None:
        """Computes in int8 from now on."""


def int8_copy(model: Model) -> Model:
    """Returns a copy that shares the parameters of the model, and whose layers with `int8` compute in int8. It is for
    the steps of a search on a CPU, without a gradient, with final weights."""
    assert isinstance(model, nn.Module)
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    # What its memo holds already, deepcopy takes as it is: the parameters are not copied.
    copy = deepcopy(model, shared)
    for layer in copy.modules():
        if isinstance(layer, Int8Layer) and layer.int8:
            layer.round_to_int8()
    return copy


class Int8Matrix:
    """A matrix [O, I] in int8."""

    def __init__(self, *columns: Float[Tensor, "O _"]) -> None:
        """columns: the columns of the matrix, in one or several tensors."""
        steps, scale = rounded(torch.cat([tensor.detach() for tensor in columns], 1), steps_of_matrices())
        self._multiply = _multiplier(steps, scale[:, 0].contiguous())

    def __call__(self, rows: Float[Tensor, "*N I"], bias: Float[Tensor, " O"] | None) -> Float[Tensor, "*N O"]:
        """Computes `torch.nn.functional.linear`, rounded."""
        flat = rows if rows.dim() == 2 else rows.flatten(0, -2)
        steps, scale = quantize_rows(flat)
        products = self._multiply(steps)
        products = products.mul_(scale) if bias is None else torch.addcmul(bias, products, scale, out=products)
        return products if rows.dim() == 2 else products.view(*rows.shape[:-1], -1)


class Int8LSTMCell:
    """A step of one layer of torch's LSTM."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        """weights: the matrices of input and hidden state, and their two biases."""
        w_input, w_hidden, b_input, b_hidden = (weight.detach() for weight in weights)
        self._matrix = Int8Matrix(w_input, w_hidden)
        self._bias = b_input + b_hidden

    def __call__(
        self, vectors: Float[Tensor, "B I"], state: Sequence[Float[Tensor, "B H"]]
    ) -> tuple[Float[Tensor, "B H"], ...]:
        """Returns the next hidden and cell vectors."""
        hidden, cell = state
        return lstm_state(self._matrix(torch.cat((vectors, hidden), 1), self._bias), cell)


class Int8GRUCell:
    """A step of one layer of torch's GRU."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        """weights: the matrices of input and hidden state, and their two biases."""
        w_input, w_hidden, b_input, b_hidden = (weight.detach() for weight in weights)
        self._input = Int8Matrix(w_input)
        self._hidden = Int8Matrix(w_hidden)
        self._b_input = b_input
        self._b_hidden = b_hidden

    def __call__(
        self, vectors: Float[Tensor, "B I"], state: Sequence[Float[Tensor, "B H"]]
    ) -> tuple[Float[Tensor, "B H"], ...]:
        """Returns the next hidden vectors."""
        (hidden,) = state
        return gru_state(self._input(vectors, self._b_input), self._hidden(hidden, self._b_hidden), hidden)


def rounded(rows: Float[Tensor, "N I"], most: int = MOST) -> tuple[Int8[Tensor, "N I"], Float[Tensor, "N 1"]]:
    """Returns whole numbers from -most to most for each row, and the scale of each."""
    scale = _scale(rows, most)
    return (rows / scale).round_().to(torch.int8), scale


def quantize_rows(rows: Float[Tensor, "N I"]) -> tuple[UInt8[Tensor, "N I"], Float[Tensor, "N 1"]]:
    """Returns the whole numbers of each row, plus `ZERO`, and the scale of each row."""
    if rows.dtype == torch.float32 and rows.numel() and (loop := _rounding_loop()):
        steps = torch.empty(rows.shape, dtype=torch.uint8)
        scale = torch.empty(len(rows), 1, dtype=rows.dtype)
        rows = rows.contiguous()
        loop(rows.data_ptr(), *rows.shape, steps.data_ptr(), scale.data_ptr())
        return steps, scale
    return plain_quantize_rows(rows)


def plain_quantize_rows(rows: Float[Tensor, "N I"]) -> tuple[UInt8[Tensor, "N I"], Float[Tensor, "N 1"]]:
    """Computes `quantize_rows` by torch."""
    scale = _scale(rows, MOST)
    # Rounded, since fractions are cut off.
    return (rows / scale).add_(ZERO + 0.5).to(torch.uint8), scale


@cache
def _rounding_loop() -> Loop | None:
    """Returns `quantize_rows` as one call, where torch takes seven; None where numba cannot."""
    return compiled_loop("void(int64, int64, int64, int64, int64)", _round_rows)


LEAST, MOST_STEPS, MIDDLE = torch.tensor([SMALLEST, MOST, ZERO + 0.5], dtype=torch.float32).numpy()
"""In float32, as a literal would make numba compute in float64."""


@no_type_check
def _round_rows(rows, count, size, steps, scale) -> None:
    """rows: the address of [N, I]. Fills steps [N, I] and scale [N, 1] at their addresses."""
    for n in range(count):
        row = float32_at(rows + 4 * n * size)
        bits = int32_at(rows + 4 * n * size)
        out = uint8_at(steps + n * size)
        # The largest size. Read as whole numbers, the bits without the sign have the order of sizes, with NaN last.
        largest = 0
        for i in range(size):
            largest = max(largest, bits[i] & 0x7FFFFFFF)
        int32_at(scale + 4 * n)[0] = largest
        # The scale, and the row in steps of it.
        step = float32_at(scale + 4 * n)[0] / MOST_STEPS
        step = LEAST if step < LEAST else step
        float32_at(scale + 4 * n)[0] = step
        for i in range(size):
            out[i] = int(row[i] / step + MIDDLE)


def _scale(rows: Float[Tensor, "N I"], most: int) -> Float[Tensor, "N 1"]:
    return rows.abs().amax(1, keepdim=True).div_(most).clamp_(min=SMALLEST)


@cache
def steps_of_matrices() -> int:
    """Returns the largest whole number of a matrix with which this processor's sums are exact."""
    # The largest numbers of all: where pairs of products are added in 16 bits, 2 * 127 * 255 overflows.
    matrix = torch.full((8, 64), MOST, dtype=torch.int8)
    rows = torch.full((8, 64), ZERO + MOST, dtype=torch.uint8)
    return MOST if bool((_by_onednn(matrix, torch.ones(8).float())(rows) == 64 * MOST**2).all()) else MOST // 2


Multiplier = Callable[[Tensor], Tensor]
"""Multiplies rows [N, I] of `quantize_rows` with the transposed matrix, and by the scales of its columns: [N, O] in
float32."""


def _multiplier(steps: Int8[Tensor, "O I"], scale: Float[Tensor, " O"]) -> Multiplier:
    # Without VNNI's instructions, oneDNN reorders the matrix at every product.
    by_fbgemm = _by_fbgemm(steps, scale) if steps_of_matrices() < MOST else None
    return by_fbgemm or _by_onednn(steps, scale)


def _by_onednn(steps: Int8[Tensor, "O I"], scale: Float[Tensor, " O"]) -> Multiplier:
    try:
        # In the order in which the processor reads it. `_int_mm` would reorder the matrix at every product.
        packed = torch.ops.onednn.qlinear_prepack(steps, None)
    except (AttributeError, RuntimeError):  # this build or this processor lacks it
        # Flipping the highest bit takes 128 off, in two's complement.
        return lambda rows: torch._int_mm((rows ^ ZERO).view(torch.int8), steps.T) * scale
    zeros = torch.zeros(len(steps), dtype=torch.int64)
    multiply = torch.ops.onednn.qlinear_pointwise
    return lambda rows: multiply(rows, 1.0, ZERO, packed, scale, zeros, None, 1.0, 0, torch.float32, "none", [], "")


def _by_fbgemm(steps: Int8[Tensor, "O I"], scale: Float[Tensor, " O"]) -> Multiplier | None:
    """Returns None where this build or this processor does not have it."""
    zeros = torch.zeros(len(steps), dtype=torch.int64)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*quantized tensor creation functions")  # deprecated
            matrix = torch._make_per_channel_quantized_tensor(steps, scale.double(), zeros, 0)
        packed = torch.ops.quantized.linear_prepack(matrix, None)
        multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        # An operator may exist and still refuse this processor, which only a call shows.
        multiply(torch.zeros(1, steps.shape[1], dtype=torch.float32), 1.0, ZERO, packed)
    except (AttributeError, RuntimeError):
        return None
    # FBGEMM's operator takes float32, and quantizes it by the scale 1: the whole numbers stay the same.
    return lambda rows: multiply(rows.float().sub_(ZERO), 1.0, ZERO, packed)
