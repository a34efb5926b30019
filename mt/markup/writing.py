"""Writes a translation with the tags of its source, and with the white space and spellings of the source."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mt.data.placeholders import SYMBOLS
from mt.markup.placing import Placing, ordered
from mt.markup.segments import Gap, Segment, Tag, Token
from mt.markup.words import UNSURE, Linked, Words

CLOSING = frozenset(".,;:!?)]}»”…、。，！？：；）")
"""Marks that no blank is put before."""


def written(segment: Segment, linked: Linked) -> str:
    """Returns a translation with the tags of its source, and with what stands around the sentence."""
    # Words of both sides, and from these the places of the tags.
    segment, linked = with_its_symbols(segment, linked)
    cuts = sorted({place for tag in segment.tags for place in (tag.begin, tag.end)})
    words = Words.of(segment.text, linked, cuts)
    placing = Placing(words, segment.tags)
    placing.run()
    # Words in order, each after the tags and blanks before it.
    writer = _Writer(segment, linked, words)
    out: list[tuple[str, str]] = []
    between: list[Token] = []
    for token in ordered(placing, len(words.target)):
        if token.kind == "word":
            out += [("", writer.gap(token.number, between)), *writer.word(token.number)]
            between = []
        else:
            between.append(token)
    out.append(("", writer.gap(len(words.target), between)))
    return f"{segment.lead}{segment.join(out)}{segment.trail}"


class _Writer:
    """Writes the words of a translation, and the gaps between them.

    A word that is linked to itself is written as in the source. So is a gap between two words that are neighbours in
    the source, too, with the same tags between them.
    """

    def __init__(self, segment: Segment, linked: Linked, words: Words) -> None:
        self._segment = segment
        self._text = linked.text
        self._marks = {begin: UNSURE[0] for begin, _ in linked.unsure}, {end: UNSURE[1] for _, end in linked.unsure}
        self._words = words

    def word(self, number: int) -> Iterable[tuple[str, str]]:
        """Yields the characters of a word as `Join` takes them, with the marks of words that are probably wrong."""
        before, after = self._marks
        for place, spelt in enumerate(self._spelt(number), start=self._words.target[number][0]):
            yield from [("", before.get(place, "")), spelt, ("", after.get(place + 1, ""))]

    def _spelt(self, number: int) -> Iterable[tuple[str, str]]:
        """Returns the characters of a word, each with how the source writes it."""
        text = self._words.text(1, number)
        origin = self._words.origins[number]
        if origin >= 0 and text == self._words.text(0, origin):
            return zip(text, self._segment.raws[slice(*self._words.source[origin])], strict=True)
        spellings = self._segment.spellings
        return [(character, spellings.get(character, character)) for character in text]

    def gap(self, number: int, tags: Sequence[Token]) -> str:
        """Returns the tags and white space before a word of the translation, or at the end of it."""
        begin = self._words.target[number - 1][1] if number else 0
        end = self._words.target[number][0] if number < len(self._words.target) else begin
        if self._neighbours(number):
            origin = self._words.origins[number - 1] + 1 if number else 0
            gap = self._segment.gaps.get(self._begin(origin), Gap())
            if gap.tags == (*tags,):
                return gap.raw
        return self._between(number, tags, self._text[begin:end])

    def _begin(self, origin: int) -> int:
        """Returns where a source word begins, or where the source ends."""
        return self._words.source[origin][0] if origin < len(self._words.source) else len(self._segment.text)

    def _neighbours(self, number: int) -> bool:
        """Returns whether a word and the one before it are neighbours in the source, with a blank between them on both
        sides or on neither."""
        origins = self._words.origins
        target = self._words.target
        # The ends of the sentence count as words before its first one and after its last one.
        before = origins[number - 1] if number else -1
        after = origins[number] if number < len(target) else len(self._words.source)
        if after != before + 1 or (number > 0 and before < 0):
            return False
        if number in (0, len(target)):
            return True
        is_parted = target[number - 1][1] < target[number][0]
        return is_parted == (self._words.source[before][1] < self._words.source[after][0])

    def _joined(self, tag: Tag, number: int) -> tuple[bool, bool]:
        """Returns whether the words before and after a tag are the same as in the source, and touch it there."""
        origins = self._words.origins
        source = self._words.source
        before = self._stays(number - 1) and not tag.blanks[0] and source[origins[number - 1]][1] == tag.begin
        after = self._stays(number) and not tag.blanks[1] and source[origins[number]][0] == tag.begin
        return before, after

    def _needs_blank(self, tag: Tag, number: int) -> bool:
        """Returns whether a tag that stands for a word, such as code, needs a blank to part it from the word before."""
        last = self._text[self._words.target[number - 1][1] - 1]
        # From Thai on (U+0E00) come the scripts that write no blanks between words.
        is_parted = last < "\u0e00" and (last.isalnum() or last in CLOSING)
        return tag.kind == "word" and is_parted and not self._joined(tag, number)[0]

    def _stays(self, number: int) -> bool:
        """Returns whether a word of the translation is linked to a word of the source, and a mark to the same mark."""
        words = self._words
        if not 0 <= number < len(words.origins) or (origin := words.origins[number]) < 0:
            return False
        word = words.text(0, origin)
        return word == words.text(1, number) or any(letter.isalnum() for letter in word)

    def _between(self, number: int, tokens: Sequence[Token], blank: str) -> str:
        """Returns the tags between two words, with blanks where the source has them. blank: the white space between the
        words of the translation."""
        tags = self._segment.tags
        if any(tags[n].breaks and not any(tags[n].blanks) for kind, n in tokens if kind == "empty"):
            blank = ""  # a tag such as <br> takes its place
        at_end = number == len(self._words.target)
        # Whether what follows is a word that a blank may stand before.
        before_word = not at_end and self._text[self._words.target[number][0]] not in CLOSING
        # Each tag has blanks where it has some in the source, and the words are parted once.
        out = []
        due = blank
        parted = not number  # whether nothing, or a blank, stands before
        for kind, n in tokens:
            tag = tags[n]
            # A blank that is due comes after closing tags, before an opening one.
            if kind == "close":
                out.append(tag.closing)
                continue
            joined = self._joined(tag, number)
            apart = kind == "open" or tag.blanks[0] or (tag.kind == "word" and not joined[0])
            before = due if apart else ""
            shows = kind == "empty" and tag.kind != "half"
            if shows and not parted and (tag.blanks[0] or (not out and self._needs_blank(tag, number))):
                before = before or " "
            out += [before, tag.opening]
            due = "" if before else due
            parted = kind == "open" and (parted or bool(before))
            follows = tag.blanks[1] or (tag.kind == "word" and bool(blank) and not joined[1])
            if shows and follows and not at_end and (before_word or tag.kind == "empty"):
                out.append(" ")
                due = ""
                parted = True
        return "".join([*out, due])


def with_its_symbols(segment: Segment, linked: Linked) -> tuple[Segment, Linked]:
    """Returns both, so that the translation has each symbol of the source once. Symbols that it has too often are left
    out, and placeholders that it lacks become empty tags."""
    if not segment.symbols and not any(symbol in linked.text for symbol in SYMBOLS):
        return segment, linked
    # The translation without surplus symbols and doubled blanks, and the new places of its characters.
    left = Counter({symbol: len(raws) for symbol, raws in segment.symbols.items()})
    kept: list[str] = []
    places: dict[int, int] = {}
    for place, character in enumerate(linked.text):
        surplus = character in SYMBOLS and not left[character]
        doubled = character == " " and (not kept or kept[-1] == " ")
        if not surplus and not doubled:
            left[character] -= character in SYMBOLS
            places[place] = len(kept)
            kept.append(character)
    links = [(i, places[j]) for i, j in linked.links if j in places]
    # Placeholders that it lacks; of several with one symbol, the last ones.
    tags = [*segment.tags]
    for symbol, raws in segment.symbols.items():
        found = [place for place, character in enumerate(segment.text) if character == symbol]
        for number in range(len(raws) - left[symbol], len(raws)):
            tags.append(_as_tag(segment, found[number], raws[number]))
    # By their last characters, since the place behind one may have been left out.
    ends = [(begin, end - 1) for begin, end in linked.unsure]
    unsure = [(places[first], places[last] + 1) for first, last in ends if first in places and last in places]
    return replace(segment, tags=tuple(tags)), Linked("".join(kept).rstrip(), links, unsure)


def _as_tag(segment: Segment, place: int, raw: str) -> Tag:
    """Returns the placeholder at a place of a sentence as a tag. raw: its text."""
    around = [number for number, tag in enumerate(segment.tags) if tag.kind == "pair" and tag.begin <= place < tag.end]
    blanks = (segment.text[:place].endswith(" "), segment.text[place + 1 :].startswith(" "))
    return Tag(place, place, raw, parent=around[-1] if around else -1, kind="word", blanks=blanks)
