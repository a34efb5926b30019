"""The words of a text while its bytes arrive."""

import codecs
import re
from collections.abc import Iterable, Iterator

from mt.data.tokenizer import Unit
from mt.errors import UserError
from mt.text_io import without_mark

MAX_CHARACTERS = 10_000
"""The most characters of a word: a text without blanks would be one word, and stored until its end."""


def arrivals(chunks: Iterable[bytes], name: str, unit: Unit) -> Iterator[str | None]:
    """Yields each word as soon as white space or the end follows it, and None at the end of each line; of unit `char`
    each character at once, blanks included.

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
            for word in (*words, rest):
                if len(word) > MAX_CHARACTERS:
                    raise UserError(
                        f"{name}, line {number} has more than {MAX_CHARACTERS} characters without a blank: put blanks "
                        "between the words"
                    )
                if word and word is not rest:
                    yield word
        blank = text.endswith("\n")
        if blank:
            number += 1
            yield None
    if rest:
        yield rest
    if not blank:
        yield None


def _decoded(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Yields texts that are not empty, each with a newline at most at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    number = 1
    column = 0
    for part in _lines(chunks):
        begin = column - len(decoder.getstate()[0])
        try:
            text = decoder.decode(part, final=not part)
            fault = None
        except UnicodeDecodeError as error:
            text = error.object[: error.start].decode()
            fault = f"is not UTF-8 (byte {begin + error.start + 1} of the line): convert the text to UTF-8"
        if begin == 0:
            text = without_mark(text)
        text, nul, _ = text.partition("\0")
        if nul:
            fault = "holds a NUL character: remove it, or convert the text to UTF-8"
        if text:
            yield text
        if fault:
            raise UserError(f"{name}, line {number} {fault}")
        number, column = (number + 1, 0) if part.endswith(b"\n") else (number, column + len(part))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields bytes that are cut after each newline, at last none."""
    for chunk in chunks:
        yield from re.findall(rb"[^\n]*\n|[^\n]+", chunk)
    yield b""
