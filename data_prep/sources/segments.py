"""The text of a segment of a translation memory, among the codes of a word processor (TMX 1.4b, "Content markup")."""

import html.entities
import re
from collections.abc import Mapping

import regex

_CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements whose contents are codes, and no text; `sub` inside them is text of another flow, as of a footnote."""
_FORMATS = {"bold", "color", "dulined", "font", "italic", "scap", "ulined"}
"""Types of codes that change how letters look, also inside of a word."""
_LINE_END = re.compile(r"\s*[\r\n]\s*")
_SPACED = regex.compile(r"[[\w\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1)
"""Letters of scripts whose words stand apart by blanks."""


def character(name: str) -> str | None:
    """Returns what an entity of HTML stands for, as `nbsp` or `euro`; None where there is no such."""
    return html.entities.html5.get(f"{name};")


class Segment:
    """Collects the text between codes. A code between two letters leaves a blank, so that words before and after a line
    break, say, stay apart; but none where its type says that it is of a format, as in `<bpt type="bold">`. `hi` marks
    text, and takes nothing out of it."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._depth = 0  # how many elements of codes are open
        self._formats: set[str] = set()  # the numbers of those that wait for their other end
        self._apart = False  # whether what follows is another word

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Reads the beginning of an element inside the segment."""
        if name in _CODES:
            self._depth += 1
            number = attributes.get("i", "")
            formats = attributes.get("type", "").lower() in _FORMATS or (name == "ept" and number in self._formats)
            if formats and name == "bpt":
                self._formats.add(number)
            self._apart = self._apart or (self._depth == 1 and not formats)
        elif name == "sub":
            self._apart = self._apart or not self._depth

    def end(self, name: str) -> None:
        if name in _CODES:
            self._depth -= 1
        elif name == "sub":
            self._apart = self._apart or not self._depth

    def read(self, text: str) -> None:
        if self._depth or not text:
            return
        if self._apart and self._text and _SPACED.match(self._text[-1][-1]) and _SPACED.match(text[0]):
            self._text.append(" ")
        self._text.append(text)
        self._apart = False

    def text(self) -> str:
        """Returns the text, with a blank for each line end in it."""
        return _LINE_END.sub(" ", "".join(self._text)).strip()
