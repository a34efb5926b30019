"""What a recording does where something is raised in it. (What it gives: `tests/search/test_graph_stepper.py`.)"""

from unittest.mock import Mock

import pytest

from mt.kernels.cuda_graph import _record


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, ValueError])
def test_what_was_raised_is_what_is_raised(error: type[BaseException]) -> None:
    """CUDA refuses to end a recording in which something failed."""
    graph = Mock()
    graph.capture_end.side_effect = RuntimeError("operation failed due to a previous error during capture")
    with pytest.raises(error, match="of the body"):
        _record(graph, Mock(side_effect=error("of the body")), None, None)
    assert graph.capture_begin.call_count == graph.capture_end.call_count == 1


def test_a_result() -> None:
    graph = Mock()
    assert _record(graph, lambda: 5, None, None) == 5
    assert graph.capture_begin.call_count == graph.capture_end.call_count == 1
