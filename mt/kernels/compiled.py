"""Loops over single numbers, written in Python and compiled by numba for CPUs.

Every loop has a form in plain PyTorch beside it, for other devices and for machines without numba. The functions that
return loops keep them (`functools.cache`). The first call of a process loads numba, and compiles all loops that are not
in its cache on disk.

A loop sees tensors as arrays of numpy, or by their addresses (`Tensor.data_ptr`). An array costs a microsecond at each
call, as much as a step of attention may take; an address costs a tenth of one. First stands the compilation, then what
several loops share.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, no_type_check

import numpy as np
from torch import Tensor

from mt.errors import first_line

Array = Any
"""A contiguous array of numpy, sharing the memory of a tensor."""
Loop = Callable[..., Any]
Pointer = Any
"""An array of numbers that begins at an address."""
ANY_ORDER = {"reassoc", "contract", "nsz"}
"""Lets sums be taken in any order, so that they are vectorised. NaN and infinity keep their meaning."""


def compiled(
    loops: Sequence[tuple[str, Loop]], *, helpers: Sequence[Loop] = (), fastmath: bool | set[str] = False
) -> tuple[Loop, ...] | None:
    """Returns the loops, compiled; None where numba is missing or, with a warning, cannot compile here. Errors of wrong
    loops are raised.

    loops: each with its signature in numba's words, such as `void(float32[:, ::1], int64)`. helpers: functions that
    loops call. fastmath: LLVM's flags for arithmetic outside the standard of floating-point numbers.
    """
    # With numba's cache on disk first, and without where the cache fails.
    if (numba := _numba()) is None:
        return None
    for caching in (True, False):  # The cache may be damaged, its disk full, or no folder writable.
        options = {"cache": caching, "nogil": True, "error_model": "numpy", "fastmath": fastmath}
        try:
            for helper in helpers:
                _register(numba, helper)
            return tuple(numba.njit(signature, **options)(loop) for signature, loop in loops)
        except Exception as error:
            if caching:  # a damaged cache raises errors of any kind; the second attempt shows whether it was the cache
                continue
            if not isinstance(error, (numba.core.errors.LoweringError, numba.core.errors.UnsupportedError, OSError)):
                raise  # a loop that is wrong, which no processor compiles
            _warn_once(first_line(error))
    return None


def compiled_loop(
    signature: str, loop: Loop, *, helpers: Sequence[Loop] = (), fastmath: bool | set[str] = False
) -> Loop | None:
    """Returns one loop; see `compiled`."""
    loops = compiled([(signature, loop)], helpers=helpers, fastmath=fastmath)
    return None if loops is None else loops[0]


def float32_at(address: int) -> Pointer:
    """Returns the numbers from an address on, within a loop."""
    raise NotImplementedError


def int32_at(address: int) -> Pointer:
    """Returns the numbers from an address on, within a loop."""
    raise NotImplementedError


def int64_at(address: int) -> Pointer:
    """Returns the numbers from an address on, within a loop."""
    raise NotImplementedError


def uint8_at(address: int) -> Pointer:
    """Returns the bytes from an address on, within a loop: of a mask 0 or 1."""
    raise NotImplementedError


def _numba() -> ModuleType | None:
    try:
        import numba  # Not above: it takes as long as importing torch.
        import numba.extending

        _register_pointers(numba)
    except ModuleNotFoundError as error:
        if error.name != "numba":
            _warn_once(first_line(error))
        return None  # it is optional
    except (ImportError, OSError, AttributeError, SystemError) as error:  # made for another numpy, LLVM or Python
        _warn_once(first_line(error))
        return None
    return numba


@cache
def _warn_once(reason: str) -> None:
    """Warns once that loops are not compiled."""
    warnings.warn(f"loops are computed by PyTorch, and slower: numba cannot compile here ({reason})", stacklevel=3)


@cache
def _register(numba: ModuleType, helper: Loop) -> None:
    """Lets loops call a function. The cache on disk does not notice changes of a helper in another file."""
    numba.extending.register_jitable(error_model="numpy")(helper)


@cache
def _register_pointers(numba: ModuleType) -> None:
    for function in (float32_at, int32_at, int64_at, uint8_at):
        number = getattr(numba.types, function.__name__.removesuffix("_at"))
        numba.extending.overload(function)(_cast(numba, numba.types.CPointer(number)))


def _cast(numba: ModuleType, pointer: Any) -> Loop:
    """Returns the definition by which numba compiles a function from an address to a pointer of this type."""

    @numba.extending.intrinsic
    @no_type_check
    # numba calls this to learn the type of the result, and how LLVM makes it: the integer, read as an address.
    def cast(typing_context, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(pointer))

        return pointer(numba.types.int64), generate

    @no_type_check
    def typed(address):
        @no_type_check
        def from_address(address):
            return cast(address)

        return from_address

    return typed


# What loops share.


def arrays(*tensors: Tensor) -> list[Array]:
    """Returns tensors of a CPU as loops take them."""
    return [tensor.detach().numpy() for tensor in tensors]


# The rational function of Eigen's vectorised tanh, with a relative error below 4e-7 for any x: x P(x^2) / Q(x^2) for
# |x| <= LIMIT, and constant beyond. In float32, as a literal would make numba compute in float64.
LIMIT = np.float32(7.90531110763549805)
P = (
    np.float32(4.89352455891786e-03),
    np.float32(6.37261928875436e-04),
    np.float32(1.48572235717979e-05),
    np.float32(5.12229709037114e-08),
    np.float32(-8.60467152213735e-11),
    np.float32(2.00018790482477e-13),
    np.float32(-2.76076847742355e-16),
)
Q = (
    np.float32(4.89352518554385e-03),
    np.float32(2.26843463243900e-03),
    np.float32(1.18534705686654e-04),
    np.float32(1.19825839466702e-06),
)


@no_type_check
def rational_tanh(x):
    if x > LIMIT:
        x = LIMIT
    elif x < -LIMIT:
        x = -LIMIT
    y = x * x
    numerator = P[0] + y * (P[1] + y * (P[2] + y * (P[3] + y * (P[4] + y * (P[5] + y * P[6])))))
    return x * numerator / (Q[0] + y * (Q[1] + y * (Q[2] + y * Q[3])))
