"""Placeholders of messages, and the numbered symbols that stand for them in a vocabulary.

The toolkit that fills a placeholder decides how it looks. Each syntax has a name (`SYNTAXES`), and options choose among
them. The default (`SAFE`) are the syntaxes that ordinary text does not contain.

A symbol is one character of Unicode's private use, which every tokenizer and every rule for words keeps whole. Its
number is a hash of the placeholder. So both sides of a pair agree on it without seeing each other, and a stream knows
it at once."""

import functools
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import regex

from mt.errors import require_choice

FIRST = 0xF500
"""The first symbol's code point."""
MOST = 64
"""The most symbols of a vocabulary."""
RESERVED = "\x1f"
"""The beginning of names of special pieces while a vocabulary is learnt, so that no text contains them."""
SYNTAX = f"{RESERVED}placeholders:"
"""Stands before the names of syntaxes in the file of a vocabulary with symbols."""
SYMBOLS = "".join(chr(FIRST + number) for number in range(MOST))

Span = tuple[int, int]

# The syntaxes.


class Syntax(NamedTuple):
    """One way of writing placeholders."""

    pattern: str
    examples: str
    """Some placeholders, separated by blanks, for pages and tests."""
    in_braces: bool = False
    """Whether the pattern matches from a brace to the brace that closes it."""
    is_safe: bool = True
    """Whether ordinary text does not contain such placeholders."""


_TOKEN = r"[^\s{}\"<>]{0,100}+"
_FLAGS = r"(?:\d{1,3}\$)?[-+0#']*(?:\*(?:\d{1,3}\$)?|\d{1,4})?(?:\.(?:\*(?:\d{1,3}\$)?|\d{0,4}))?"
_CONVERSION = r"(?:hh?|ll?|[qLjzt]|I64|I32)?[sSdiouxXfFeEgGc@]"
_INTERVAL = r"(?:\{-?\d+(?:,-?\d+)*\}|[\[\]](?:-Inf|-?\d+),(?:\+?Inf|-?\d+|\*)[\[\]])"
# Two conversions with a letter or two between, as `%dx%d`, are not the `%dx%` of Symfony.
_TWO = rf"%{_CONVERSION}\p{{L}}{{0,2}}+%{_CONVERSION}\p{{L}}{{0,2}}+(?!\w)"

_IN_ADDRESS = r"[!#-'*-;=?-z~]"
ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{{1,20}}+://|(?i:www\.|mailto:))"
    rf"(?:{_IN_ADDRESS}|\({_IN_ADDRESS}*\)|\{{{_IN_ADDRESS}*\}})+(?<![.,:;!?'*\]])"
    r"|(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}+\.)+[A-Za-z]{2,}"
)
"""An address of the web or of mail. It is ASCII, since in Chinese and Japanese no blank ends it, and marks at its end
belong to the sentence."""

SYNTAXES: Mapping[str, Syntax] = {
    # The first one, since others may stand in it: `https://example.com/%s`.
    "address": Syntax(ADDRESS.pattern, "https://example.com/a_(b)?c=%s www.example.com mailto:me@example.com me@x.org"),
    "braces": Syntax(
        rf"[$%#]\{{[^\n]{{0,400}}+|\{{\s*+{_TOKEN}\s*+\}}|\{{\{{.*\}}\}}|\{{%.*%\}}|\{{#.*#\}}"
        r"|\{[\w.\[\]-]*+(?:![rsa])?:(?:%|[^{}]?[<>=^]).*",
        "{} {0} {name} {user.name} {0:.2f} {n:>10} {{name}} ${name} %{name} #{name}",
        in_braces=True,
    ),
    "fluent": Syntax(
        r"\{\s*+(?:\$|-\p{L}|\"|[A-Z][A-Z0-9_-]*+\().*",
        '{$url} {-brand} {NUMBER($n)} {"{"}',
        in_braces=True,
    ),
    "icu": Syntax(
        r"\{\s*+[\w.-]++\s*+,\s*+(?:plural|selectordinal|select|choice|number|date|time|spellout|ordinal|duration|list)"
        r"\s*+[,}].*",
        "{n,number} {d,date,short} {n,plural,one{#}other{#}}",
        in_braces=True,
    ),
    "python": Syntax(r"%\([^()\s]{1,80}\)[-+0#]*[\d.]*[a-zA-Z]", "%(name)s %(n)05.1f"),
    "boost": Syntax(r"%\d{1,2}%|%\|[^|\s]{1,40}\|", "%1% %|2$05|"),
    "symfony": Syntax(
        rf"(?!{_TWO})%[A-Za-z_]\w{{0,80}}+(?:[.-]\w++)*+%(?<!%{_CONVERSION}%(?=[\w%@.$*+#-]))"
        # What stands before each text of a plural, as in Laravel: `{0} none|{1} one|]1,Inf] many`.
        rf"|^{_INTERVAL}(?=[^|]*\|{_INTERVAL})|\|{_INTERVAL}",
        "%name% %count% %user.name% |]1,Inf]",
    ),
    "printf": Syntax(rf"%%|%arg\b|%{_FLAGS}(?:@\w+@|{_CONVERSION})", "%s %d %1$s %-5.2f %05d %lld %.*f %@ %#@n@ %%"),
    "chrome": Syntax(r"\$[A-Za-z_][\w@]{0,80}\$", "$NAME$"),
    "dtd": Syntax(r"(?<!\w)&[A-Za-z][\w.-]{0,80};", "&brandShortName;"),
    "qt": Syntax(r"%L?\d{1,2}(?!\d)|%L?n(?![\w])", "%1 %L1 %n %Ln", is_safe=False),
    "strftime": Syntax(r"%[-_0^#]?[aAbBcdDeFgGhHIjklmMnpPrRsSTuUVwWxXyYzZ]", "%Y %m %H", is_safe=False),
    "laravel": Syntax(r"(?<![\w:]):[A-Za-z]\w*+", ":name", is_safe=False),
    "drupal": Syntax(r"(?<!\w)[@!%][A-Za-z][\w-]*+", "@count !link %name", is_safe=False),
    "i18next": Syntax(r"\$t\([^()\n]{1,200}+\)", "$t(key)", is_safe=False),
}
"""The syntaxes by name; the first that matches counts."""
SAFE = tuple(name for name, syntax in SYNTAXES.items() if syntax.is_safe)

_BRACE = regex.compile(r"\{\s*\"[{}]+\"\s*\}|'[{}]|[{}]")
"""A brace; a brace that Fluent quotes, with its quotation; a brace that ICU quotes, with the apostrophe."""
_OF_ICU = regex.compile(r"\{\s*+[\w.-]{1,80}+\s*+,\s*+(?:plural|selectordinal|select|choice)\s*+(?:,|$)")
_ESCAPED = regex.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPED_IN_WORD = regex.compile(r"(?<=\w)%(?:[2-9][0-9A-Fa-f]|[C-Fc-f][0-9])")
_NUMBER = regex.compile(r"\d[ \u00a0\u202f]?\Z")


class Placeholders:
    """Finds the placeholders of some syntaxes in texts, in linear time."""

    def __init__(self, names: Iterable[str] = SAFE) -> None:
        """names: of the syntaxes. Raises UserError where there is no such syntax."""
        self.names = tuple(names)
        for name in self.names:
            require_choice("a syntax of placeholders", name, SYNTAXES)
        # Addresses are found apart: among the others they would make all take five times as long.
        chosen = [syntax for name, syntax in SYNTAXES.items() if name in self.names and name != "address"]
        in_braces = [syntax.pattern for syntax in chosen if syntax.in_braces]
        self._in_braces = regex.compile("|".join(in_braces) or "(?!)", regex.DOTALL)
        # A symbol in the text itself is a placeholder, too.
        others = [syntax.pattern for syntax in chosen if not syntax.in_braces]
        self._others = regex.compile("|".join([*others, f"[{SYMBOLS[0]}-{SYMBOLS[-1]}]"]))

    def spans(self, text: str) -> list[Span]:
        """Returns where placeholders begin and end, in order. Of placeholders that overlap, the first one counts."""
        addresses = [match.span() for match in ADDRESS.finditer(text)]
        kept = addresses if "address" in self.names else []
        braces = self._of_braces(text) if "{" in text else ()
        spans = []
        end = 0
        # Of those that begin together the longest comes first.
        found = [*kept, *braces, *self._of_others(text, addresses)]
        for span in sorted(found, key=lambda span: (span[0], -span[1])):
            if span[0] >= end:
                spans.append(span)
                end = span[1]
        return spans

    def masked(self, text: str, count: int, before: list[str] | None = None) -> tuple[str, dict[str, str]]:
        """Returns a text with symbols in place of its placeholders, and the placeholder of each symbol.

        count: how many symbols there are. before: the placeholders so far in a stream, to which these are added.
        """
        if not count:
            return text, {}
        spans = self.spans(text)
        placeholders = [] if before is None else before
        placeholders += (text[begin:end] for begin, end in spans)
        # Where two share a hash the earlier one keeps its number, so that those before in a stream come first.
        symbols = {found: chr(FIRST + i) for found, i in numbers(placeholders, count).items()}
        parts = []
        done = 0
        for begin, end in spans:
            parts += [text[done:begin], symbols.get(text[begin:end], text[begin:end])]
            done = end
        return "".join([*parts, text[done:]]), {symbol: found for found, symbol in symbols.items()}

    def _of_braces(self, text: str) -> Iterator[Span]:
        """Yields the outermost pairs of braces that are placeholders."""
        done = 0
        for begin, end in sorted(_pairs_of_braces(text, icu="icu" in self.names)):
            # A mark before the brace belongs to it, as in `${name}`.
            for first in (begin - 1, begin):
                if first >= done and self._in_braces.fullmatch(text, first, end) and text[first] in "{$%#":
                    yield first, end
                    done = end
                    break

    def _of_others(self, text: str, addresses: Iterable[Span]) -> Iterator[Span]:
        """Yields the placeholders without braces, but for percent signs of addresses and numbers."""
        in_address = {place for span in addresses for place in range(*span)}
        last = 0
        for match in self._others.finditer(text):
            begin, end = match.span()
            if match[0][0] == "%" and match[0] != "%%":
                # A percent sign after a number, or an escape of an address.
                escaped = _ESCAPED if begin in in_address else _ESCAPED_IN_WORD
                if last != begin and escaped.match(text, begin):
                    continue
                follows = text[end : end + 1]
                if _NUMBER.search(text, max(begin - 2, 0), begin) and (follows.isalpha() or follows in ("'", "’")):
                    continue
            yield begin, end
            last = end


def _pairs_of_braces(text: str, *, icu: bool) -> Iterator[Span]:
    """Yields all pairs of braces. icu: whether a plural of ICU that is not closed reaches to the end."""
    opened: list[int] = []
    of_icu: list[int] = []  # open plurals of ICU, within which an apostrophe quotes
    place = 0
    while match := _BRACE.search(text, place):
        begin, place = match.span()
        kind = match[0]
        # A brace that Fluent quotes is a placeholder by itself.
        if len(kind) > 2:
            yield begin, place
        elif kind[0] == "'" and of_icu:
            # Within a plural of ICU all up to the next apostrophe is quoted.
            closing = text.find("'", place)
            place = closing + 1 if closing >= 0 else len(text)
        elif kind[-1] == "{":
            if icu and _OF_ICU.match(text, place - 1):
                of_icu.append(place - 1)
            opened.append(place - 1)
        elif opened:
            first = opened.pop()
            if of_icu and of_icu[-1] == first:
                of_icu.pop()
            yield first, place
    if of_icu:
        yield of_icu[0], len(text)


# Symbols.


@functools.lru_cache(maxsize=64)
def placeholders_of(names: tuple[str, ...]) -> Placeholders:
    """Returns the finder of placeholders of these syntaxes, which is made once."""
    return Placeholders(names)


def numbers(texts: Iterable[str], count: int) -> dict[str, int]:
    """Returns the numbers, from 0, of the symbols of the placeholders of one text. count: how many symbols there are;
    further placeholders have none.

    If two placeholders have the same hash, the later one takes the next free number.
    """
    chosen: dict[str, int] = {}
    for text in list(dict.fromkeys(texts))[:count]:
        first = (ord(text) - FIRST if text in SYMBOLS else zlib.crc32(text.encode())) % count
        chosen[text] = next(i for i in (*range(first, count), *range(first)) if i not in chosen.values())
    return chosen
