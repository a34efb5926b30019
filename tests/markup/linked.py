"""Translations without a model: a sentence as it stands, in reverse, or of any words with any links."""

import itertools
import re
from collections.abc import Callable

from mt import markup
from mt.markup.blocks import Kept
from mt.markup.segments import Segment
from mt.markup.words import Linked

Translate = Callable[[str], Linked]


def identity(text: str) -> Linked:
    return Linked(text, [(i, i) for i, character in enumerate(text) if character != " "])


def reverse(text: str) -> Linked:
    """The words in reverse order, each linked to itself."""
    spans = [match.span() for match in re.finditer(r"\S+", text)][::-1]
    words = [text[begin:end] for begin, end in spans]
    begins = itertools.accumulate((len(word) + 1 for word in words), initial=0)
    links = [(begin + k, at + k) for (begin, end), at in zip(spans, begins, strict=False) for k in range(end - begin)]
    return Linked(" ".join(words), links)


def given(target: str, links: str) -> Translate:
    """A translation with these links between words that blanks part, in Pharaoh's format."""

    def translate(source: str) -> Linked:
        sides = [[match.span() for match in re.finditer(r"\S+", text)] for text in (source, target)]
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        cells = [
            (i, j)
            for source_word, target_word in pairs
            for i in range(*sides[0][source_word])
            for j in range(*sides[1][target_word])
        ]
        return Linked(target, cells)

    return translate


def translated(text: str, translate: Translate = identity, form: str = "html", symbols: int = 0) -> str:
    document = markup.read(text, form, Kept(symbols=symbols))
    sentences = [part.text for part in document if isinstance(part, Segment)]
    return markup.write(document, map(translate, sentences))
