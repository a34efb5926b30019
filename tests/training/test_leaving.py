"""What signals of a queue do to an entry point before a run has handlers, and after."""

import os
import signal

import pytest

from mt.errors import Interrupted
from mt.training.signals import QUEUE, Signals, leave_at_once

pytestmark = pytest.mark.usefixtures("foreground")


def test_until_a_run_has_handlers_a_signal_ends_the_process_with_the_status_of_a_queue() -> None:
    for number in QUEUE:
        child = os.fork()
        if not child:
            leave_at_once()
            os.close(2)
            os.kill(os.getpid(), number)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == os.EX_TEMPFAIL == 75


def test_after_a_run_that_was_interrupted_nothing_changes_the_status() -> None:
    leave_at_once()
    try:
        with pytest.raises(Interrupted), Signals() as signals:
            os.kill(os.getpid(), signal.SIGTERM)
            signals.check()
        assert [signal.getsignal(number) for number in QUEUE] == [signal.SIG_IGN] * 3
    finally:
        for number in QUEUE:
            signal.signal(number, signal.SIG_DFL)
