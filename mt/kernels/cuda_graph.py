"""CUDA graphs: the computations of a step, recorded once and started in one call.

A step of a recurrent model is some forty small computations, and to start them one by one takes longer than they do.
"""

import contextlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def recorded(body: Callable[[], Result], device: torch.device) -> Callable[[], Result]:
    """Returns a function that repeats `body` on the GPU, from the same tensors into the same tensors, with their values
    at that time. Nothing is computed yet.

    body: must have run before, so that everything is loaded and compiled. A body that copies from or to the host, or
    waits for the GPU, cannot be recorded, and is returned unchanged with a warning.
    """
    with torch.cuda.device(device):
        # The stream for recording first waits for what the caller has started.
        stream, pool, _ = _recorder(device)
        graph = torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        try:
            result = _record(graph, body, stream, pool)
        except RuntimeError as error:  # Also of calls that CUDA refuses while it records.
            warnings.warn(f"steps cannot be recorded as a CUDA graph, and are slower: {error}", stacklevel=2)
            return body

    def replay() -> Result:
        with torch.cuda.device(device):
            graph.replay()
        return result

    return replay


def _record(graph: Any, body: Callable[[], Result], stream: torch.cuda.Stream | None, pool: Any) -> Result:
    """Records `body` into a CUDAGraph. Raises its errors, and RuntimeError where it cannot be recorded."""
    # Not by `torch.cuda.graph`, which collects Python's garbage and empties the cache each time, in 50 ms and more.
    with torch.cuda.stream(stream):
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            result = body()
        except BaseException:  # A signal's, too, which no error of CUDA's may hide.
            with contextlib.suppress(RuntimeError):
                graph.capture_end()
            raise
        graph.capture_end()
        return result


@cache
def _recorder(device: torch.device) -> tuple[torch.cuda.Stream, Any, torch.cuda.CUDAGraph]:
    """Returns the stream on which graphs are recorded, the memory pool that they share, and a graph that keeps it. A
    new graph takes over the memory of one that is no longer used."""
    stream = torch.cuda.Stream(device)
    pool = torch.cuda.graph_pool_handle()
    keeper = torch.cuda.CUDAGraph()
    _record(keeper, lambda: torch.zeros((), device=device), stream, pool)
    return stream, pool, keeper
