"""Loading modules, which is most of the time that one short command takes."""

import contextlib
import gc
import signal
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Modules that a command imports inside are loaded without looking for garbage in between: what they make, stays.

    It saves a tenth of the time that torch takes. Where torch is loaded already, nothing is saved, and nothing done.
    """
    if "torch" in sys.modules:
        yield
        return
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor is it looked at later
        if was_on:
            gc.enable()


@contextlib.contextmanager
def leaving_at_interrupt() -> Iterator[None]:
    """Ctrl-C inside ends the process at once, as is right for a command that loads modules: where one is in the midst
    of its C++, an exception would end it with a trace all the same."""
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
