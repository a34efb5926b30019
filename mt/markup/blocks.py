"""Cuts the events of a document into blocks, which are translated, and text that is written as it stands.

A block ends at a block element, and at marks that separate the entries of a menu. Text without a letter is not
translated, nor is an element that its format or `translate="no"` keeps."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import regex

from mt.data.placeholders import SAFE, Placeholders, placeholders_of
from mt.markup.segments import Event, Join, Segment, partners_of, segment


class Kept(NamedTuple):
    """The placeholders of a document that are kept whole, and how many symbols the model has for them."""

    found: Placeholders = placeholders_of(SAFE)
    symbols: int = 0


def parts(events: Iterable[Event], join: Join, kept: Kept) -> Iterator[str | Segment]:
    """Yields the blocks of a document, and the text between them, which is written as it stands."""
    inline: list[Event] = []
    waiting = iter(events)
    for event in waiting:
        # The text that ends the block, and is written as it stands.
        fixed = event.raw if event.role == "block" else ""
        if event.kind == "start" and event.role in ("kept", "kept block"):
            raw, fixed = kept_element(event, waiting)
            if event.role == "kept":
                inline.append(Event("word", raw))
            else:
                fixed = raw + fixed
        elif event.role != "block":
            inline.append(event)
        if fixed:
            yield from _block(inline, join, kept)
            yield fixed
            inline = []
    yield from _block(inline, join, kept)


def kept_element(start: Event, waiting: Iterator[Event]) -> tuple[str, str]:
    """Reads an element that is written as it is, and returns its text. Where its end is missing, a block element ends
    it, whose text comes second."""
    # Elements of the same name may be nested in it.
    raws = [start.raw]
    depth = 1
    for event in waiting:
        if event.role == "block" and start.role == "kept":
            return "".join(raws), event.raw
        raws.append(event.raw)
        depth += (event.name == start.name) * {"start": 1, "end": -1}.get(event.kind, 0)
        if not depth:
            break
    return "".join(raws), ""


def _block(events: Sequence[Event], join: Join, kept: Kept) -> Iterator[str | Segment]:
    """Yields the texts between the separators of a block, and the separators. Those without a letter, as
    numbers, are written as they are."""
    for atoms in _parted(_with_placeholders([*_atoms(_with_notes(events))], kept.found)):
        if any(atom.kind == "text" and atom.text.isalpha() for atom in atoms):
            words = [0, *accumulate(atom.kind == "word" or atom.says for atom in atoms)]
            yield segment(atoms, words, join, kept.symbols)
        elif atoms:
            yield "".join(atom.raw for atom in atoms)


def _with_notes(events: Sequence[Event]) -> Iterator[Event]:
    """Yields events, in which each raised mark of a footnote becomes an empty tag behind a word."""
    # A raised mark is a footnote if it is a link, or has no word in it.
    partners = partners_of(events) if any(event.role == "note" for event in events) else {}
    end = 0
    last = ""
    for place, event in enumerate(events):
        if place < end:
            continue
        if event.kind == "start" and event.role == "note" and partners.get(place, -1) > place:
            inside = events[place : partners[place] + 1]
            text = "".join(one.text for one in inside if one.kind == "text")
            linked = any(one.name == "a" for one in inside)
            # An ordinal's letters belong to its number.
            if linked or not (_WORD.search(text) or (last[-1:].isdigit() and text.isalpha())):
                end = partners[place] + 1
                yield Event("empty", "".join(one.raw for one in inside))
                continue
        last = event.text if event.kind == "text" else last
        yield event


_WORD = regex.compile(r"\p{L}\p{M}*+\p{L}")
_SEPARATORS = frozenset("|¦‖•·‣▪■●◦∙⋅★☆→←▶►◄")
"""Marks that separate two texts, where blanks or tags are around them."""
_BETWEEN_LINKS = frozenset("/»›«‹>:")
"""Marks that separate two elements."""


def _parted(atoms: list[Event]) -> Iterator[list[Event]]:
    """Yields the atoms between separators, as in menus, and the separators. A mark within an element separates nothing,
    unless that element is around all words."""
    partners = partners_of(atoms)
    words = [0, *accumulate(atom.kind == "word" or atom.says for atom in atoms)]
    begin = 0
    depth = 0
    for place, atom in enumerate(atoms):
        if (partner := partners.get(place)) is not None:
            first, last = sorted((place, partner))
            around_all = not words[first] and words[last] == words[-1]
            depth += 0 if around_all else 1 if partner > place else -1
        elif not depth and _is_separator(atoms, place):
            yield atoms[begin:place]
            yield [atom]
            begin = place + 1
        # Two links side by side are two entries, which their looks separate.
        if not depth and atom.kind == "end" and atom.name == "a" and place + 1 < len(atoms):
            after = atoms[place + 1]
            if after.kind == "start" and after.name == "a":
                yield atoms[begin : place + 1]
                begin = place + 1
    yield atoms[begin:]


def _is_separator(atoms: Sequence[Event], place: int) -> bool:
    """Returns whether an atom is a mark that separates texts, or the elements beside it."""
    text = atoms[place].text
    if atoms[place].kind != "text" or not (text in _SEPARATORS or text in _BETWEEN_LINKS):
        # What chooses among the texts of a plural separates them: `|{1}`, and `{0}` before all of them.
        begins = not place and text[:1] in ("{", "[", "]") and any(one.text[:1] == "|" != one.text for one in atoms)
        return atoms[place].kind == "word" and (text.startswith("|") or begins)
    # A mark beside a word, as in and/or, belongs to it; but `|` parts a singular from its plural.
    around = [*atoms[max(place - 1, 0) : place], *atoms[place + 1 : place + 2]]
    if text != "|" and any(atom.kind == "word" or atom.says for atom in around):
        return False
    if text in _SEPARATORS:
        return True
    before = next((atom for atom in reversed(atoms[max(place - _NEAR, 0) : place]) if not _is_blank(atom)), None)
    after = next((atom for atom in atoms[place + 1 : place + 1 + _NEAR] if not _is_blank(atom)), None)
    return before is not None and after is not None and (before.kind, after.kind) == ("end", "start")


_NEAR = 40
"""How many blanks there may be between such a mark and the elements."""


def _is_blank(atom: Event) -> bool:
    return atom.kind == "text" and atom.text.isspace()


_GLUE = frozenset("\u00a0\u2007\u202f")
"""Blanks at which no line is broken."""
_INNER = frozenset("\u00ad\u200b\u2060")
"""Characters without a width that allow or forbid a line break in a word."""


def _atoms(events: Iterable[Event]) -> Iterator[Event]:
    """Yields events, in which words have their raw text as text. Characters for line breaks, which a translation would
    lose, become tags."""
    for event in events:
        if event.kind == "word":
            yield event._replace(text=event.raw)
        elif event.kind == "text" and (event.text in _GLUE or event.text in _INNER):
            yield Event("empty", event.raw, breaks=event.text in _GLUE)
        else:
            yield event


def _with_placeholders(atoms: list[Event], found: Placeholders) -> list[Event]:
    """Joins the atoms of each placeholder, and tags within it, to one word."""
    # Placeholders are looked for in the text without tags, since a tag may stand within one.
    places = [place for place, atom in enumerate(atoms) if atom.kind == "text"]
    text = "".join(atoms[place].text for place in places)
    joined: list[Event] = []
    done = 0
    for begin, end in found.spans(text):
        first = places[begin]
        last = places[end - 1] + 1
        joined += atoms[done:first]
        joined.append(Event("word", "".join(atom.raw for atom in atoms[first:last]), text=text[begin:end]))
        done = last
    return joined + atoms[done:]
