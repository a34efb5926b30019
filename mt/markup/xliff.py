"""XLIFF 1.0 to 2: each source without a translation gets one.

Python's own parser of XML (expat) tells where each piece of the document begins, so that all other bytes stay."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple
from xml.parsers import expat

from mt.errors import UserError
from mt.markup import xliff_text
from mt.markup.blocks import Kept
from mt.markup.segments import Segment
from mt.markup.words import Span

_XLIFF = "urn:oasis:names:tc:xliff:document:"
"""The beginning of the namespace of all versions but 1.0, which has none."""
_APART = frozenset(["alt-trans", "header", "ignorable", "note", "notes", "originalData", "skeleton"])
"""Elements whose sources are not to be translated: proposals, and descriptions of the document."""
_LOCKED = frozenset(["locked", "true", "yes", "1"])
"""Values of `locked`, an attribute of memoQ's, Phrase's and Trados' own namespaces."""


class Piece(NamedTuple):
    """A piece of a document, by the names of XML."""

    kind: str
    """start, end, empty, text, comment (or processing instruction), or cdata: where such a section begins or ends."""
    raw: str
    name: str = ""
    """The name of the element: of XLIFF without its namespace, of another namespace with it."""
    attributes: Mapping[str, str] = MappingProxyType({})


@dataclass
class _Unit:
    """A source with its target in the same element. Each span has the pieces from a start to its end."""

    source: Span
    preserves: bool
    """Whether its white space stays."""
    segmented: Span | None = None
    target: Span | None = None
    locked: set[str] = field(default_factory=set)
    """The numbers of segments that Trados has locked."""


@dataclass
class _Element:
    """An element that is open."""

    begin: int
    left: bool
    """Whether it is locked, or `translate="no"` holds in it."""
    preserves: bool
    """Whether its white space stays."""
    apart: bool
    """Whether it is one of `_APART`, or within one."""
    unit: _Unit | None = None
    """The last unit whose source stands in it."""


def read(text: str, kept: Kept, name: str) -> Iterator[str | Segment]:
    """Yields the document, with a sentence where a target is missing or blank. name: of the document. Raises UserError
    where it is no XML, or XML of another kind."""
    pieces = _pieces(text, name)
    done = 0
    for unit in _units(pieces):
        for (first, last), blank in _blanks(pieces, unit):
            begin, resume, opening, closing = _frame(pieces, unit, blank)
            yield "".join(piece.raw for piece in pieces[done:begin]) + opening
            yield from xliff_text.read(pieces[first + 1 : last], kept, preserves=unit.preserves)
            yield closing
            done = resume
    yield "".join(piece.raw for piece in pieces[done:])


def _blanks(pieces: Sequence[Piece], unit: _Unit) -> Iterator[tuple[Span, Span | None]]:
    """Yields each span to translate with the blank element that its translation goes into.

    The element is the target of the unit, or each blank segment of the target; None where there is no target.
    """
    source = unit.segmented or unit.source
    if not _says(pieces, source):
        return
    if not unit.locked and (unit.target is None or not _says(pieces, unit.target)):
        yield source, unit.target
    elif unit.segmented and unit.target:
        # Some segments of the target may have a translation, and others none.
        of_source = {number: span for number, span in _segments(pieces, unit.segmented) if number not in unit.locked}
        for number, segment in _segments(pieces, unit.target):
            if number in of_source and _says(pieces, of_source[number]) and not _says(pieces, segment):
                yield of_source[number], segment


def _segments(pieces: Sequence[Piece], span: Span) -> Iterator[tuple[str, Span]]:
    """Yields the segments of a source or target, each with its number."""
    begins: list[int] = []
    for place in range(span[0] + 1, span[1]):
        if pieces[place].kind in ("start", "empty"):
            begins.append(place)
        if pieces[place].kind in ("end", "empty"):
            begin = begins.pop()
            if pieces[begin].attributes.get("mtype") == "seg":
                yield pieces[begin].attributes.get("mid", ""), (begin, place)


def _says(pieces: Sequence[Piece], span: Span) -> bool:
    """Returns whether an element holds a text or codes, and not just elements for a text."""
    return any(
        not piece.raw.isspace()
        if piece.kind == "text"
        else piece.kind in ("start", "empty") and piece.name not in ("mrk", "g", "pc")
        for piece in pieces[span[0] + 1 : span[1]]
    )


def _frame(pieces: Sequence[Piece], unit: _Unit, blank: Span | None) -> tuple[int, int, str, str]:
    """Returns the pieces that a translation replaces, by their begin and end, and the tags around the translation."""
    if blank is None:
        after = (unit.segmented or unit.source)[1] + 1
        # With the prefix of the source.
        prefix = pieces[unit.source[0]].raw[1:].partition("source")[0]
        return after, after, f"<{prefix}target>", f"</{prefix}target>"
    # An empty element becomes a start and an end; of others comments stay.
    first, last = blank
    opening = pieces[first].raw
    if first == last:
        return first, first + 1, f"{opening[:-2].rstrip()}>", f"</{opening[1:-2].split()[0]}>"
    comments = "".join(piece.raw for piece in pieces[first:last] if piece.kind == "comment")
    return first, last + 1, opening + comments, pieces[last].raw


def _units(pieces: Sequence[Piece]) -> Iterator[_Unit]:
    """Yields the sources of the document, in order."""
    # A stack of the open elements. The first is the document.
    stack = [_Element(0, left=False, preserves=False, apart=False)]
    for place, piece in enumerate(pieces):
        if piece.kind in ("start", "empty"):
            around = stack[-1]
            # Whatever their namespaces: that of XML, of ITS, or of a tool.
            attributes = {name.split()[-1]: value for name, value in piece.attributes.items()}
            translate = attributes.get("translate") if piece.name != "mrk" else None
            locked = attributes.get("locked") in _LOCKED
            space = attributes.get("space")
            stack.append(
                _Element(
                    place,
                    left=locked or (around.left if translate is None else translate == "no"),
                    preserves=around.preserves if space is None else space == "preserve",
                    apart=around.apart or piece.name in _APART or " " in piece.name,
                )
            )
            # An element has one unit after the other: the next source ends the last unit.
            if piece.name == "source" and around.unit:
                yield around.unit
                around.unit = None
        if piece.kind in ("end", "empty"):
            element = stack.pop()
            if element.unit:
                yield element.unit
            span = (element.begin, place)
            unit = stack[-1].unit
            opening = pieces[element.begin]
            if opening.name == "source" and not element.left and not element.apart:
                stack[-1].unit = _Unit(span, element.preserves)
            elif opening.name == "seg-source" and unit:
                unit.segmented = span
            elif opening.name == "target" and unit and not unit.target:
                unit.target = span
            # Trados: `seg` stands in `seg-defs`, and that in the unit.
            elif opening.name.endswith(" seg") and element.left and (unit := stack[-2:][0].unit):
                unit.locked.add(opening.attributes.get("id", ""))


# Pieces, by expat.


def _pieces(text: str, name: str) -> list[Piece]:
    """Returns the pieces of a document, whose raw texts joined are the document."""
    data = text.encode(errors="surrogatepass")  # expat refuses those with their line
    begins: list[int] = []
    found: list[Piece] = []
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")

    def add(kind: str, name: str = "", attributes: Mapping[str, str] = MappingProxyType({})) -> None:
        begins.append(parser.CurrentByteIndex)
        namespace, _, local = name.rpartition(" ")
        found.append(Piece(kind, "", local if namespace.startswith(_XLIFF) else name, attributes))

    # Each handler notes where its piece begins. With a default handler expat does not expand entities.
    parser.StartElementHandler = lambda name, attributes: add("start", name, attributes)
    parser.EndElementHandler = lambda name: add("end", name)
    parser.CommentHandler = lambda _: add("comment")
    parser.ProcessingInstructionHandler = lambda *_: add("comment")
    parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = lambda: add("cdata")
    parser.DefaultHandler = lambda _: add("text")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UserError(
            f"{name} is no XLIFF: line {error.lineno}, column {error.offset + 1} is no XML "
            f"({expat.ErrorString(error.code)}); mend it, or choose another format"
        ) from None
    pieces: list[Piece] = []
    for piece, (first, last) in zip(found, pairwise([*begins, len(data)]), strict=True):
        # An empty element has both a start and an end, and one of them is all that is written.
        if piece.kind == "end" and pieces[-1].kind == "start" and (first == last or not pieces[-1].raw):
            pieces[-1] = pieces[-1]._replace(kind="empty", raw=pieces[-1].raw + data[first:last].decode())
        else:
            pieces.append(piece._replace(raw=data[first:last].decode()))
    root = next(piece for piece in pieces if piece.kind in ("start", "empty"))
    if root.name != "xliff" and not any(piece.name == "source" for piece in pieces):
        of = root.raw[1:].rstrip("/>").split()[0]
        raise UserError(f"{name} is no XLIFF, but XML of <{of}>: choose another format, or another file")
    return pieces
