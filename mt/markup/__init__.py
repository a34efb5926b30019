"""Translation of marked-up text: tags are taken out, the text is translated, and tags are put where word links say.

`segments` has the records, `html` and its neighbours the formats, `placing` the places of tags in a translation, and
`writing` its text."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from mt.errors import UserError, invalid_choice
from mt.markup import html, markdown, xliff
from mt.markup.segments import Event, Segment, parts
from mt.markup.words import Linked
from mt.markup.writing import Escaped, written


class Format(NamedTuple):
    """How a format is read and written."""

    read: Callable[[str, int], Iterator[str | Segment]]
    """Yields the sentences of a text, and what between them is written as it stands.

    Its arguments are the text, and how many symbols the vocabulary has for placeholders."""
    escaped: Escaped


def _text(text: str, symbols: int) -> Iterator[str | Segment]:
    return parts([Event("text", text)], html.composed_characters, symbols)


FORMATS: Mapping[str, Format] = {
    "html": Format(html.read, html.escaped),
    "markdown": Format(markdown.read, markdown.escaped),
    "xliff": Format(xliff.read, html.escaped),
    "text": Format(_text, lambda text, spellings: [*text]),
}


def read(text: str, format: str, symbols: int = 0) -> list[str | Segment]:
    """Returns the sentences of a text, and what between them is written as it stands. symbols: the number of the
    vocabulary's symbols for placeholders."""
    return [piece for piece in require_format(format).read(text, symbols) if piece]


def write(document: Iterable[str | Segment], translations: Iterable[Linked], format: str) -> str:
    """Returns a text with translations in the place of its sentences, in order."""
    of_sentences = iter(translations)
    escaped = require_format(format).escaped
    return "".join(
        piece if isinstance(piece, str) else written(piece, next(of_sentences), escaped) for piece in document
    )


def require_format(format: str) -> Format:
    """Returns the format of a name. Raises UserError where there is none."""
    if format not in FORMATS:
        raise UserError(invalid_choice("format", str(format), FORMATS))
    return FORMATS[format]
