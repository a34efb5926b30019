import signal
import threading

import pytest

from mt.cli.startup import loading


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
