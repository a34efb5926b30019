"""Translation of text on standard input, or of a sound, to standard output while it arrives.

`standard_input` yields bytes as they come, and `arrivals` cuts them into words. `translate_live` lets a session read
them, and writes the words of its translation.
"""

import codecs
import os
import re
import select
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from mt.common.terminal import note, output
from mt.data.fields import AudioField
from mt.data.glossary import Glossary
from mt.data.tokenizer import Unit
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import SearchConfig
from mt.search.options import CUT_REMEDY, cut_note
from mt.text_io import STANDARD_INPUT, without_mark

# The words of a text while its bytes arrive.

MAX_CHARACTERS = 10_000
"""The most characters of a word. A text without blanks would be one word, which is stored until its end."""


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
            # The last part has no blank behind it, so that more of its word may come.
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
    # A last line without a newline ends with the input.
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
    """Yields the text of each part; a newline may be at its end alone. The text is empty where only a part of a
    character, or a byte-order mark, has come."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    number = 1
    column = 0
    for part in _lines(chunks):
        try:
            text = decoder.decode(part, final=not part)
            fault = None
        except UnicodeDecodeError as error:
            text = error.object[: error.start].decode()
            fault = f"is not UTF-8 (byte {column + error.start + 1} of the line): convert the text to UTF-8"
        # Without the first bytes of a character that the decoder holds until the next part comes.
        column += len(text.encode())
        text, nul, _ = without_mark(text).partition("\0")
        if nul:
            fault = "holds a NUL character: remove it, or convert the text to UTF-8"
        # What came before the fault is still translated.
        if part:
            yield text
        if fault:
            raise UserError(f"{name}, line {number} {fault}")
        if part.endswith(b"\n"):
            number += 1
            column = 0


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields bytes, cut after each newline, and at last no bytes."""
    for chunk in chunks:
        yield from re.findall(rb"[^\n]*\n|[^\n]+", chunk)
    yield b""


# Standard input as it comes.


def standard_input(remedy: str) -> Iterator[bytes]:
    """Yields the bytes of standard input as soon as there are some.

    remedy: what to do where there is no standard input. Raises UserError then, and where it cannot be read, and
    BrokenPipeError when nobody reads standard output any more.
    """
    if sys.stdin is None:
        raise UserError(f"standard input is closed: {remedy}")
    number = sys.stdin.fileno()
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


# Translation of standard input, or of a sound, to standard output while it arrives.


def translate_live(
    translator: Translator,
    search: SearchConfig,
    audio: str | None,
    glossary: Glossary | list[Glossary] | None = None,
    avoid: Sequence[str] | None = None,
) -> None:
    """Writes the translation of each source as far as it is certain, a line for each source, and how many hypotheses
    were cut to standard error.

    audio: the sound to read; `-`: raw samples from standard input; None: words from standard input. glossary: terms of
    all sources; a list, of each, is refused. avoid: phrases that no translation may hold. Raises UserError where the
    model, or what arrives, is not for this.
    """
    begin = partial(translator.stream, search, glossary=glossary, avoid=avoid)
    session = begin()  # refuses before anything is read
    cut = 0
    between = ""  # what stands before the next word
    for part in arriving(translator, audio):
        for word in session.finish() if part is None else session.read(part):
            sys.stdout.write(output(between + word))
            between = " " if translator.unit == "word" else ""
        if part is None:
            sys.stdout.write("\n")
            between = ""
            cut += session.cut
            session = begin()
        sys.stdout.flush()
    if cut:
        note(cut_note(cut, translator.search_for(search).limit, CUT_REMEDY))


def arriving(translator: Translator, audio: str | None) -> Iterable[str | np.ndarray | None]:
    """Returns the parts of sources as they arrive, with None at the end of each source. Raises UserError where the run
    reads something else."""
    field = translator.field
    kind = translator.config.dataset.field.name
    # A sound is one source, from a file or as samples.
    if isinstance(field, AudioField):
        if audio is None:
            raise UserError(
                f"this run reads {kind}: name the sound by --audio FILE, or send raw samples and add --audio -"
            )
        if audio != "-":
            return chain(field.pieces(audio), [None])
        remedy = "send it samples with |, or give --audio a FILE"
        if sys.stdin is not None and sys.stdin.isatty():
            raise UserError(f"standard input is a keyboard: {remedy}")
        return chain(field.pcm(standard_input(remedy), STANDARD_INPUT), [None])
    # Each line of a text is one.
    if audio is not None:
        raise UserError(
            f"--audio is of runs that read sound, and this one reads {kind}: leave it out, and send words to standard "
            "input"
        )
    return arrivals(standard_input("send it text with | or < FILE"), STANDARD_INPUT, translator.unit)
