"""Markdown, by markdown-it-py, whose rules say where each construct of a line begins and ends.

What is not translated comes back byte for byte: code, HTML blocks, front matter, addresses, and the marks of lines."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from mt.errors import UserError
from mt.markup import html
from mt.markup.segments import Event, Segment, parts

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class _Span(NamedTuple):
    """What a rule has read of the text of a block."""

    begin: int
    end: int
    rule: str
    tokens: Sequence["Token"]
    """Those that it has made, whose types say later what they are."""


def read(text: str, symbols: int = 0) -> Iterator[str | Segment]:
    """Yields the sentences of a document, one a block, and what is between them. Raises UserError where the parser is
    not installed."""
    front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    body = text[front.end() :] if front else text
    yield front[0] if front else ""
    # Each block of text stands in the document as it is, or is left alone; between blocks all is as it was.
    lines = body.split("\n")
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    done = 0
    spans: dict[int, list[_Span]] = {}
    for token in _parser(spans).parse(body):
        if token.type == "inline" and token.map and token.children is not None:
            places = _places(token.content, lines, begins, token.map[0], done)
            if places is not None:
                yield body[done : places[0]]
                raws = [body[begin:end] for begin, end in pairwise(places)]
                yield from parts(_events(spans.get(id(token.children), ()), raws), spelled, symbols)
                done = places[-1]
    yield body[done:]


def _parser(spans: dict[int, list[_Span]]) -> "MarkdownIt":
    """Returns a parser that notes the spans of rules, by the list that their tokens go to."""
    try:
        from markdown_it import MarkdownIt  # Not above: it is optional.
    except ImportError:
        raise UserError(
            "format=markdown is read by markdown-it-py, which is not installed: install attentive-mt[markup]"
        ) from None

    def noting(rule: Callable[..., bool], name: str) -> Callable[..., bool]:
        def noted(state: Any, silent: bool) -> bool:
            begin = state.pos
            count = len(state.tokens)
            done = rule(state, silent)
            if done and not silent:
                of_block = spans.setdefault(id(state.tokens), [])
                of_block.append(_Span(begin, state.pos, name, state.tokens[count:]))
            return done

        return noted

    # Of what Markdown has beside CommonMark, tables and strikethrough; texts stay in the pieces that rules have read.
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["text_join", "fragments_join"])
    rules = parser.inline.ruler
    for name, rule in zip(rules.get_active_rules(), rules.getRules(""), strict=True):
        rules.at(name, noting(rule, name))
    return parser


def _places(content: str, lines: Sequence[str], begins: Sequence[int], first: int, done: int) -> list[int] | None:
    """Returns where the characters of a block's text stand in the document, and its end; None where they are not there
    as they are. first: its first line. done: where the block before ended."""
    places: list[int] = []
    for number, line in enumerate(content.split("\n"), start=first):
        at = lines[number].find(line, max(done - begins[number], 0)) if number < len(lines) else -1
        if at < 0:
            return None
        places += range(begins[number] + at, begins[number] + at + len(line) + 1)
    return places


def _events(spans: Sequence[_Span], raws: Sequence[str]) -> Iterator[Event]:
    """Yields the events of a block. raws: of each of its characters, what the document has for it."""
    place = 0
    links: list[_Span] = []
    waiting = [*sorted(spans, key=lambda span: (span.begin, -span.end)), _Span(len(raws), len(raws), "end", ())]
    for span in waiting:
        # What ends before this span: links, and the text between.
        while links and links[-1].end <= span.begin:
            yield Event("end", "".join(raws[place : links[-1].end]), f"link {links[-1].begin}")
            place = links.pop().end
        if place < span.begin:
            yield Event("text", "".join(raws[place : span.begin]))
        # The span itself, by what its rule has made of it.
        raw = "".join(raws[span.begin : span.end])
        types = [token.type for token in span.tokens]
        place = span.end
        if span.rule == "link":
            yield Event("start", raws[span.begin], f"link {span.begin}")
            links.append(span)
            place = span.begin + 1
        elif span.rule in ("emphasis", "strikethrough"):
            yield from _marks(span, raws)
        elif "hardbreak" in types:
            yield Event("empty", raw if span.rule == "escape" else f"  {raw}", breaks=True)
        elif "html_inline" in types:
            yield from html.events(raw)
        elif "code_inline" in types or span.rule == "autolink":
            yield Event("word", raw)
        elif raw:
            yield Event("empty" if "image" in types else "text", raw)


def _marks(span: _Span, raws: Sequence[str]) -> Iterator[Event]:
    """Yields the marks of a run such as `**`, of which some may be text."""
    count = span.end - span.begin
    widths = [1] * count if span.rule == "emphasis" else [1] * (count % 2) + [2] * (count // 2)
    place = span.begin
    found: list[Event] = []
    half = ""  # of a mark of two characters
    for width, token in zip(widths, span.tokens[-len(widths) :], strict=True):
        raw = half + "".join(raws[place : place + width])
        place += width
        half = ""
        name, _, side = token.type.partition("_")
        if side in ("open", "close"):
            found.append(Event("start" if side == "open" else "end", raw, name, splits=True))
        elif token.content:
            found.append(Event("text", raw))
        elif found and found[-1].name == "strong" and found[-1].kind == "end" and len(found[-1].raw) == 1:
            found[-1] = found[-1]._replace(raw=found[-1].raw + raw)
        else:
            half = raw
    yield from found


_ESCAPED = re.compile(r"(\\[!-/:-@\[-`{-~])")
_SPECIAL = re.compile(r"[\\`*_\[\]<|]|~~|&(?=#?\w+;)|^[-+#>=](?=\s|[-+#>=]|$)|(?<=^\d)[.)]|(?<=^\d\d)[.)]")


def spelled(raw: str) -> Iterator[tuple[str, str]]:
    """Yields the characters of a raw text, each with how it is written: see `Spelled`."""
    if raw.startswith("\n"):
        yield " ", raw  # with what begins the next line
        return
    for piece in _ESCAPED.split(raw):
        if _ESCAPED.fullmatch(piece):
            yield piece[1], piece
        else:
            yield from html.spelled(piece)


def escaped(text: str, spellings: Mapping[str, str]) -> list[str]:
    """Returns how Markdown writes each character of a text, with the spellings of the source."""
    written = [spellings.get(character, character) for character in text]
    for match in _SPECIAL.finditer(text):
        character = match[0][0]
        inside = character == "_" and text[match.start() - 1 : match.start()].isalnum()
        if character not in spellings and not inside:
            written[match.start()] = "\\" + character
    return written
