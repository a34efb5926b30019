"""The threads of compiled loops (`at_once`) and of ONNX Runtime, then the compiled programs that oneDNN keeps
(`keep_programs`)."""

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

# Compiled loops run in the threads of PyTorch (GNU OpenMP). These wait for their next work for some milliseconds
# without giving up their processors. Threads of our own would share these with them, and be no faster than one. So
# where PyTorch has another OpenMP, one thread makes all calls.

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Makes the calls, each in a thread, and returns when all have; they should release Python's lock.

    Raises the error of the first call that failed, after all have ended.
    """
    errors: list[BaseException] = []
    waiting = iter(calls)  # There may be fewer threads than calls: each takes the next that nobody has begun.

    def work(_: object = None) -> None:
        for call in waiting:
            try:
                call()
            except BaseException as error:  # a callback from C cannot raise it
                errors.append(error)

    if len(calls) < 2 or (parallel := openmp_region()) is None:
        work()
    else:
        callback = _CALLBACK(work)
        parallel(callback, None, len(calls), 0)
    if errors:
        raise errors[0]


def shares(rows: int, threads: int) -> list[slice]:
    """Cuts rows into slices of one size, the last one perhaps smaller: at most one for each of the threads."""
    size = -(-rows // max(threads, 1)) or 1
    return [slice(begin, begin + size) for begin in range(0, rows, size)]


def step_threads() -> int:
    """Returns the threads that share a step of a single sentence in ONNX Runtime: OMP_NUM_THREADS, by default two."""
    value = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]  # OpenMP takes one for each level of nesting
    return int(value) if value.isdecimal() else min(2, os.cpu_count() or 1)


@cache
def openmp_region() -> Callable[..., Any] | None:
    """Returns GOMP_parallel(function, data, threads, flags) of the OpenMP that this process has loaded, as compilers
    call it; None where that is another one than GNU's, or none."""
    try:
        loaded = ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD)  # never a second one beside PyTorch's
        region = loaded.GOMP_parallel
    except (OSError, AttributeError):  # AttributeError also where the system has no RTLD_NOLOAD
        return None
    region.argtypes = [_CALLBACK, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    region.restype = None
    return region


# oneDNN computes layers, and products in bfloat16 and int8, on a CPU. It keeps the compiled programs of all shapes so
# far, and drops the one that was not used for the longest time.

PROGRAMS = 16
"""Batches of text have ever new shapes, so that few programs are used again: 40 made no update faster, and took 60 MB
more."""
PROGRAMS_OF_CONVOLUTIONS = 1024
"""oneDNN's own bound."""


def keep_programs(*, convolutions: bool = False) -> None:
    """Bounds the number of programs that oneDNN keeps in training. A choice in the environment stays. oneDNN
    reads the bound once in a process, at its first product. So the first job of a process chooses for the later ones.

    convolutions: whether most of the time goes into convolutions over pictures, whose programs are small, and take a
    fifth of the time to compile. Programs of an LSTM and of products in bfloat16 take one to three megabytes, and
    batches of text have ever new shapes.
    """
    os.environ.setdefault(
        "ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PROGRAMS_OF_CONVOLUTIONS if convolutions else PROGRAMS)
    )
