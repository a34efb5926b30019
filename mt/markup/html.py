"""HTML, by Python's own parser, since it lets each tag's text be kept as it stands.

(lxml and html5lib give names and values alone, drop what is wrong, and add what is missing.)"""

import html
import re
import string
import unicodedata
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser

import regex

from mt.markup.segments import Event, Segment, parts

_AT_ONCE = 1 << 16
"""Characters that the parser sees more of at a time: it looks to the end for the rest of what is not complete."""
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside audio base blockquote body button canvas caption center col colgroup dd details dialog "
        "dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr "
        "html iframe legend li link main menu meta nav noframes noscript object ol optgroup option p pre search "
        "section select source summary table tbody td template textarea tfoot th thead title tr track ul video",
    )
)
_KEPT = frozenset(["code", "kbd", "samp", "var"])
_KEPT_BLOCKS = frozenset(["script", "style", "svg", "math"])
_SPLIT = frozenset(re.findall(r"\w+", "b big em i mark s small strike strong sub sup u"))
_VOID = frozenset(re.findall(r"\w+", "area br embed img input param wbr"))


class Parser(HTMLParser):
    """Notes the events of a text. Each is emitted when the parser goes on behind it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.events: list[Event] = []
        self._event = Event("empty", "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._event = start(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._event = Event("empty", "", tag, "block" if tag in _BLOCKS else "inline", breaks=tag == "br")

    def handle_endtag(self, tag: str) -> None:
        self._event = Event("end", "", tag, "block" if tag in _BLOCKS else "inline")

    def handle_data(self, data: str) -> None:
        self._event = Event("text", "")

    def handle_decl(self, decl: str) -> None:
        self._event = Event("empty", "", role="block")

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        return self.parse_bogus_comment(i)  # as browsers do, where Python's own would refuse some

    def updatepos(self, i: int, j: int) -> int:
        if i < j:
            self.events.append(self._event._replace(raw=self.rawdata[i:j]))
            self._event = Event("empty", "")
        return j


def start(tag: str, attributes: Mapping[str, str | None]) -> Event:
    """Returns the event of a start tag. tag: in small letters."""
    block = tag in _BLOCKS
    if tag in _VOID:
        return Event("empty", "", tag, breaks=tag == "br")
    named = "notranslate" in (attributes.get("class") or "").split()
    if tag in _KEPT_BLOCKS or tag in _KEPT or named or (attributes.get("translate") or "").lower() == "no":
        return Event("start", "", tag, "kept block" if block or tag in _KEPT_BLOCKS else "kept")
    # Two elements may not have one id.
    return Event("start", "", tag, "block" if block else "inline", splits=tag in _SPLIT and "id" not in attributes)


def events(text: str) -> Iterator[Event]:
    """Yields the events of a document or a line, whatever is wrong with it."""
    parser = Parser()
    for begin in range(0, len(text), _AT_ONCE):
        parser.feed(text[begin : begin + _AT_ONCE])
        yield from parser.events
        parser.events.clear()
    # What is left is text, or the beginning of a tag that does not end.
    rest = parser.rawdata
    if rest:
        begins = rest.startswith("<") or parser.cdata_elem
        yield Event("empty", rest, role="block") if begins else Event("text", rest)


def read(text: str, symbols: int = 0) -> Iterator[str | Segment]:
    """Yields the sentences of a document, and what is between them."""
    yield from parts(events(text), spelled, symbols)


_REFERENCE = re.compile(r"(&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);?)")


def spelled(raw: str) -> Iterator[tuple[str, str]]:
    """Yields the characters of a raw text, each with how it is written: see `Spelled`."""
    for piece in _REFERENCE.split(raw):
        decoded = html.unescape(piece) if piece.startswith("&") else piece
        if decoded != piece:
            yield from zip(decoded, (piece, *("" for _ in decoded[1:])), strict=True)
        else:
            yield from composed_characters(piece)


def composed_characters(text: str) -> Iterator[tuple[str, str]]:
    """Yields the characters of a text composed (NFC), each with what it was composed of."""
    if unicodedata.is_normalized("NFC", text):
        yield from zip(text, text, strict=True)
        return
    for cluster in regex.findall(r"\X", text):
        composed = unicodedata.normalize("NFC", cluster)
        yield from zip(composed, (cluster, *("" for _ in composed[1:])), strict=True)


def escaped(text: str, spellings: Mapping[str, str]) -> list[str]:
    """Returns how HTML and XML write each character of a text, with the spellings of the source."""
    written = [spellings.get(character, character) for character in text]
    for match in _SPECIAL.finditer(text):
        # What the source writes as it is may be so here too, where it begins nothing.
        character = match[0][0]
        if spellings.get(character) != character or html.unescape(match[0]) != match[0] or match[0] in _BEGINS:
            written[match.start()] = spellings.get(character) or html.escape(character)
            if written[match.start()] == character:
                written[match.start()] = html.escape(character)
    return written


_SPECIAL = re.compile(r"&(?:#?\w+;?)?|<[a-zA-Z/!?]?")
_BEGINS = frozenset(f"<{character}" for character in f"/!?{string.ascii_letters}")
