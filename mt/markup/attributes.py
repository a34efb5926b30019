"""Attributes of HTML that people read or hear: they are translated before the document, each on its own."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from mt.markup import html
from mt.markup.blocks import Kept, kept_element, parts
from mt.markup.segments import Event, Segment

_READ = frozenset(["title", "alt", "placeholder", "aria-label", "aria-description", "aria-placeholder"])
_OF_BUTTONS = frozenset(["button", "submit", "reset"])
_OF_META = re.compile(r"(?:og:|twitter:)?(?:title|description)|og:image:alt|twitter:image:alt")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}")
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)""")


def read(text: str, kept: Kept, languages: tuple[str, str]) -> list[str | Segment]:
    """Returns a document with its attributes as sentences. Attributes of elements that are not translated stay.

    languages: of source and target; `lang` with the source's language becomes the target's.
    """
    pieces: list[str | Segment] = []
    waiting = iter(html.events(text))
    for event in waiting:
        if event.kind == "start" and event.role in ("kept", "kept block"):
            pieces += kept_element(event, waiting)
        elif event.name and event.kind != "end":
            pieces += _tag(event, kept, languages)
        else:
            pieces.append(event.raw)
    return pieces


def _tag(event: Event, kept: Kept, languages: tuple[str, str]) -> Iterator[str | Segment]:
    """Yields the text of a tag, with the values that are translated as sentences."""
    # All attributes are read first, since some decide what others mean.
    matches = [*_ATTRIBUTE.finditer(event.raw, len(event.name) + 1)]
    values = {match[1].lower(): match[2].strip("\"'") for match in matches}
    done = 0
    for match in matches:
        begin, end = match.span(2)
        quote = match[2][0] if match[2][0] in "\"'" else ""
        value = match[2][len(quote) : len(match[2]) - len(quote)]
        # A new value of `lang`, the sentences of an attribute that is read, or nothing to change.
        if match[1].lower() in ("lang", "xml:lang"):
            changed: list[str | Segment] = [languages[1] if _is_language(value, languages) else value]
        elif values.get("translate", "").lower() != "no" and _is_read(event.name, match[1].lower(), values):
            mark = quote or '"'
            inner = html.with_characters([Event("text", value)])
            changed = [*parts(inner, partial(_join, quote=mark), kept)]
            quote = quote or mark * any(isinstance(piece, Segment) for piece in changed)
        else:
            continue
        yield event.raw[done:begin] + quote
        yield from changed
        yield quote
        done = end
    yield event.raw[done:]


def _is_read(element: str, name: str, values: dict[str, str]) -> bool:
    """Returns whether people read an attribute of an element. values: of all its attributes."""
    # Some attributes are read by people only in some elements.
    if element == "meta":
        of = values.get("name") or values.get("property") or ""
        return name == "content" and bool(_OF_META.fullmatch(of.lower()))
    if element == "input" and name == "value":
        return values.get("type", "").lower() in _OF_BUTTONS
    return name in _READ or (name == "label" and element in ("optgroup", "option", "track"))


def _is_language(value: str, languages: tuple[str, str]) -> bool:
    """Returns whether a value of `lang` is the language of the source, where both languages are known."""
    known = all(_LANGUAGE.fullmatch(language) for language in languages)
    return known and re.split("[-_]", value.lower())[0] == languages[0].lower()


def _join(written: Sequence[tuple[str, str]], quote: str) -> str:
    """Writes characters within quotation marks: see `Join`."""
    escaped = "&quot;" if quote == '"' else "&#39;"
    return html.join([("", escaped) if raw == quote else (character, raw) for character, raw in written])
