"""Products in whole numbers of 8 bits, for the steps of a search: a matrix has a quarter of its bytes, and processors
with instructions for such products (VNNI, AMX) take several of them in the time of one in float32.

Each row of a matrix has a scale, its largest number over 127, and is rounded to steps of it once (Wu et al. 2016,
section 6); each row that is multiplied by the matrix likewise, at every product. Sums are exact: processors without
those instructions add pairs of products in 16 bits, so that there a matrix has 63 steps.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int8
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

MOST = 127
ZERO = 128
"""What stands for zero in rows that are multiplied by a matrix: VNNI's instructions take numbers without a sign by
numbers with one, and oneDNN has but a plain loop for two with a sign, which is a thousand times as slow."""
_CHOSEN: ContextVar[bool] = ContextVar("int8", default=False)


class _Rounded(NamedTuple):
    versions: list[int]
    """Of the matrices that were rounded."""
    multiply: Callable[[Tensor], Tensor]
    """What gives the products of rows [N, I] uint8, `ZERO` above their numbers, with the rounded matrix [I, O], times
    the scales of its columns."""


_MATRICES: dict[Tensor, _Rounded] = WeakTensorKeyDictionary()  # type: ignore[assignment]
"""By the first of those that were rounded together, for as long as it is used elsewhere."""


@contextlib.contextmanager
def int8_steps() -> Iterator[None]:
    """Steps of search inside take their products with matrices in int8, on CPUs, where no gradient is needed."""
    token = _CHOSEN.set(True)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def in_int8(rows: Tensor) -> bool:
    """Whether products of these rows are to be in int8."""
    return _CHOSEN.get() and rows.device.type == "cpu" and not torch.is_grad_enabled()


def rounded(rows: Float[Tensor, "N I"], most: int = MOST) -> tuple[Int8[Tensor, "N I"], Float[Tensor, "N 1"]]:
    """Whole numbers from -most to most for each row, and what they are to be multiplied by."""
    scale = _scale(rows, most)
    return (rows / scale).round_().to(torch.int8), scale


def _scale(rows: Float[Tensor, "N I"], most: int) -> Float[Tensor, "N 1"]:
    # A row of zeros stays one.
    return rows.abs().amax(1, keepdim=True).div_(most).clamp_(min=1e-30)


@cache
def steps_of_matrices() -> int:
    """The largest whole number of a matrix with which this processor's sums are exact."""
    matrix = torch.full((8, 64), MOST, dtype=torch.int8)
    rows = torch.full((8, 64), ZERO + MOST, dtype=torch.uint8)
    return MOST if bool((_multiplier(matrix, torch.ones(8))(rows) == 64 * MOST**2).all()) else MOST // 2


def _multiplier(steps: Int8[Tensor, "O I"], scale: Float[Tensor, " O"]) -> Callable[[Tensor], Tensor]:
    """See `_Rounded.multiply`."""
    try:
        # In the order in which the processor reads it, where `_int_mm` would bring it there anew at every product.
        packed, zeros = torch.ops.onednn.qlinear_prepack(steps, None), torch.zeros(len(steps), dtype=torch.int64)
    except (AttributeError, RuntimeError):  # not of this build, or not on this processor
        return lambda rows: torch._int_mm((rows ^ ZERO).view(torch.int8), steps.T) * scale
    multiply = torch.ops.onednn.qlinear_pointwise
    return lambda rows: multiply(rows, 1.0, ZERO, packed, scale, zeros, None, 1.0, 0, torch.float32, "none", [], "")


def int8_linear(
    rows: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"] | Sequence[Tensor], bias: Float[Tensor, " O"] | None
) -> Float[Tensor, "*N O"]:
    """`torch.nn.functional.linear`, rounded. weight: parameters [O, .] that stand side by side; they are rounded again
    when one has changed."""
    parts = [weight] if isinstance(weight, Tensor) else weight
    matrix, versions = _MATRICES.get(parts[0]), [part._version for part in parts]
    if matrix is None or matrix.versions != versions:
        numbers, of_rows = rounded(torch.cat([part.detach() for part in parts], 1), steps_of_matrices())
        matrix = _MATRICES[parts[0]] = _Rounded(versions, _multiplier(numbers, of_rows[:, 0].contiguous()))
    flat = rows if rows.dim() == 2 else rows.flatten(0, -2)
    scale = _scale(flat, MOST)
    products = matrix.multiply((flat / scale).add_(ZERO + 0.5).to(torch.uint8))  # rounded, since fractions are cut off
    products = products.mul_(scale) if bias is None else torch.addcmul(bias, products, scale, out=products)
    return products if rows.dim() == 2 else products.view(*rows.shape[:-1], -1)


def int8_cell(
    vectors: Float[Tensor, "B I"], state: Sequence[Float[Tensor, "B H"]], weights: Sequence[Tensor]
) -> tuple[Float[Tensor, "B H"], ...]:
    """The next state of an LSTM (hidden and cell) or, where there is no cell, of a GRU, as torch computes them.

    weights: of the input, of the hidden state, and their two biases.
    """
    w_input, w_hidden, b_input, b_hidden = weights
    hidden = state[0]
    if len(state) == 2:
        gates = int8_linear(torch.cat((vectors, hidden), 1), (w_input, w_hidden), b_input + b_hidden)
        enter, keep, _, show = gates.sigmoid().chunk(4, 1)  # one call for all costs less than three
        cell = keep * state[1] + enter * gates.chunk(4, 1)[2].tanh()
        return show * cell.tanh(), cell
    parts = int8_linear(vectors, w_input, b_input), int8_linear(hidden, w_hidden, b_hidden)
    (reset, keep, what), (reset_h, keep_h, what_h) = (part.chunk(3, 1) for part in parts)
    kept, candidate = (keep + keep_h).sigmoid(), (what + (reset + reset_h).sigmoid() * what_h).tanh()
    return (kept * hidden + (1 - kept) * candidate,)
