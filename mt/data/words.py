"""Words for tokenizers, alignments, and limits of length: which characters form a word.

Regular expressions of Unicode's classes come first, then functions that find, count and cut off words. The units that
alignments link come last.
"""

import itertools
import re
import unicodedata
from typing import Literal

import regex

from mt.text_io import normalize

_CJK = "぀-ヿ㐀-䶿一-鿿豈-﫿"
_LONGEST = 20  # characters of a counted word; longer runs count as several, so that text without blanks has a length
_BLANK = r"\s\x1c-\x1f"  # the white space of `str.split`
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
"""Any other character with its marks, or an emoji with all that is joined to it."""
_RUN = regex.compile(rf"[{_LETTER}]++|{_SYMBOL}")
# Hyphens, apostrophes, points and the like belong to a word only between its letters.
_WORD = regex.compile(rf"[{_LETTER}]+(?:[-'’.,:][{_LETTER}]+)*|{_SYMBOL}")
_UNSPACED = re.compile(rf"[{_CJK}]")
_JOINED = regex.compile(rf"[{_LETTER}]")
_BLANKLESS = rf"{_CJK}\p{{Thai}}\p{{Lao}}\p{{Khmer}}\p{{Myanmar}}"
_ALONE = regex.compile(rf"[{_BLANKLESS}]")
"""Characters of scripts that put no blanks between words."""
_PART = regex.compile(rf"[{_BLANKLESS}][{_MARK}]*+|(?:[^{_BLANKLESS}][{_MARK}]*+)++")
_APOSTROPHE = re.compile("'|[^']+")
VARIANT = re.compile(r"(?<=.)\(\d+\)$", re.ASCII)
"""The mark of a word's further pronunciations in CMUdict and others, `abbe(2)`."""
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


def stands_alone(character: str) -> bool:
    """Returns whether a character is of a script that puts no blanks between words."""
    return _ALONE.match(character) is not None


def word_spans(text: str) -> list[tuple[int, int]]:
    """Returns where words begin and end, in characters. In scripts without blanks, each letter and its marks are one.

    >>> word_spans("At 15:40 東京")
    [(0, 2), (3, 8), (9, 10), (10, 11)]
    """
    return [match.span() for word in _WORD.finditer(text) for match in _PART.finditer(text, *word.span())]


def term_spans(text: str) -> list[tuple[int, int]]:
    """Returns where the words of terms begin and end, in characters. Words are cut at apostrophes, so that a term is
    also found in its possessive.

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
    """Returns the words of a text in the form in which terms are compared, with one kind of apostrophe.

    >>> term_words("I don’t know 東京.")
    ['I', 'don', "'", 't', 'know', '東', '京', '.']
    """
    marked = text.translate(APOSTROPHES)
    return [marked[begin:end] for begin, end in term_spans(marked)]


def runs(word: str) -> list[str]:
    """Cuts a string between blanks into runs of characters of words, and single other characters.

    >>> runs("twenty-one,")
    ['twenty', '-', 'one', ',']
    """
    return _RUN.findall(word)


def letters(text: str) -> set[str]:
    """Returns the characters of a text that form words with their neighbours, in scripts with blanks between words.

    >>> sorted(letters("Tee, 茶"))
    ['T', 'e']
    """
    return {character for character in {*text} if _JOINED.match(character) and not _ALONE.match(character)}


def count_words(text: str) -> int:
    """Counts the words between blanks, a long one once for every 20 characters. In Japanese and Chinese script, each
    character counts.

    A character and its marks count as one, so that NFC and NFD have the same number.
    """
    # A fast path, since preparation counts millions of lines: most texts have neither such scripts nor long words.
    if text.isascii() or not _UNSPACED.search(text):
        between = text.split()
        for run in between:
            if len(run) > _LONGEST:
                break
        else:
            return len(between)
    return len(_COUNTED.findall(text))


def first_words(text: str, limit: int | None) -> str:
    """Returns the first `limit` words of a text, as `count_words` counts them; without a limit, the whole text.

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
"""The units that alignments link.

word: words and punctuation marks (`words`). char: characters. term: the words of terms (`term_words`). spaced: words
between blanks and tabs alone, as FastAlign and GIZA++ cut a line; other white space, such as a no-break space, stands
inside a word. white_space: words between any white space of Unicode, as `str.split` cuts in Python's aligners."""
_SPACED = re.compile(r"[^ \t]+")


def units(text: str, unit: LinkUnit) -> list[str]:
    """Returns what alignments link in a text."""
    if unit == "spaced":
        return _SPACED.findall(unicodedata.normalize("NFC", text))
    return [unit_text for word in normalize(text).split() for unit_text in _cut(word, unit)]


def units_of_characters(text: str, unit: LinkUnit) -> list[int]:
    """Returns for each character of the text, without white space, the number of its unit in `units(text, unit)`."""
    if unit == "spaced":
        return [number for number, word in enumerate(_SPACED.findall(text)) for _ in "".join(word.split())]
    numbers: list[int] = []
    number = 0
    for word in text.split():
        # Units are those of the composed word; each of its characters belongs to one.
        composed = unicodedata.normalize("NFC", word)
        unit_texts = _cut(composed, unit)
        owners = [number + i for i, unit_text in enumerate(unit_texts) for _ in unit_text]
        number += len(unit_texts)
        if composed != word:
            # A character of the original belongs where the composed text up to it ends.
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
