"""HTML, by Python's own parser, which tells the raw text of each tag.

(lxml and html5lib return names and values alone, drop wrong tags, and add missing ones.) `events` parses, `read` finds
the blocks of a document, and `read_attributes` the attributes that people read or hear."""

import html
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import entities
from html.parser import HTMLParser

import regex

from mt.data.placeholders import SYMBOLS
from mt.markup.blocks import Kept, kept_element, parts
from mt.markup.segments import Event, Segment

_DIGITS = 100
_UNREADABLE = re.compile(rf"&(?=#[0-9]{{{_DIGITS}}})")
"""The beginning of a number with too many digits for a reference: Python reads no number of thousands of digits."""
_AT_ONCE = 1 << 16
"""How many characters the parser is fed at a time, since it searches all of them for the end of an open tag."""
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside audio base blockquote body button canvas caption center col colgroup dd details dialog "
        "dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr "
        "html iframe legend li link main menu meta nav noframes noscript object ol optgroup option p pre search "
        "section select source summary table tbody td template textarea tfoot th thead title tr track ul video",
    )
)
_KEPT = frozenset(["code", "kbd", "samp", "var", "mat-icon"])
_KEPT_BLOCKS = frozenset(["script", "style", "svg", "math", "pre"])
_SPLIT = frozenset(re.findall(r"\w+", "b big em i mark s small strike strong sub sup u"))
_VOID = frozenset(re.findall(r"\w+", "area br embed img input param wbr"))
_PARTING = _VOID - {"wbr"}
"""Elements that separate two words, with and without a blank."""


class Parser(HTMLParser):
    """Collects the events of a text. A handler makes an event, which gets its raw text when the parser moves on."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.events: list[Event] = []
        self._event = Event("empty", "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._event = start(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._event = Event("empty", "", tag, "block" if tag in _BLOCKS else "inline", breaks=tag in _PARTING)

    def handle_endtag(self, tag: str) -> None:
        self._event = Event("end", "", tag, "block" if tag in _BLOCKS else "inline")

    def handle_data(self, data: str) -> None:
        self._event = Event("text", "")

    def handle_decl(self, decl: str) -> None:
        self._event = Event("empty", "", role="block")

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        return self.parse_bogus_comment(i)  # as browsers do, where Python's own would refuse some

    def parse_pi(self, i: int) -> int:
        """Reads PHP, which no browser sees, up to its own end."""
        if not self.rawdata.startswith(("<?php", "<?="), i):
            return super().parse_pi(i)
        end = self.rawdata.find("?>", i)
        return -1 if end < 0 else end + len("?>")

    def updatepos(self, i: int, j: int) -> int:
        # HTMLParser calls this with the bounds of all that it has handled, after the handler.
        if i < j:
            self.events.append(self._event._replace(raw=self.rawdata[i:j]))
            self._event = Event("empty", "")
        return j


def start(tag: str, attributes: Mapping[str, str | None]) -> Event:
    """Returns the event of a start tag. tag: in small letters."""
    block = tag in _BLOCKS
    if tag in _VOID:
        return Event("empty", "", tag, breaks=tag in _PARTING)
    # Fonts draw icons in place of their names.
    named = re.search(r"(?<!\S)(notranslate(?!\S)|material-(icons|symbols))", attributes.get("class") or "")
    if tag in _KEPT_BLOCKS or tag in _KEPT or named or (attributes.get("translate") or "").lower() == "no":
        return Event("start", "", tag, "kept block" if block or tag in _KEPT_BLOCKS else "kept")
    # An element with an id may not be written twice.
    splits = tag in _SPLIT and "id" not in attributes
    return Event("start", "", tag, "block" if block else "note" if tag == "sup" else "inline", splits=splits)


def events(text: str) -> Iterator[Event]:
    """Yields the events of a document or a line, whatever is wrong with it."""
    parser = Parser()
    # One character for another, so that places in both texts are the same.
    readable = _UNREADABLE.sub("-", text)
    place = 0
    for begin in range(0, len(readable), _AT_ONCE):
        parser.feed(readable[begin : begin + _AT_ONCE])
        for event in parser.events:
            yield event._replace(raw=text[place : place + len(event.raw)])
            place += len(event.raw)
        parser.events.clear()
    # The rest is text, or the beginning of a tag that does not end.
    rest = text[place:]
    if rest:
        begins = rest.startswith("<") or parser.cdata_elem
        yield Event("empty", rest, role="block") if begins else Event("text", rest)


def read(text: str, kept: Kept, name: str = "") -> Iterator[str | Segment]:
    """Yields the blocks of a document, and the text between them."""
    yield from parts(with_characters(events(text)), join, kept)


# Characters.

_REFERENCE = re.compile(r"(&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[a-zA-Z][a-zA-Z0-9]*;?))")
_LONGEST = max(map(len, entities.html5))


def with_characters(found: Iterable[Event]) -> Iterator[Event]:
    """Yields events with texts cut into characters. A reference to no character of a text, such as `&#1;`, is a tag."""
    for event in found:
        if event.kind != "text":
            yield event
            continue
        for number, raw in enumerate(_REFERENCE.split(event.raw)):
            end = _end(raw) if number % 2 else 0
            decoded = html.unescape(raw[:end])
            if end and not is_text(decoded):
                yield Event("empty", raw[:end])
            else:
                # The first of several characters has the raw text of all.
                yield from (Event("text", "" if place else raw[:end], text=one) for place, one in enumerate(decoded))
            yield from characters(raw[end:])


def _end(raw: str) -> int:
    """Returns where a reference ends, 0 where there is none. Old names need no semicolon, and letters may follow."""
    if raw.startswith("&#"):
        return 0 if _UNREADABLE.match(raw) else len(raw)
    # The longest name counts, as in browsers: `&notin;` before `&not`.
    ends = range(min(len(raw), _LONGEST + 1), 1, -1)
    return next((end for end in ends if raw[1:end] in entities.html5), 0)


def is_text(decoded: str) -> bool:
    """Returns whether the characters of a reference can be part of a text."""
    return bool(decoded) and not any(
        character in SYMBOLS
        or character == "\ufffd"
        or (unicodedata.category(character) in ("Cc", "Cn", "Cs") and not character.isspace())
        for character in decoded
    )


def characters(text: str) -> Iterator[Event]:
    """Yields the composed characters (NFC) of a text, each with the raw characters that it was composed of."""
    if unicodedata.is_normalized("NFC", text):
        yield from (Event("text", character, text=character) for character in text)
        return
    for cluster in regex.findall(r"\X", text):
        composed = unicodedata.normalize("NFC", cluster)
        raws = cluster if composed == cluster else (cluster, *("" for _ in composed[1:]))
        yield from (Event("text", raw, text=character) for raw, character in zip(raws, composed, strict=True))


def join(
    written: Sequence[tuple[str, str]], read: Callable[[str], str] = str, write: Callable[[str], str] = str
) -> str:
    """Writes characters as HTML, see `Join`. read, write: from and to the form of the raw texts, such as XML."""
    # From the end, since what follows decides how a character must be written.
    out: list[str] = []
    after = ""
    for character, raw in reversed(written):
        plain = read(raw)
        if character and not stands(character, plain, after):
            plain = html.escape(character, quote=False)
            raw = write(plain)
        out.append(raw)
        after = f"{plain}{after}"[: 2 * _DIGITS]
    return "".join(reversed(out))


def stands(character: str, raw: str, after: str) -> bool:
    """Returns whether the raw text of a character is still read as that character before some other raw text."""
    if raw == "<":
        return after[:1] not in _BEGINS
    if not raw.startswith("&") or raw[1:].endswith(";") or _UNREADABLE.match(raw + after):
        return True
    whole = _REFERENCE.match(raw + after)
    return not whole or html.unescape(whole[0]) == character + whole[0][len(raw) :]


_BEGINS = frozenset(["/", "!", "?", *string.ascii_letters])
"""The characters that make `<` before them the beginning of a tag."""


# Attributes that people read or hear: they are translated before the document, each on its own.

_READ = frozenset(["title", "alt", "placeholder", "aria-label", "aria-description", "aria-placeholder"])
_OF_BUTTONS = frozenset(["button", "submit", "reset"])
_OF_META = re.compile(r"(?:og:|twitter:)?(?:title|description)|og:image:alt|twitter:image:alt")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}")
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)""")


def read_attributes(text: str, kept: Kept, languages: tuple[str, str]) -> list[str | Segment]:
    """Returns a document with its attributes as sentences. Attributes of elements that are not translated stay.

    languages: of source and target; `lang` with the source's language becomes the target's.
    """
    pieces: list[str | Segment] = []
    waiting = iter(events(text))
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
            inner = with_characters([Event("text", value)])
            changed = [*parts(inner, partial(_join_quoted, quote=mark), kept)]
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


def _join_quoted(written: Sequence[tuple[str, str]], quote: str) -> str:
    """Writes characters within quotation marks: see `Join`."""
    escaped = "&quot;" if quote == '"' else "&#39;"
    return join([("", escaped) if raw == quote else (character, raw) for character, raw in written])
