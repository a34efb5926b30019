import gc
import signal
import sys
import threading

import pytest

from mt.cli.startup import loading


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_looked_for_afterwards_as_before(on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        with pytest.raises(ImportError), loading():
            assert not gc.isenabled()
            import mt.there_is_no_such_module  # type: ignore[import-not-found]  # noqa: F401
        assert gc.isenabled() == on
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.usefixtures("foreground")
def test_an_interrupt_ends_a_command_that_loads_and_is_an_exception_afterwards() -> None:
    with pytest.raises(ImportError), loading():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        raise ImportError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("foreground")
def test_other_handlers_and_threads_are_left_alone() -> None:
    def mine(*_: object) -> None: ...

    def looked() -> None:
        with loading():
            result.append(signal.getsignal(signal.SIGINT))

    result: list[object] = []
    thread = threading.Thread(target=looked)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, mine)
    try:
        looked()
    finally:
        signal.signal(signal.SIGINT, before)
    assert result == [signal.default_int_handler, mine]


def test_where_torch_is_loaded_nothing_is_done() -> None:
    """Or a process that loads one model after another would keep all garbage that there is between them."""
    frozen = gc.get_freeze_count()
    with loading():
        assert gc.isenabled()
    assert gc.get_freeze_count() <= frozen  # what was frozen before may go meanwhile
