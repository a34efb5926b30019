"""What a word is, and which characters belong together in one: for tokenizers, alignments, and limits of length.

Regular expressions of Unicode's classes come first, then words, their counts and first ones. The units that alignments
link come last.
"""

import itertools
import re
import unicodedata
from typing import Literal

import regex

from mt.text_io import normalize

_CJK = "぀-ヿ㐀-䶿一-鿿豈-﫿"
_LONGEST = 20  # characters: such a run is a word too, so that no text without blanks is unboundedly long
_BLANK = r"\s\x1c-\x1f"  # what `str.split` splits at
_MARK = r"\p{M}\u200c\u200d"
"""Combining marks (as of Indic vowels, Thai tones, NFD, IPA) and the zero-width joiners: they belong to the character
before them."""
_LETTER = rf"\w\p{{N}}\u02b0-\u02ff\ua700-\ua721{_MARK}"
"""Characters of words: letters, digits, numbers, marks, and the modifier letters and tones of phonetic script."""
_FLAG = r"\p{Regional_Indicator}{2}"
_EMOJI = (
    rf"[{_MARK}\U0001f3fb-\U0001f3ff]*+(?:(?<=\u200d)\p{{Extended_Pictographic}}[{_MARK}\U0001f3fb-\U0001f3ff]*+)*+"
)
_SYMBOL = rf"(?:{_FLAG}|[^{_BLANK}{_LETTER}]{_EMOJI})"
"""Any other character with what belongs to it: its marks, and what an emoji is joined of."""
_RUN = regex.compile(rf"[{_LETTER}]++|{_SYMBOL}")
_WORD = regex.compile(rf"[{_LETTER}]+(?:[-'’.,:][{_LETTER}]+)*|{_SYMBOL}")
_UNSPACED = re.compile(rf"[{_CJK}]")
_JOINED = regex.compile(rf"[{_LETTER}]")
_BLANKLESS = rf"{_CJK}\p{{Thai}}\p{{Lao}}\p{{Khmer}}\p{{Myanmar}}"
_ALONE = regex.compile(rf"[{_BLANKLESS}]")
"""Characters of scripts that put no blanks between words."""
_PART = regex.compile(rf"[{_BLANKLESS}][{_MARK}]*+|(?:[^{_BLANKLESS}][{_MARK}]*+)++")
_APOSTROPHE = re.compile("'|[^']+")
APOSTROPHES = str.maketrans("’ʼ", "''")
"""Other apostrophes, as the straight one."""
_COUNTED = regex.compile(rf"[{_CJK}][{_MARK}]*+|(?:[^{_BLANK}{_CJK}][{_MARK}]*+){{1,{_LONGEST}}}")


def words(text: str) -> list[str]:
    """Returns the words that alignments link; a punctuation mark is one, unless it is inside a word or number.

    >>> words("At 15:40, twenty-one o'clock.")
    ['At', '15:40', ',', 'twenty-one', "o'clock", '.']
    >>> words("l’heure")
    ['l’heure']
    """
    return _WORD.findall(text)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Returns where words begin and end, in characters; of scripts without blanks each letter with its marks is one.

    >>> word_spans("At 15:40 東京")
    [(0, 2), (3, 8), (9, 10), (10, 11)]
    """
    return [match.span() for word in _WORD.finditer(text) for match in _PART.finditer(text, *word.span())]


def term_spans(text: str) -> list[tuple[int, int]]:
    """Returns where the words of terms begin and end, in characters. They are those of `word_spans`, parted at
    apostrophes: a term is found in its possessive, too.

    >>> term_spans("the bridge's")
    [(0, 3), (4, 10), (10, 11), (11, 12)]
    """
    marked = text.translate(APOSTROPHES)
    return [
        (begin + part.start(), begin + part.end())
        for begin, end in word_spans(marked)
        for part in _APOSTROPHE.finditer(marked[begin:end])
    ]


def term_words(text: str) -> list[str]:
    """Returns the words of a text as those of terms are compared with them: all apostrophes are one.

    >>> term_words("I don’t know 東京.")
    ['I', 'don', "'", 't', 'know', '東', '京', '.']
    """
    marked = text.translate(APOSTROPHES)
    return [marked[begin:end] for begin, end in term_spans(marked)]


def runs(word: str) -> list[str]:
    """Cuts what stands between blanks into runs of the characters of words and single other characters.

    >>> runs("twenty-one,")
    ['twenty', '-', 'one', ',']
    """
    return _RUN.findall(word)


def letters(text: str) -> set[str]:
    """Returns the characters of a text that form words with those beside them, in scripts that put blanks between.

    >>> sorted(letters("Tee, 茶"))
    ['T', 'e']
    """
    return {character for character in {*text} if _JOINED.match(character) and not _ALONE.match(character)}


def count_words(text: str) -> int:
    """Counts the runs between blanks (per started 20 characters); in Japanese and Chinese script each character.

    A character counts with its marks as one, so that NFC and NFD have as many.
    """
    # Most text needs no look at its characters, and preparation counts millions of lines.
    if text.isascii() or not _UNSPACED.search(text):
        between = text.split()
        for run in between:
            if len(run) > _LONGEST:
                break
        else:
            return len(between)
    return len(_COUNTED.findall(text))


def first_words(text: str, limit: int | None) -> str:
    """Returns the text up to its `limit`-th word, as `count_words` counts them; all of it where there is no limit.

    >>> first_words("one  two, three", 2)
    'one  two,'
    """
    if limit is None:
        return text
    last = next(itertools.islice(_COUNTED.finditer(text), limit, None), None)
    return text if last is None else text[: last.start()].rstrip()


# What alignments link.

Unit = Literal["word", "char"]
"""What a stream reads and writes, and alignments link."""
LinkUnit = Literal["word", "char", "spaced", "white_space", "term"]
"""What alignments link: words and punctuation marks (`words`), characters, or what stands between blanks.

term: the words of terms (`term_words`).

spaced: between blanks and tabs alone, as FastAlign and GIZA++ part a line. Any other white space, such as a no-break
space, stands inside a word. white_space: between any of Unicode's, as `str.split` of aligners in Python (eflomal)."""
_SPACED = re.compile(r"[^ \t]+")


def units(text: str, unit: LinkUnit) -> list[str]:
    """Returns what alignments link in a text."""
    if unit == "spaced":
        return _SPACED.findall(unicodedata.normalize("NFC", text))
    return [unit_text for word in normalize(text).split() for unit_text in _cut(word, unit)]


def units_of_characters(text: str, unit: LinkUnit) -> list[int]:
    """Returns for each character of the text, white space apart, the number of its unit among `units(text, unit)`."""
    if unit == "spaced":
        return [number for number, word in enumerate(_SPACED.findall(text)) for _ in "".join(word.split())]
    numbers: list[int] = []
    number = 0
    for word in text.split():
        composed = unicodedata.normalize("NFC", word)
        unit_texts = _cut(composed, unit)
        owners = [number + i for i, unit_text in enumerate(unit_texts) for _ in unit_text]
        number += len(unit_texts)
        if composed != word:
            # A character is where the text up to it, composed, ends.
            ends = (len(unicodedata.normalize("NFC", word[: i + 1])) for i in range(len(word)))
            owners = [owners[min(end, len(owners)) - 1] for end in ends]
        numbers += owners
    return numbers


def _cut(word: str, unit: LinkUnit) -> list[str]:
    if unit == "white_space":
        return [word]
    if unit == "term":
        return [word[begin:end] for begin, end in term_spans(word)]
    return words(word) if unit == "word" else [*word]
