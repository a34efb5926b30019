"""Standard input as it comes: from a pipe, a file, or a keyboard, where a blank sends the word.

`standard_input` yields bytes as they arrive. At a keyboard `_typed` reads single keys, and shows them.
"""

import codecs
import contextlib
import os
import re
import select
import signal
import sys
import termios
import tty
import unicodedata
from collections.abc import Iterator
from types import FrameType

from mt.data.tokenizer import Unit
from mt.errors import Interrupted, UserError

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")  # of arrows and the like
_CTRL_D = "\x04"
_DELETE = "\x7f\b"
_DIM = "\x1b[2m"
_PLAIN = "\x1b[0m"


@contextlib.contextmanager
def standard_input(unit: Unit | None) -> Iterator[Iterator[bytes]]:
    """Yields the bytes of standard input, each time those that have come. Restores a keyboard's terminal at the end.

    unit: what a keyboard sends at once; None where nothing can be typed. Raises UserError where there is no standard
    input, or it cannot be read, and BrokenPipeError when nobody reads standard output any more.
    """
    if sys.stdin is None:
        remedy = "send it samples with |" if unit is None else "send it text with | or < FILE, or leave it open to type"
        raise UserError(f"standard input is closed: {remedy}")
    # Of a pipe or a file, what has come.
    number = sys.stdin.fileno()
    if not os.isatty(number):
        yield _chunks(number)
        return
    if unit is None:
        raise UserError("standard input is a keyboard: send it samples with |, or give --audio a FILE")
    # Of a keyboard, each key at once, while the terminal does not edit lines; afterwards it does again.
    settings = termios.tcgetattr(number)
    with _restoring_signals():
        try:
            tty.setcbreak(number, termios.TCSADRAIN)
            _echo("A blank sends a word, Enter ends the sentence, Ctrl-D ends all.\n")
            yield _typed(_chunks(number), unit)
        finally:
            termios.tcsetattr(number, termios.TCSADRAIN, settings)
            _echo(_PLAIN)


@contextlib.contextmanager
def _restoring_signals() -> Iterator[None]:
    """Lets signals that would end the process at once raise Interrupted, so that the terminal is restored."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _chunks(number: int) -> Iterator[bytes]:
    """Yields what can be read, whenever there is something."""
    ready = select.poll()
    ready.register(number, select.POLLIN)
    ready.register(sys.stdout, 0)  # POLLERR, that the other end is gone, is always reported
    while True:
        if any(end != number for end, _ in ready.poll()):
            raise BrokenPipeError
        try:
            chunk = os.read(number, 1 << 16)
        except OSError as error:
            raise UserError(f"standard input cannot be read ({error.strerror}): send it text") from error
        if not chunk:
            return
        yield chunk


def _typed(chunks: Iterator[bytes], unit: Unit) -> Iterator[bytes]:
    """Yields what is typed: words when a blank sends them, until then they can be corrected; characters at once.
    Ctrl-D ends it.

    Echoes it on standard error, dimmed, so that it stands beside the translation, and not in it.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    word = ""
    blank = ""  # what stands before the next word
    for chunk in chunks:
        for key in _ESCAPES.sub("", decoder.decode(chunk)):
            if key == _CTRL_D:
                yield word.encode()
                return
            if key in _DELETE:
                word, last = word[:-1], word[-1:]
                columns = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in last)
                _echo("\b \b" * columns)
            elif key == "\n" or (key.isspace() and (word or unit == "char")):
                _echo("\n" if key == "\n" and not sys.stdout.isatty() else _PLAIN)
                blank = " " if key != "\n" else ""
                yield (word + key).encode()
                word = ""
            elif key.isprintable() and not key.isspace():
                _echo(key if word else f"{blank}{_DIM}{key}")
                word, blank = word + key, ""
                if unit == "char":
                    _echo(_PLAIN)
                    yield word.encode()
                    word = ""


def _echo(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(text)
        sys.stderr.flush()
