"""Translates documents in files, in their own encoding, with their byte-order mark and line ends.

All that is not translated stays byte for byte."""

import codecs
import re
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mt.data.glossary import Glossary
from mt.decoding.confidence import Unsure
from mt.decoding.documents import translate_documents
from mt.decoding.request import requests_of
from mt.errors import UserError, visible_lines
from mt.search.config import SearchConfig
from mt.text_io import STANDARD_INPUT, ended_lines, input_bytes

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"<\0?\0": "utf-16-le",
    b"\0<\0?": "utf-16-be",
}
"""The encodings of first bytes: of a byte-order mark, or of `<?`."""
_XML = rb"^\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:+-]+)"
_DECLARED = {
    "html": re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([\w.:+-]+)|" + _XML, re.IGNORECASE),
    "xliff": re.compile(_XML),
}
_DECLARED_WITHIN = 1024
"""Bytes in which a browser looks for the encoding of a page."""
_WESTERN = frozenset(["ascii", "iso8859-1"])
"""Encodings that in HTML stand for that of Windows."""


def translate_file(
    translator: "Translator",
    path: Path | None,
    search: SearchConfig,
    format: str,
    glossary: Glossary | list[Glossary] | None = None,
    unsure: Unsure | None = None,
    placeholders: Sequence[str] | None = None,
    *,
    lines_at_once: int | None,
) -> None:
    """Writes the translation of a document to standard output.

    path: None or `-`: standard input. glossary: the terms of all sentences; a list is refused. unsure: what becomes of
    words that are probably wrong. placeholders: names of their syntaxes; None: as in training. lines_at_once: how many
    lines are read at once, where each is a document of its own; None: the file is one document. Raises UserError where
    the text cannot be read, or is not of the format.
    """
    name = str(path) if path and path != Path("-") else STANDARD_INPUT

    # Documents are translated together, so that their sentences share batches.
    def translated(texts: list[str], names: list[str]) -> list[str]:
        requests = None if glossary is None else requests_of(names, alone=False, glossary=glossary)
        options: Any = {"names": names, "placeholders": placeholders, "unsure": unsure}
        found = translate_documents(translator, texts, format, search, requests, **options)
        return [document.text for document in found]

    # One document in a file, or a document in each line.
    if lines_at_once is None:
        text, encoding = _decoded(input_bytes(path), name, format)
        (translation,) = translated([text], [name])
        _write(_encoded(translation, encoding, name, format))
        return
    lines = enumerate(ended_lines(path), start=1)
    while chunk := [*islice(lines, lines_at_once)]:
        names = [f"{name}, line {number}" for number, _ in chunk]
        texts = translated([text for _, (text, _) in chunk], names)
        _write("".join(f"{text}{end}" for text, (_, (_, end)) in zip(texts, chunk, strict=True)).encode())


def _decoded(data: bytes, name: str, format: str) -> tuple[str, str]:
    """Returns the text of a document and its encoding. Raises UserError where it is not of that encoding, or could not
    be written again in it."""
    # The encoding is that of the first bytes, or the declared one, or UTF-8.
    encoding = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), "")
    declared = _DECLARED[format].search(data[:_DECLARED_WITHIN]) if format in _DECLARED and not encoding else None
    if declared:
        encoding = next(filter(None, declared.groups())).decode()
        if encoding.lower().startswith("utf-16"):
            encoding = "utf-8"  # else the declaration could not have been read
    # What cannot be written back byte for byte is refused before it is translated.
    try:
        encoding = codecs.lookup(encoding or "utf-8").name
        if format == "html" and encoding in _WESTERN:
            encoding = "cp1252"
        text = data.decode(encoding)
        is_same = text.encode(encoding) == data
    except LookupError:
        raise UserError(f"{name} declares the encoding {encoding}, which is unknown: convert it to UTF-8") from None
    except UnicodeError as error:
        line = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise UserError(f"{name}, line {line} is not {encoding.upper()}: convert the document to UTF-8") from None
    if not is_same:
        raise UserError(f"{name} is of {encoding.upper()}, which writes some of it otherwise: convert it to UTF-8")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(f"{name}, line {line} holds a NUL character: remove it, or convert the document to UTF-8")
    return text, encoding


def _encoded(text: str, encoding: str, name: str, format: str) -> bytes:
    """Returns the bytes of a translation. A character that the encoding lacks becomes a reference in HTML. In other
    formats it raises UserError."""
    try:
        return text.encode(encoding, "xmlcharrefreplace" if format == "html" else "strict")
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise UserError(
            f"the translation of {name} holds {wrong}, which {encoding.upper()} has not: convert the document to UTF-8"
        ) from None


def _write(data: bytes) -> None:
    """Writes bytes as they are, or on a terminal what is safe to show."""
    if sys.stdout.isatty():
        print(visible_lines(data.decode(errors="replace")), end="")
    else:
        sys.stdout.buffer.write(data)
    sys.stdout.flush()
