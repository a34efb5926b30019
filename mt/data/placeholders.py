"""Placeholders of messages: what is one, and the numbered symbols that stand for them in a vocabulary.

A symbol is one character of Unicode's private use, so that every tokenizer, and every rule of what a word is, has it as
one. Its number follows from the text of the placeholder alone. So both sides of a pair agree on it without seeing each
other, and a stream knows it at once."""

import zlib
from collections.abc import Iterable

import regex

FIRST = 0xF500
"""The first symbol's code point."""
MOST = 64
"""Symbols that there can be."""
RESERVED = "\x1f"
"""Stands before names of special pieces while a vocabulary is learnt, so that no text holds them; of tags always."""
SYMBOLS = "".join(chr(FIRST + number) for number in range(MOST))

# Braces in braces up to the third level, each of bounded length, so that unclosed ones cost no more than their length.
_INNER = r"[^{}\n]{0,400}+"
_BRACES = rf"\{{{_INNER}(?:\{{{_INNER}(?:\{{{_INNER}\}}{_INNER}){{0,40}}+\}}{_INNER}){{0,40}}+\}}"
PLACEHOLDER = regex.compile(
    rf"[$%#]?{_BRACES}"  # {name}, {{x}}, { $url }, ${name}, %{name}, {count, plural, one {# file} other {# files}}
    r"|%\([\w.-]{1,80}\)[-+0#]*[\d.]*[a-zA-Z]"  # %(name)s
    r"|%%|(?<!\d)%(?:\d{1,3}\$)?[-+0#]*\d{0,4}(?:\.\d{1,4})?(?:hh?|ll?|[qzLtj])?[sdiufFeEgGxXoc@]"  # %s, %1$s, %.2f, %@
    r"|\$[A-Za-z_][\w@]{0,80}\$"  # $NAME$
    r"|&[A-Za-z][\w.-]{0,80};"  # an entity of somebody's own
    rf"|[{SYMBOLS[0]}-{SYMBOLS[-1]}]"  # a text that holds a symbol itself
)
"""What is kept whole."""


def numbers(texts: Iterable[str], count: int) -> dict[str, int]:
    """Returns the number of each placeholder, from 0, of those of one text. count: of the symbols; further
    placeholders have none.

    Two that would have one number take it in the order in which they come, the later one the next that is free.
    """
    chosen: dict[str, int] = {}
    for text in dict.fromkeys(texts):
        if len(chosen) == count:
            break
        number = (ord(text) - FIRST if text in SYMBOLS else zlib.crc32(text.encode())) % count
        while number in chosen.values():
            number = (number + 1) % count
        chosen[text] = number
    return chosen


def tag_pieces(count: int) -> list[str]:
    """Returns the names of the symbols of learnt tags: of each number an opening, a closing and an empty one."""
    return [f"{RESERVED}{form.format(number)}" for number in range(count) for form in ("<{}>", "</{}>", "<{}/>")]


def masked(text: str, count: int, before: list[str] | None = None) -> tuple[str, dict[str, str]]:
    """Returns a text with symbols for its placeholders, and the placeholder of each symbol. before: those that came
    before in a stream, to which these are added."""
    if not count:
        return text, {}
    placeholders = [] if before is None else before
    placeholders += PLACEHOLDER.findall(text)
    symbols = {found: chr(FIRST + i) for found, i in numbers(placeholders, count).items()}
    masked_text = PLACEHOLDER.sub(lambda match: symbols.get(match[0], match[0]), text) if symbols else text
    return masked_text, {symbol: found for found, symbol in symbols.items()}
