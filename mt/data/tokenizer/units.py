"""What alignments link, and the unit that each piece of a text belongs to."""

import bisect
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from mt.common.comparable import normalize
from mt.data.tokenizer.marks import offsets_of_characters
from mt.data.words import words

Unit = Literal["word", "char"]
"""What a stream reads and writes, and alignments link."""
LinkUnit = Literal["word", "char", "spaced"]
"""What alignments link: words and punctuation marks (`mt.data.words.words`), characters, or what stands between
blanks."""
Span = tuple[int, int]
"""Where a piece begins and ends in the text that it was cut from, or decoded to, in bytes of UTF-8."""


def units(text: str, unit: LinkUnit) -> list[str]:
    """Returns what alignments link in a text."""
    return [part for word in normalize(text).split() for part in _cut(word, unit)]


def units_of_characters(text: str, unit: LinkUnit) -> list[int]:
    """Returns for each character of the text, blanks apart, the number of its unit among `units(text, unit)`."""
    numbers: list[int] = []
    number = 0
    for word in text.split():
        composed = unicodedata.normalize("NFC", word)
        parts = _cut(composed, unit)
        owners = [number + i for i, part in enumerate(parts) for _ in part]
        number += len(parts)
        if composed != word:
            # A character is where the text up to it, composed, ends.
            ends = (len(unicodedata.normalize("NFC", word[: i + 1])) for i in range(len(word)))
            owners = [owners[min(end, len(owners)) - 1] for end in ends]
        numbers += owners
    return numbers


def units_of_pieces(
    text: str, spans: Iterable[Span], character_units: Sequence[int], *, of_words: bool
) -> Iterator[int | None]:
    """Yields for each piece the unit of which it covers most characters, of equals the first; of a piece that covers
    none (a blank, or the first pieces of a character that the tokenizer makes longer) that of the character that
    follows. None where the text has no characters.

    text: what SentencePiece cut or decoded. character_units: see `units_of_characters`, of that text.
    """
    starts = [*itertools.accumulate((len(character.encode()) for character in text), initial=0)]
    characters = offsets_of_characters(text, of_words=of_words)
    for span in spans:
        begin, end = (bisect.bisect_left(characters, bisect.bisect_left(starts, byte)) for byte in span)
        covered = character_units[begin:end] or character_units[begin : begin + 1] or character_units[-1:]
        # `max` takes the first of equally frequent units, which ascend.
        yield max(covered, key=covered.count) if covered else None


def _cut(word: str, unit: LinkUnit) -> list[str]:
    if unit == "spaced":
        return [word]
    return words(word) if unit == "word" else [*word]
