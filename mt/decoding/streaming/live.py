"""Translation of text on standard input, or of a sound, to standard output while it arrives.

`standard_input` yields bytes as they come, at a keyboard through `_typed`, which reads single keys and shows them.
`arrivals` cuts words out of them. `translate_live` has a session read them, and writes its words.
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
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import FrameType
from typing import Protocol

import numpy as np

from mt.common.terminal import output
from mt.data.fields import AudioField
from mt.data.glossary import Glossary
from mt.data.tokenizer import Unit
from mt.decoding.streaming.session import Event
from mt.decoding.translator import Translator
from mt.errors import Interrupted, UserError
from mt.search.config import SearchConfig
from mt.search.limits import CUT_REMEDY, cut_note
from mt.text_io import STANDARD_INPUT, without_mark

# The words of a text while its bytes arrive.

MAX_CHARACTERS = 10_000
"""The most characters of a word: a text without blanks would be one word, and stored until its end."""


def arrivals(chunks: Iterable[bytes], name: str, unit: Unit) -> Iterator[str | None]:
    """Yields each word as soon as white space or the end follows it, and None at the end of each line. Of unit `char`
    it yields each character at once, blanks included.

    chunks: UTF-8, cut anywhere. name: what to call the text. Raises UserError where it is not UTF-8, holds a NUL, or
    has no blank for too long; what came before is yielded first.
    """
    number = 1
    rest = ""
    blank = True  # whether nothing of the line has come
    for text in _decoded(chunks, name):
        if unit == "char":
            yield from text.removesuffix("\n")
        else:
            *words, rest = re.split(r"\s", rest + text)
            for word in words:
                _refuse_long(word, name, number)
                if word:
                    yield word
            _refuse_long(rest, name, number)
        blank = text.endswith("\n")
        if blank:
            number += 1
            yield None
    if rest:
        yield rest
    if not blank:
        yield None


def _refuse_long(word: str, name: str, number: int) -> None:
    """Raises UserError for a word that is too long, in the line of this number."""
    if len(word) > MAX_CHARACTERS:
        raise UserError(
            f"{name}, line {number} has more than {MAX_CHARACTERS} characters without a blank: put blanks between the "
            "words"
        )


def _decoded(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Yields the text of each part, with a newline at most at its end. It is empty where only a part of a character, or
    a byte-order mark, has come."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    number = 1
    column = 0
    for part in _lines(chunks):
        # A fault is told with its byte of the line, of which the decoder may hold the first ones of a character.
        begin = column - len(decoder.getstate()[0])
        try:
            text = decoder.decode(part, final=not part)
            fault = None
        except UnicodeDecodeError as error:
            text = error.object[: error.start].decode()
            fault = f"is not UTF-8 (byte {begin + error.start + 1} of the line): convert the text to UTF-8"
        text = without_mark(text)
        text, nul, _ = text.partition("\0")
        if nul:
            fault = "holds a NUL character: remove it, or convert the text to UTF-8"
        # What came before the fault is still translated.
        if part:
            yield text
        if fault:
            raise UserError(f"{name}, line {number} {fault}")
        number, column = (number + 1, 0) if part.endswith(b"\n") else (number, column + len(part))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields bytes that are cut after each newline, at last none."""
    for chunk in chunks:
        yield from re.findall(rb"[^\n]*\n|[^\n]+", chunk)
    yield b""


# Standard input as it comes: from a pipe, a file, or a keyboard, where a blank sends the word.

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


# Translation of what arrives on standard input, or of a sound, to standard output while it arrives.


class Writer(Protocol):
    """Writes what happens while sources arrive."""

    def add(self, events: Iterable[Event]) -> None: ...

    def end(self) -> None: ...


def translate_live(
    translator: Translator,
    search: SearchConfig,
    audio: str | None,
    written: Writer | None = None,
    glossary: Glossary | list[Glossary] | None = None,
    avoid: Sequence[str] | None = None,
) -> None:
    """Writes the translation of each source as far as it is certain, and how many hypotheses were cut to standard
    error.

    audio: the sound to read; `-`: raw samples from standard input; None: words from standard input. written: what
    writes, by default a line for each source. glossary: terms of all sources; a list, of each, is refused. avoid:
    phrases that no translation may hold. Raises UserError where the model, or what arrives, is not for this.
    """
    begin = partial(translator.stream, search, glossary=glossary, avoid=avoid)
    session = begin()  # refuses before anything is read
    written = Lines(translator.unit) if written is None else written
    cut = 0
    with arriving(translator, audio) as parts:
        for part in parts:
            count = len(session.events)
            if part is None:
                session.finish()
            else:
                session.read(part)
            written.add(session.events[count:])
            if part is None:
                written.end()
                cut += session.cut
                session = begin()
    if cut:
        print(f"note: {cut_note(cut, translator.search_for(search).limit, CUT_REMEDY)}", file=sys.stderr)


@contextlib.contextmanager
def arriving(translator: Translator, audio: str | None) -> Iterator[Iterable[str | np.ndarray | None]]:
    """Yields what arrives: parts of sources, and None at the end of each. Raises UserError where the run reads
    something else."""
    field = translator.field
    kind = translator.config.dataset.field.name
    # A sound is one source, from a file or as samples.
    if isinstance(field, AudioField):
        if audio is None:
            raise UserError(
                f"this run reads {kind}: name the sound by --audio FILE, or send raw samples and add --audio -"
            )
        if audio == "-":
            with standard_input(None) as chunks:
                yield chain(field.pcm(chunks, STANDARD_INPUT), [None])
        else:
            yield chain(field.pieces(audio), [None])
        return
    # Each line of a text is one.
    if audio is not None:
        raise UserError(
            f"--audio is of runs that read sound, and this one reads {kind}: leave it out, and send words to standard "
            "input"
        )
    with standard_input(translator.unit) as chunks:
        yield arrivals(chunks, STANDARD_INPUT, translator.unit)


class Lines:
    """Writes the words of translations to standard output, a line for each source."""

    def __init__(self, unit: Unit) -> None:
        self._blank = " " if unit == "word" else ""
        self._between = ""

    def add(self, events: Iterable[Event]) -> None:
        """Writes the words that are written among the events."""
        for kind, word in events:
            if kind == "write":
                sys.stdout.write(output(self._between + word))
                self._between = self._blank
        sys.stdout.flush()

    def end(self) -> None:
        """Ends the line of one source."""
        self._between = ""
        sys.stdout.write("\n")
        sys.stdout.flush()
