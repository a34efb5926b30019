"""Reads a source of XLIFF: text, codes of another format, literal sections (CDATA), and escaped HTML.

A translation must be XML, whatever the order of its words. So only pairs that are closed in order, within one element,
may move (`_nested`)."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape

from mt.markup import html
from mt.markup.blocks import Kept, parts
from mt.markup.segments import ELEMENT, Event, Segment, partners_of

if TYPE_CHECKING:
    from mt.markup.xliff import Piece

_CODES: dict[str, Literal["start", "end", "empty"]] = {"ph": "empty", "it": "empty", "bpt": "start", "ept": "end"}
"""Elements that hold code of another format, and no words."""
_HALVES: dict[str, Literal["start", "end"]] = {
    **dict.fromkeys(("bx", "sc", "sm"), "start"),
    **dict.fromkeys(("ex", "ec", "em"), "end"),
}
"""Empty elements that come in pairs."""
_OF_ANGULAR = re.compile(r"(START|CLOSE)_(\w+?)(?:_\d+)?")
"""Names of `x` of Angular, which come in pairs; all that open the same element have one that closes it."""
_SECTION = Event("empty", "", "section", role="block")
"""The beginning or end of a literal section."""


def read(pieces: Sequence["Piece"], kept: Kept, *, preserves: bool) -> Iterator[str | Segment]:
    """Yields the sentences of a source, and the text between them, which is written as it stands. preserves: whether
    white space stays."""
    # Escaped HTML is read as HTML. Other text is cut into composed characters.
    events = [*_events(pieces)]
    of_html = _of_html(events)
    events = of_html or _mapped(html.characters(_plain(events)), events) or []
    if preserves and of_html is None:
        events = [*_with_white_space(events)]
    # A literal section has sentences of its own, and a way to write them.
    literal = False
    for is_section, stretch in groupby(_nested(events), lambda event: event.name == _SECTION.name):
        for event in stretch if is_section else ():
            literal = not literal
            yield event.raw
        if not is_section:
            join = partial(_join, is_html=of_html is not None, is_literal=literal)
            yield from parts(stretch, join, kept)


# Events of XML.


def _events(pieces: Iterable["Piece"]) -> Iterator[Event]:
    """Yields each character and each element. Codes of another format, and what is not to be translated, are one
    event each."""
    literal = False
    # An element that is one event is read up to its end, where its depth is 0 again.
    whole = Event("empty", "")
    inside: list[str] = []  # the raw texts of an element that is one event
    depth = 0
    elements: list[Literal["block", "inline"]] = []
    for kind, raw, name, attributes in pieces:
        if depth:
            depth += {"start": 1, "end": -1}.get(kind, 0)
            inside.append(raw)
            if not depth:
                yield whole._replace(raw="".join(inside))
            continue
        # What pairs a start with its end: the number of the start, or what both call it.
        number = attributes.get("startRef") or attributes.get("rid") or attributes.get("id", "")
        is_kept = attributes.get("translate") == "no" or attributes.get("mtype") == "protected"
        if name == "x" and (angular := _OF_ANGULAR.fullmatch(number)):
            name = "bx" if angular[1] == "START" else "ex"
            number = angular[2]
        if kind == "start" and (name in _CODES or is_kept):
            whole = Event(_CODES[name], "", f"code {number}") if name in _CODES else Event("word", "")
            inside = [raw]
            depth = 1
        elif kind == "cdata":
            literal = not literal
            yield _SECTION._replace(raw=raw)
        elif kind == "text":
            yield from _characters(raw, literal=literal)
        elif name in _HALVES and attributes.get("isolated") != "yes":
            # Notes and codes may have equal numbers.
            of = "note" if name in ("sm", "em") else "code"
            yield Event(_HALVES[name], raw, f"{of} {number}", "kept" if is_kept else "inline")
        elif kind == "start":
            is_sentence = name == "mrk" and attributes.get("mtype") == "seg"
            elements.append("block" if is_sentence else "inline")
            yield Event("start", raw, f"{ELEMENT}{name}", elements[-1])
        elif kind == "end":
            yield Event("end", raw, f"{ELEMENT}{name}", elements.pop())
        else:
            yield Event("empty", raw)


_REFERENCE = re.compile(r"(&(?:#0*[0-9]{1,7}|#x0*[0-9a-fA-F]{1,6}|[^\s&;#<>]+);)")
_NAMED = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


def _characters(raw: str, *, literal: bool) -> Iterator[Event]:
    """Yields the characters of a text. A reference to a character that no text has is a tag, and an entity that the
    document defines is a word."""
    for piece in [raw] if literal else _REFERENCE.split(raw):
        if literal or not piece.startswith("&"):
            # A line break that is written as such, as in strings of Xcode, ends a sentence; one within a path does not.
            for found in re.findall(r"\\n(?![a-z])|(?<![\w:])\\n|.", piece, re.DOTALL):
                yield Event("text", found, text=found) if len(found) == 1 else Event("empty", found, role="block")
            continue
        decoded = _decoded(piece)
        if decoded == piece:
            yield Event("word", piece)
        else:
            yield Event("text", piece, text=decoded) if html.is_text(decoded) else Event("empty", piece)


def _decoded(raw: str) -> str:
    """Returns a raw text with characters in place of references, which are sound, since expat has read them."""
    return _REFERENCE.sub(lambda match: _NAMED.get(match[0]) or _numbered(match[0]), raw)


def _numbered(reference: str) -> str:
    """Returns the character of a reference by number; any other reference stays."""
    if not reference.startswith("&#"):
        return reference
    digits = reference[2:-1]
    number = int(digits[1:].lstrip("0") or "0", 16) if digits[0] == "x" else int(digits.lstrip("0") or "0")
    return chr(number) if number <= sys.maxunicode else reference


# HTML that is escaped, or in a literal section.

_STAND_IN = "\ufffc"
"""Stands for an element of XLIFF in a text that is read as HTML."""
_IS_HTML = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]\w{1,31});", re.DOTALL)


def _plain(events: Iterable[Event]) -> str:
    """Returns the text of events, with a stand-in for each element."""
    return "".join(event.text if event.kind == "text" else _STAND_IN for event in events)


def _of_html(events: Sequence[Event]) -> list[Event] | None:
    """Returns the events of a text that holds HTML; None where there is none, or it is not sound."""
    plain = _plain(events)
    if not _IS_HTML.search(plain):
        return None
    found = [*html.events(plain)]
    if found[-1].role == "block" and not found[-1].name and found[-1].raw.startswith("<"):
        return None  # a tag that does not end
    return _mapped(html.with_characters(found), events)


def _mapped(of_text: Iterable[Event], events: Sequence[Event]) -> list[Event] | None:
    """Returns the events of a plain text (`_plain`) with the raw texts of the document; None where a tag of HTML begins
    within an element of XLIFF and ends outside."""
    mapped: list[Event] = []
    place = 0
    for event in of_text:
        inner = events[place : place + len(event.raw)]
        place += len(event.raw)
        if event.kind == "text" and any(one.kind != "text" for one in inner):
            mapped += inner
        elif _is_whole(inner):
            mapped.append(event._replace(raw="".join(one.raw for one in inner)))
        else:
            return None
    return mapped


def _is_whole(events: Iterable[Event]) -> bool:
    """Returns whether all elements that begin here end here, and the other way round."""
    depth = 0
    for event in events:
        depth += event.name.startswith(ELEMENT) * {"start": 1, "end": -1}.get(event.kind, 0)
        if depth < 0 or event.name == _SECTION.name:
            return False
    return not depth


def _with_white_space(events: Iterable[Event]) -> Iterator[Event]:
    """Yields events that keep white space: a line break ends a sentence, a single blank is one, and other white space
    is a tag."""
    for is_blank, run in groupby(events, lambda event: event.kind == "text" and event.text in " \t\r\n"):
        of_run = [*run]
        if not is_blank or [event.raw for event in of_run] == [" "]:
            yield from of_run
        else:
            is_line = any(event.text in "\r\n" for event in of_run)
            raw = "".join(event.raw for event in of_run)
            yield Event("empty", raw, role="block" if is_line else "inline", breaks=not is_line)


# Pairs.


def _nested(events: Sequence[Event]) -> Iterator[Event]:
    """Yields events of which all starts and ends are closed in order. An element that is kept is one event. A pair
    around the end of a sentence ends a sentence itself."""
    whole = [*_with_kept_whole(events)]
    partners = partners_of(whole)
    ends = [*accumulate((event.role == "block" for event in whole), initial=0)]
    for place, event in enumerate(whole):
        partner = partners.get(place)
        if event.kind not in ("start", "end") or event.role == "block":
            yield event
        elif partner is None:
            yield Event("empty", event.raw)
        else:
            yield event if ends[place] == ends[partner] else event._replace(role="block")


def _with_kept_whole(events: Sequence[Event]) -> Iterator[Event]:
    """Yields events, in which each element that is kept is one word, or one end of a sentence."""
    partners = partners_of(events)
    end = 0
    for place, event in enumerate(events):
        if place < end:
            continue
        if event.kind == "start" and event.role in ("kept", "kept block"):
            end = partners.get(place, place) + 1
            raw = "".join(inner.raw for inner in events[place:end])
            yield Event("word", raw) if event.role == "kept" else Event("empty", raw, role="block")
        else:
            yield event


# Characters.

_IS_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _join(written: Iterable[tuple[str, str]], *, is_html: bool, is_literal: bool) -> str:
    """Writes characters as XML does: see `Join`."""
    # Characters of a translation are escaped, and left out where XML cannot have them.
    out: list[tuple[str, str]] = []
    before = ""
    for character, raw in written:
        # XML forbids `]]>` in a text, though it ends no section there.
        if character and not is_literal and (raw in ("&", "<") or f"{before}{raw}" == "]]>"):
            raw = escape(raw)
        elif character and _IS_NO_XML.fullmatch(raw):
            raw = ""
        out.append((character, raw))
        before = f"{before}{raw}"[-2:]
    if is_html:
        text = html.join(out) if is_literal else html.join(out, _decoded, escape)
    else:
        text = "".join(raw for _, raw in out)
    # What would end the section is parted between two.
    return text.replace("]]>", "]]]]><![CDATA[>") if is_literal else text
