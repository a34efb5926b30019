"""From the events of a document to its blocks: what is translated together, and what is written as it stands.

A block ends where an element says so, and at the marks that part the entries of a menu. What has no letter or digit is
not translated; neither is what a format or `translate="no"` keeps."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import regex

from mt.data.placeholders import Kept, Placeholders
from mt.markup.segments import Event, Join, Segment, partners_of, segment


def parts(events: Iterable[Event], join: Join, kept: Kept) -> Iterator[str | Segment]:
    """Yields the sentences of a document, and what between them is written as it stands."""
    inline: list[Event] = []
    waiting = iter(events)
    for event in waiting:
        # What ends the sentence, and is written as it stands.
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
    """Reads an element that is written as it is. Returns it from its start to its end, and the block that ends it where
    its end is missing."""
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
    """Yields what a block says between its separators, and these. What has no letter or digit is written as it is."""
    for atoms in _parted(_with_placeholders([*_atoms(_with_notes(events))], kept.found)):
        if any(atom.kind == "text" and atom.text.isalnum() for atom in atoms):
            words = [0, *accumulate(atom.kind == "word" or atom.says for atom in atoms)]
            yield segment(atoms, words, join, kept.symbols)
        elif atoms:
            yield "".join(atom.raw for atom in atoms)


def _with_notes(events: Sequence[Event]) -> Iterator[Event]:
    """Yields events, where each raised mark of a note is one that has no words: it stands behind one."""
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
"""Marks that stand between two texts, where they stand alone."""
_BETWEEN_LINKS = frozenset("/»›«‹>:")
"""Marks that do so between two elements."""


def _parted(atoms: list[Event]) -> Iterator[list[Event]]:
    """Yields what stands between separators, as in menus, and these; where no element holds words on both sides."""
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
        # Links side by side are parted by their looks.
        if not depth and atom.kind == "end" and atom.name == "a" and place + 1 < len(atoms):
            after = atoms[place + 1]
            if after.kind == "start" and after.name == "a":
                yield atoms[begin : place + 1]
                begin = place + 1
    yield atoms[begin:]


def _is_separator(atoms: Sequence[Event], place: int) -> bool:
    text = atoms[place].text
    if atoms[place].kind != "text" or not (text in _SEPARATORS or text in _BETWEEN_LINKS):
        return False
    around = [*atoms[max(place - 1, 0) : place], *atoms[place + 1 : place + 2]]
    if any(atom.kind == "word" or atom.says for atom in around):
        return False
    if text in _SEPARATORS:
        return True
    before = next((atom for atom in reversed(atoms[max(place - _NEAR, 0) : place]) if not _is_blank(atom)), None)
    after = next((atom for atom in atoms[place + 1 : place + 1 + _NEAR] if not _is_blank(atom)), None)
    return before is not None and after is not None and (before.kind, after.kind) == ("end", "start")


_NEAR = 40
"""Blanks on each side of a separator between links."""


def _is_blank(atom: Event) -> bool:
    return atom.kind == "text" and atom.text.isspace()


_GLUE = frozenset("\u00a0\u2007\u202f")
"""Blanks that no line is broken at."""
_INNER = frozenset("\u00ad\u200b\u2060")
"""Where a word may be broken, or not."""


def _atoms(events: Iterable[Event]) -> Iterator[Event]:
    """Yields events, of which words have a text, too. What says nothing, and is lost in translation, becomes a tag."""
    for event in events:
        if event.kind == "word":
            yield event._replace(text=event.raw)
        elif event.kind == "text" and (event.text in _GLUE or event.text in _INNER):
            yield Event("empty", event.raw, breaks=event.text in _GLUE)
        else:
            yield event


def _with_placeholders(atoms: list[Event], found: Placeholders) -> list[Event]:
    """Joins the atoms of each placeholder, tags in it too, to one that is a word."""
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
