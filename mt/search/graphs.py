"""Steps of search as CUDA graphs: what a step launches is recorded once for each shape, and then launched as a whole.

A step of a few rows is some tens of kernels, each shorter than its launch. Rows are padded to a power of two, so that
few shapes come while sentences end. What is given is copied to where the recorded kernels read, the memory only when it
is another, and what they write is copied for the rows there are.
"""

import contextlib
import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mt.search.hypothesis import Decoder, Prediction, select

DEVICES = {"cuda"}
"""Kinds of devices that have graphs."""
MOST = 32
"""Graphs that are kept, each with a copy of its memory; the one that was not used for longest makes room."""
WARM_UPS = 2
"""Steps before a recording, in which libraries allocate what they need."""


@dataclass
class _Graph:
    given: tuple[Tensor, Any, Any]
    """Tokens, memory and state: what the recorded kernels read."""
    outcome: Prediction
    """What they write."""
    replay: Callable[[], None]
    copied: int
    """The memory that `given` holds, by its number among those that came."""


class GraphedSteps:
    """A decoder's steps, the same but for rounding. Those that cannot be recorded are taken as they are, all of them
    then: a step that waits for the device, as a hard one does to know how far it has moved."""

    def __init__(self, decoder: Decoder) -> None:
        """decoder: one whose predictions are named tuples, and whose parameters stay where they are."""
        self.init_state = decoder.init_state
        self._step = decoder.step
        self._graphs: OrderedDict[Any, _Graph] = OrderedDict()
        self._plain = False
        self._memory: Any = None
        self._number = 0

    def step(self, tokens: Tensor, memory: Any, state: Any) -> Prediction:
        """As `Decoder.step`."""
        if self._plain:
            return self._step(tokens, memory, state)
        if memory is not self._memory:
            self._memory, self._number = memory, self._number + 1
        rows = torch.arange(len(tokens), device=tokens.device)
        size = 1 << (len(tokens) - 1).bit_length()
        key = size, _shapes((tokens, memory, state))
        graph = self._graphs.get(key)
        if graph is None:
            try:
                graph = self._graphs[key] = self._recorded(size, tokens, memory, state)
            except RuntimeError as error:  # of which torch has no kind of its own for this
                self._plain, self._memory = True, None
                self._graphs.clear()
                _tell(" ".join(str(error).split())[:200])
                return self._step(tokens, memory, state)
            if len(self._graphs) > MOST:
                self._graphs.popitem(last=False)
        else:
            self._graphs.move_to_end(key)
            self._fill(graph, tokens, memory, state)
        with torch.cuda.device(tokens.device):
            graph.replay()
        return select(graph.outcome, rows)

    def _recorded(self, size: int, tokens: Tensor, memory: Any, state: Any) -> _Graph:
        # Rows that are not there are like the last one.
        padded = torch.arange(size, device=tokens.device).clamp(max=len(tokens) - 1)
        given = select((tokens, memory, state), padded)
        with torch.cuda.device(tokens.device), _no_casts_kept(tokens.device.type):
            side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(WARM_UPS):
                    self._step(*given)
            torch.cuda.current_stream().wait_stream(side)
            with torch.cuda.graph(graph, stream=side):
                outcome = self._step(*given)
        return _Graph(given, outcome, graph.replay, self._number)

    def _fill(self, graph: _Graph, tokens: Tensor, memory: Any, state: Any) -> None:
        """Copies what is given; further rows keep what they had."""
        places, new = graph.given, (tokens, memory, state)
        if graph.copied == self._number:
            places, new = (places[0], None, places[2]), (tokens, None, state)
        for place, tensor in zip(_tensors(places), _tensors(new), strict=True):
            place[: len(tensor)].copy_(tensor)
        graph.copied = self._number


def _tensors(tree: Any) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
    elif tree is not None:
        for part in tree:
            yield from _tensors(part)


def _shapes(tree: Any) -> Any:
    """What two steps share for which one graph will do, but for the number of rows."""
    if isinstance(tree, Tensor):
        return tree.shape[1:], tree.dtype
    return None if tree is None else tuple(map(_shapes, tree))


def _no_casts_kept(device: str) -> contextlib.AbstractContextManager:
    """Autocast as it is, but that weights are cast within the graph: it frees those that it has kept."""
    enabled, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    return torch.autocast(device, dtype, enabled=enabled, cache_enabled=False)


@functools.cache
def _tell(reason: str) -> None:
    print(
        f"note: search.cuda_graphs=true has no effect, since the steps of this search cannot be recorded ({reason})",
        file=sys.stderr,
    )
