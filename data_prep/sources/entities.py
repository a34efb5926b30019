"""HTML entities in plain text, as the tokenisers of corpora write them: `&amp;`, `&#39;`, and Moses' `l&apos; eau`."""

import re
from dataclasses import replace
from html import unescape
from html.entities import html5

from data_prep.sources.base import Source, changed
from mt.data.corpus import Example

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_APOSTROPHE = "(?:&apos;|&#39;|&#[xX]27;)"
_LETTER = r"[^\W\d_]"
_PARTED = re.compile(rf"(?<={_LETTER})(?:{_APOSTROPHE} | {_APOSTROPHE})(?={_LETTER})")
"""An escaped apostrophe between letters, with the blank that Moses' tokenizer puts behind it or, in English, before."""


def entities(text: str) -> list[str]:
    """Returns the entities in a text.

    >>> entities("Q&amp;A of AT&T, l&apos; eau &such;")
    ['&amp;', '&apos;']
    """
    return [match[0] for match in _ENTITY.finditer(text) if _character(match) != match[0]] if "&" in text else []


def unescaped(text: str) -> str:
    """Returns a text with the characters of its entities. An escaped apostrophe joins the letters beside it.

    >>> unescaped("d&apos; eau, Q&amp;A, don &apos;t, &apos; so &apos;")
    "d'eau, Q&A, don't, ' so '"
    """
    return _ENTITY.sub(_character, _PARTED.sub("'", text)) if "&" in text else text


def unescape_texts(source: Source, *, written: bool) -> Source:
    """Returns a source whose texts are `unescaped`. written: whether the sources are texts, too, and not names."""

    def change(split: str, example: Example) -> list[Example]:
        return [
            example._replace(
                source=unescaped(example.source) if written else example.source,
                target=unescaped(example.target),
                more_references=tuple(map(unescaped, example.more_references)),
                transcript=unescaped(example.transcript),
            )
        ]

    return replace(changed(source, change), identity=lambda: f"{source.identity()} unescaped")


def _character(match: re.Match[str]) -> str:
    """Returns the character of an entity; the entity itself where it is unknown, or means a control character."""
    known = match[0].startswith("&#") or match[0][1:] in html5
    character = unescape(match[0]) if known else "\ufffd"
    kept = (character.isprintable() and character != "\ufffd") or character == "\u00a0"
    return character if kept else match[0]
