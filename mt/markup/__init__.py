"""Translation of marked-up text: tags are taken out, the text is translated, and tags are put where word links say.

`segments` has the records, `html` and its neighbours the formats, `placing` the places of tags in a translation, and
`writing` its text."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mt.data.placeholders import Kept
from mt.errors import UserError, invalid_choice
from mt.markup import html, xliff
from mt.markup.blocks import parts
from mt.markup.segments import Segment
from mt.markup.words import Linked
from mt.markup.writing import written

Read = Callable[[str, Kept, str], Iterator[str | Segment]]
"""Yields the sentences of a text, and what between them is written as it stands.

Its arguments are the text, which placeholders are kept whole, and the text's name in errors."""


def _text(text: str, kept: Kept, name: str) -> Iterator[str | Segment]:
    return parts(html.characters(text), lambda written: "".join(raw for _, raw in written), kept)


FORMATS: Mapping[str, Read] = {"html": html.read, "xliff": xliff.read, "text": _text}


_KEPT = Kept()


def read(text: str, format: str, kept: Kept = _KEPT, name: str = "the text") -> list[str | Segment]:
    """Returns the sentences of a text, and what between them is written as it stands.

    name: of the text in errors. Raises UserError where it is not of the format."""
    mark = text[: text.startswith("\ufeff")]
    return [piece for piece in (mark, *require_format(format)(text[len(mark) :], kept, name)) if piece]


def write(document: Iterable[str | Segment], translations: Iterable[Linked]) -> str:
    """Returns a text with translations in the place of its sentences, in order."""
    of_sentences = iter(translations)
    return "".join(piece if isinstance(piece, str) else written(piece, next(of_sentences)) for piece in document)


def require_format(format: str) -> Read:
    """Returns what reads a format. Raises UserError where there is none of that name."""
    if format not in FORMATS:
        raise UserError(invalid_choice("format", str(format), FORMATS))
    return FORMATS[format]
