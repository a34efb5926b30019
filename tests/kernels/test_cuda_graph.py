"""What a recording does where something is raised in it. (What it gives: `tests/search/test_graph_stepper.py`.)"""

from typing import Any

import pytest

from mt.kernels.cuda_graph import _record


class Graph:
    """Stands in place of CUDA's, which refuses to end a recording in which something failed."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.failed = False

    def capture_begin(self, **_: Any) -> None:
        self.begun += 1

    def capture_end(self) -> None:
        self.ended += 1
        if self.failed:
            raise RuntimeError("operation failed due to a previous error during capture")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, ValueError])
def test_what_was_raised_is_what_is_raised(error: type[BaseException]) -> None:
    graph = Graph()

    def body() -> None:
        graph.failed = True
        raise error("of the body")

    with pytest.raises(error, match="of the body"):
        _record(graph, body, None, None)
    assert graph.begun == graph.ended == 1


def test_a_result() -> None:
    graph = Graph()
    assert _record(graph, lambda: 5, None, None) == 5
    assert graph.begun == graph.ended == 1
