"""Records of marked-up text: a sentence without its tags, and each tag with the characters that it stands around.

The parser of a format yields `Event`s, one for each character, whose raw texts joined are the document.
`mt.markup.blocks` cuts them into blocks, and `segment` makes a `Segment` of each block. Time is in proportion to the
length of the document."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

from mt.data.placeholders import FIRST, SYMBOLS, numbers

ELEMENT = "element "
"""The beginning of the names of elements of XML itself, which are closed in order."""

# Records.


class Event(NamedTuple):
    """A piece of a document as a parser finds it. Within a sentence, texts are cut into characters."""

    kind: Literal["text", "start", "end", "empty", "word"]
    """word: code or a placeholder, which stands in a sentence like a word."""
    raw: str
    """The text in the document."""
    name: str = ""
    """The name of the element, which a start and its end have in common."""
    role: Literal["inline", "block", "note", "kept", "kept block"] = "inline"
    """block: it ends a sentence. note: it may be the raised mark of a footnote. kept: all from this start to its end is
    left as it is, and stands in the sentence like a word. kept block: likewise, and it ends a sentence."""
    splits: bool = False
    """Whether the element may be written several times, around a part of its words each."""
    breaks: bool = False
    """Whether it stands in the place of a blank, as `<br>` does."""
    text: str = ""
    """The one character of a text; of a word the placeholder or code, by which two words are the same."""

    @property
    def says(self) -> bool:
        """Whether it is a visible character."""
        return self.kind == "text" and not self.text.isspace()

    @property
    def speaks(self) -> bool:
        """Whether it is a visible character, and no symbol such as an arrow, a currency or a pictograph."""
        return self.says and not unicodedata.category(self.text).startswith("S")


@dataclass(frozen=True)
class Tag:
    """A pair of tags around characters of a text, or an empty tag, code or placeholder between two characters."""

    begin: int
    end: int
    opening: str
    """The opening tag of a pair, or all of an empty tag."""
    closing: str = ""
    parent: int = -1
    """The number of the pair around it, -1 for none. A pair comes before what is in it."""
    kind: Literal["pair", "empty", "half", "word"] = "empty"
    """half: of a pair that is not closed in order, which shows nothing. word: a placeholder or code, which stands in a
    sentence like a word."""
    splits: bool = False
    """See `Event`."""
    breaks: bool = False
    """See `Event`."""
    blanks: tuple[bool, bool] = (False, False)
    """Whether white space stands before and after an empty one."""


class Token(NamedTuple):
    """A word of a sentence, or a tag, by its number."""

    kind: Literal["open", "close", "empty", "word"]
    number: int


class Gap(NamedTuple):
    """Tags and white space between two visible characters of a sentence."""

    tags: tuple[Token, ...] = ()
    raw: str = ""
    """The text in the document."""


Join = Callable[[Sequence[tuple[str, str]]], str]
"""Writes pairs of a character and how the source writes it (or the character again). Where that would be read as
something else, the character is written in another way. A pair without a character, such as a tag, is written as it
is."""


@dataclass(frozen=True)
class Segment:
    """A sentence, or another text between block elements, without its tags."""

    text: str
    """Composed, with one blank between words, and symbols for placeholders where there are symbols."""
    raws: tuple[str, ...]
    """How the document writes each character of the text: `&` as `&amp;`, and a symbol as its placeholder."""
    gaps: Mapping[int, Gap]
    """The gaps before visible characters, and before the end, by their places in the text. Empty ones are left out."""
    tags: tuple[Tag, ...]
    lead: str
    """The text of the document before the first word, which is written as it is."""
    trail: str
    """The text of the document after the last word, likewise."""
    join: Join
    """How its format writes characters."""

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """How the document writes each punctuation mark where it comes first."""
        spellings: dict[str, str] = {}
        for character, raw, following in zip(self.text, self.raws, [*self.raws[1:], " "], strict=False):
            # A character without a raw text belongs to the raw text before it.
            if raw and following and not character.isalnum() and character not in SYMBOLS:
                spellings.setdefault(character, raw)
        return spellings

    @cached_property
    def symbols(self) -> Mapping[str, tuple[str, ...]]:
        """The placeholders of each symbol of the text, in order."""
        symbols: dict[str, list[str]] = {}
        for character, raw in zip(self.text, self.raws, strict=True):
            if character in SYMBOLS:
                symbols.setdefault(character, []).append(raw)
        return {symbol: tuple(raws) for symbol, raws in symbols.items()}


# From atoms to a segment.


def segment(atoms: Sequence[Event], words: Sequence[int], join: Join, symbols: int) -> Segment:
    """Returns a sentence without its tags. words: [atoms + 1], the visible characters and words before each."""
    partners = partners_of(atoms)
    first, last = _ends(atoms, partners, words)
    numbered = numbers((atom.text for atom in atoms if atom.kind == "word"), symbols)
    sentence = _Sentence(numbered)
    # A pair that holds only tags, code and symbols (`↩`, `▶`) becomes one tag.
    seen = [0, *accumulate(atom.text in numbered if atom.kind == "word" else atom.speaks for atom in atoms)]
    # Each atom goes into the text, or becomes a tag; those around all words are lead and trail.
    place = first
    while place < last:
        atom = atoms[place]
        partner = partners.get(place)
        if atom.kind == "text":
            sentence.add_text(atom)
        elif atom.kind == "word":
            sentence.add_word(atom)
        elif partner is None:
            sentence.add_empty(atom.raw, breaks=atom.breaks, kind="empty" if atom.kind == "empty" else "half")
        # A pair around nothing to translate is one tag.
        elif partner > place and seen[place] == seen[partner]:
            raw = "".join(inner.raw for inner in atoms[place : partner + 1])
            sentence.add_empty(raw, kind="empty" if words[place] == words[partner] else "word")
            place = partner
        elif partner > place:
            sentence.begin(atom, atoms[partner])
        else:
            sentence.end()
        place += 1
    raws = [atom.raw for atom in atoms]
    return sentence.segment("".join(raws[:first]), "".join(raws[last:]), join)


def partners_of(events: Sequence[Event]) -> dict[int, int]:
    """Returns for each start the place of its end, and for each end the place of its start.

    A start without an end, an end without a start, and a start that is closed after the element around it are left out.
    Elements of XML itself always have both, and tags within one have their partners within it.
    """
    partners: dict[int, int] = {}
    # Of each element that is open, the starts within it, and how many of them have each name.
    opened: list[tuple[list[int], Counter[str]]] = [([], Counter())]
    for place, event in enumerate(events):
        starts, names = opened[-1]
        if event.name.startswith(ELEMENT):
            if event.kind == "start":
                opened.append(([place], Counter()))
            elif len(opened) > 1:
                start = opened.pop()[0][0]
                partners |= {start: place, place: start}
        elif event.kind == "start" and event.role != "block":
            starts.append(place)
            names[event.name] += 1
        elif event.kind == "end" and names[event.name]:
            # Starts within the pair that were not closed have no partner.
            start = starts.pop()
            names[events[start].name] -= 1
            while events[start].name != event.name:
                start = starts.pop()
                names[events[start].name] -= 1
            partners |= {start: place, place: start}
    return partners


def _ends(atoms: Sequence[Event], partners: Mapping[int, int], words: Sequence[int]) -> tuple[int, int]:
    """Returns where a sentence begins and ends without the tags and blanks around all of its words."""
    # Step by step from both ends: a pair around all, or a blank, a tag or a pair without words at one end.
    first = 0
    last = len(atoms)
    loose = [atom.text.isspace() if atom.kind == "text" else atom.kind != "word" for atom in atoms]
    while True:
        after = partners.get(first)
        before = partners.get(last - 1)
        if after == last - 1:
            first += 1
            last -= 1
        elif loose[first] and (after is None or words[after] == words[first]):
            first = first + 1 if after is None else after + 1
        elif loose[last - 1] and (before is None or words[before] == words[last]):
            last = last - 1 if before is None else before
        else:
            return first, last


class _Sentence:
    """Builds a segment from the atoms of a sentence, one by one."""

    def __init__(self, numbered: Mapping[str, int]) -> None:
        self._numbered = numbered
        self._text: list[str] = []
        self._raws: list[str] = []
        self._gaps: dict[int, Gap] = {}
        self._tags: list[Tag] = []
        self._open: list[int] = []
        self._blank = False  # whether white space came last
        self._waiting: list[int] = []  # the empty tags after the last character
        # Tags and raw texts since the last visible character.
        self._tokens: list[Token] = []
        self._between: list[str] = []

    def add_text(self, atom: Event) -> None:
        """Adds a character; white space becomes one blank."""
        self._follow(blank=atom.text.isspace())
        if atom.text.isspace():
            self._between.append(atom.raw)
            self._separate()
        else:
            self._add(atom.text, atom.raw)

    def add_word(self, atom: Event) -> None:
        """Adds the symbol of a placeholder, or a tag where there is no symbol for it."""
        number = self._numbered.get(atom.text)
        if number is None:
            self.add_empty(atom.raw, kind="word")
        else:
            self._follow(blank=False)
            self._add(chr(FIRST + number), atom.raw)

    def add_empty(self, raw: str, *, breaks: bool = False, kind: Literal["empty", "half", "word"] = "empty") -> None:
        """Adds an empty tag, code, or a placeholder without a symbol."""
        if breaks:
            self._separate()
        place = len(self._text)
        self._waiting.append(len(self._tags))
        self._note("empty", len(self._tags), raw)
        self._tags.append(Tag(place, place, raw, "", self._parent, kind, breaks=breaks, blanks=(self._blank, False)))
        # To the tags after it, code is a word.
        self._blank = self._blank and kind != "word"

    def begin(self, start: Event, end: Event) -> None:
        """Begins a pair of tags."""
        self._note("open", len(self._tags), start.raw)
        self._tags.append(Tag(len(self._text), 0, start.raw, end.raw, self._parent, "pair", start.splits))
        self._open.append(len(self._tags) - 1)

    def end(self) -> None:
        """Ends the pair that was begun last."""
        number = self._open.pop()
        self._note("close", number, self._tags[number].closing)
        self._tags[number] = replace(self._tags[number], end=len(self._text))

    def segment(self, lead: str, trail: str, join: Join) -> Segment:
        """Returns the segment when all atoms are added."""
        text = "".join(self._text).rstrip()
        self._close_gap(len(text))
        return Segment(text, tuple(self._raws[: len(text)]), self._gaps, tuple(self._tags), lead, trail, join)

    @property
    def _parent(self) -> int:
        return self._open[-1] if self._open else -1

    def _add(self, character: str, raw: str) -> None:
        self._close_gap(len(self._text))
        self._text.append(character)
        self._raws.append(raw)

    def _note(self, kind: Literal["open", "close", "empty"], number: int, raw: str) -> None:
        self._tokens.append(Token(kind, number))
        self._between.append(raw)

    def _close_gap(self, place: int) -> None:
        if self._between:
            self._gaps[place] = Gap(tuple(self._tokens), "".join(self._between))
            self._tokens.clear()
            self._between.clear()

    def _separate(self) -> None:
        if self._text and self._text[-1] != " ":
            self._text.append(" ")
            self._raws.append(" ")

    def _follow(self, *, blank: bool) -> None:
        """Notes what stands after the empty tags that came last."""
        for number in self._waiting if blank else ():
            self._tags[number] = replace(self._tags[number], blanks=(self._tags[number].blanks[0], True))
        self._waiting.clear()
        self._blank = blank
