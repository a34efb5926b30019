"""CUDA graphs on a CPU: while one is recorded, operations are written down with the tensors they read and write; a
replay does them again and puts the results where they were. What waits for a device is refused."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WAITING = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero"}
COPYING = {"tolist", "numpy", "cpu", "tensor", "as_tensor"}
"""Between the device and the host, which is no operation where they are one."""


def storages(tree: Any) -> set[int]:
    return {leaf.untyped_storage().data_ptr() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)}


class Tape(TorchDispatchMode):
    """The operations inside, done and written down; their results are spoilt at the end, since a recording has none."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Callable[..., Any], tuple, dict, list[Tensor]]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket.__name__ in WAITING:
            raise RuntimeError("operation not permitted when stream is capturing")
        made = function(*args, **(kwargs or {}))
        given = storages((args, kwargs))
        # Where a result is a view of what was given, or that itself, there is nothing to be put anywhere.
        new = [leaf if isinstance(leaf, Tensor) and not storages(leaf) & given else None for leaf in tree_leaves(made)]
        self.operations.append((function, args, kwargs or {}, new))
        return made

    def spoil(self) -> None:
        for *_, new in self.operations:
            for tensor in new:
                if tensor is not None and tensor.is_floating_point():
                    tensor.fill_(torch.nan)

    def replay(self) -> None:
        for function, args, kwargs, new in self.operations:
            for place, tensor in zip(new, tree_leaves(function(*args, **kwargs)), strict=True):
                if place is not None:
                    place.copy_(tensor)


class NoCopies(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in COPYING:
            raise RuntimeError("operation not permitted when stream is capturing")
        return function(*args, **(kwargs or {}))


class Device:
    """A GPU's part in it; counts recordings and replays."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0
        self.shapes: list[torch.Size] = []
        self.on_side = self.waited = False

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        device = self

        class Stream:
            def wait_stream(self, other: "Stream") -> None:
                device.waited = True

        class Graph:
            def __init__(self) -> None:
                self.tape = Tape()

            def replay(self) -> None:
                device.replayed += 1
                self.tape.replay()

        @contextlib.contextmanager
        def side(stream: Stream) -> Iterator[None]:
            device.on_side = True
            yield

        @contextlib.contextmanager
        def recording(graph: Graph, stream: Stream) -> Iterator[None]:
            assert device.on_side and device.waited
            device.recorded += 1
            with NoCopies(), graph.tape:
                yield
            graph.tape.spoil()

        now = Stream()
        monkeypatch.setattr("mt.decoding.DEVICES", {"cpu"})
        for name, fake in {
            "Stream": Stream,
            "CUDAGraph": Graph,
            "stream": side,
            "graph": recording,
            "current_stream": lambda: now,
            "device": lambda _: contextlib.nullcontext(),
        }.items():
            monkeypatch.setattr(torch.cuda, name, fake)
