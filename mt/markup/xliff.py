"""XLIFF 1.2 and 2: each source without a translation gets one, by Python's own parser, which keeps every other byte."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from xml.parsers import expat

from mt.errors import UserError
from mt.markup.html import spelled
from mt.markup.segments import Event, Segment, parts

_UNITS = ("trans-unit", "segment")
_OPAQUE = {"ph": "empty", "it": "empty", "bpt": "start", "ept": "end"}
"""Elements that hold what another format has in their place: code, and no words."""
_HALVES = {"bx": "start", "ex": "end", "sc": "start", "ec": "end"}


class _Piece(NamedTuple):
    kind: str
    """start, end, empty, or text."""
    raw: str
    name: str
    """Without a prefix."""
    attributes: dict[str, str]
    left: bool
    """Whether an element around it says translate="no", or is of proposals."""


def read(text: str, symbols: int = 0) -> Iterator[str | Segment]:
    """Yields the document, with a sentence where a target is missing or blank. Raises UserError where it is no XML."""
    pieces = _pieces(text)
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        if piece.kind == "start" and piece.name == "source" and not piece.left:
            place, found = _unit(pieces, place, symbols)
            yield from found
        else:
            yield piece.raw
            place += 1


def _unit(pieces: Sequence[_Piece], begin: int, symbols: int) -> tuple[int, Iterable[str | Segment]]:
    """Returns where a unit goes on after its target, and what is written from its source up to there."""
    end = begin
    while (pieces[end].kind, pieces[end].name) != ("end", "source"):
        end += 1
    after = end + 1
    # With the prefix of the source.
    prefix = pieces[begin].raw[1:].partition("source")[0]
    opening = f"<{prefix}target>"
    closing = f"</{prefix}target>"
    resume = after
    # The target that there is stays where it says something; else it is filled.
    for place in range(after, len(pieces)):
        kind, raw, name, *_ = pieces[place]
        if kind == "end" and name in _UNITS:
            break
        if (kind, name) == ("end", "seg-source"):
            after = resume = place + 1
        if name == "target" and kind in ("start", "empty"):
            last = place
            while kind == "start" and (pieces[last].kind, pieces[last].name) != ("end", "target"):
                last += 1
            if any(piece.kind != "text" or piece.raw.strip() for piece in pieces[place + 1 : last]):
                return last + 1, [piece.raw for piece in pieces[begin : last + 1]]
            opening = raw.replace("/>", ">")
            after = place
            resume = last + 1
            break
    head = [piece.raw for piece in pieces[begin:after]]
    inside = parts(_events(pieces[begin + 1 : end]), spelled, symbols)
    return resume, [*head, opening, *inside, closing]


def _events(pieces: Sequence[_Piece]) -> Iterator[Event]:
    """Yields what a source holds: codes of another format as one tag each."""
    waiting = iter(pieces)
    for kind, raw, name, attributes, _ in waiting:
        number = attributes.get("startRef") or attributes.get("rid") or attributes.get("id", "")
        if name in _OPAQUE and kind == "start":
            inside = [raw]
            depth = 1
            while depth and (piece := next(waiting, None)):
                inside.append(piece.raw)
                depth += {"start": 1, "end": -1}.get(piece.kind, 0)
            yield Event(_OPAQUE[name], "".join(inside), f"code {number}")  # type: ignore[arg-type]
        elif name in _HALVES:
            yield Event(_HALVES[name], raw, f"code {number}")  # type: ignore[arg-type]
        elif kind == "text":
            yield Event("empty", raw) if raw.startswith("<") else Event("text", raw)
        else:
            kept = attributes.get("translate") == "no" or attributes.get("mtype") == "protected"
            yield Event(kind, raw, name, "kept" if kept and kind == "start" else "inline")  # type: ignore[arg-type]


def _pieces(text: str) -> list[_Piece]:
    """Returns the pieces of a document, whose raw texts joined are the document."""
    data = text.encode()
    begins: list[int] = []
    found: list[_Piece] = []
    left = [False]
    parser = expat.ParserCreate("utf-8")

    def add(kind: str, name: str, attributes: dict[str, str]) -> None:
        begins.append(parser.CurrentByteIndex)
        found.append(_Piece(kind, "", name.split(":")[-1], attributes, left[-1]))

    def begin(name: str, attributes: dict[str, str]) -> None:
        plain = name.split(":")[-1]
        outside = plain in ("alt-trans", "ignorable") or (attributes.get("translate") == "no" and plain != "mrk")
        left.append(left[-1] or outside)
        add("start", name, attributes)

    def end(name: str) -> None:
        left.pop()
        # An empty element ends where it begins.
        if (begins[-1], found[-1].kind) == (parser.CurrentByteIndex, "start"):
            found[-1] = found[-1]._replace(kind="empty")
        else:
            add("end", name, {})

    # Where each piece begins says what it is made of.
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.DefaultHandler = lambda _: add("text", "", {})
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UserError(
            f"the text is no XLIFF: line {error.lineno} is no XML ({expat.ErrorString(error.code)}); mend it, or "
            "choose another format"
        ) from None
    raws = (data[first:last].decode() for first, last in pairwise([*begins, len(data)]))
    return [piece._replace(raw=raw) for piece, raw in zip(found, raws, strict=True)]
