"""Loads modules fast, which is most of the time that one short command takes, and lets Ctrl-C end it meanwhile."""

import contextlib
import gc
import signal
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Loads the modules that are imported inside: Ctrl-C ends the process at once, and no garbage is collected."""
    with _leaving_at_interrupt(), _without_collection():
        yield


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Collects no garbage inside, as what modules make stays: it saves a tenth of the time that torch takes.

    Where torch is loaded already, nothing is saved, and nothing done.
    """
    if "torch" in sys.modules:
        yield
        return
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor is it collected later
        if was_on:
            gc.enable()


@contextlib.contextmanager
def _leaving_at_interrupt() -> Iterator[None]:
    """Lets Ctrl-C inside end the process at once, as is right for a command that loads modules: where a module is in
    the midst of its C++, an exception would end the process with a trace all the same."""
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
