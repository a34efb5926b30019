"""Translation of marked-up text: tags are taken out, the text is translated, and word links tell where tags go.

`segments` has the records. `html`, `xliff` and their neighbours read the formats, `placing` finds the places of tags in
a translation, and `writing` writes it."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mt.errors import UserError, require_choice
from mt.markup import html, xliff
from mt.markup.blocks import Kept, parts
from mt.markup.segments import Segment
from mt.markup.words import Linked
from mt.markup.writing import written

Read = Callable[[str, Kept, str], Iterator[str | Segment]]
"""Yields the sentences of a text, and the text between them, which is written as it stands.

The arguments are the text, the placeholders that are kept whole, and the name of the text in errors."""


def _text(text: str, kept: Kept, name: str) -> Iterator[str | Segment]:
    return parts(html.characters(text), lambda written: "".join(raw for _, raw in written), kept)


FORMATS: Mapping[str, Read] = {"html": html.read, "xliff": xliff.read, "text": _text}


_KEPT = Kept()


def read(text: str, format: str, kept: Kept = _KEPT, name: str = "the text") -> list[str | Segment]:
    """Returns the sentences of a text, and the text between them, which is written as it stands.

    name: what to call the text in errors. Raises UserError where it is not of the format."""
    mark = text[: text.startswith("\ufeff")]
    return [piece for piece in (mark, *require_format(format)(text[len(mark) :], kept, name)) if piece]


def write(document: Iterable[str | Segment], translations: Iterable[Linked]) -> str:
    """Returns a text with its sentences replaced by translations, in order."""
    of_sentences = iter(translations)
    return "".join(piece if isinstance(piece, str) else written(piece, next(of_sentences)) for piece in document)


def require_format(format: str) -> Read:
    """Returns the reader of a format. Raises UserError where there is no such format."""
    require_choice("format", str(format), FORMATS)
    return FORMATS[format]
