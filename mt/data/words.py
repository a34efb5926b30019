"""What counts as a word, in alignments and in limits of length."""

import re

_CJK = "぀-ヿ㐀-䶿一-鿿豈-﫿"
# A run of twenty characters is a word too, so that no text without blanks is unboundedly long.
_COUNTED = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,20}}")
_WORD = re.compile(r"\w+(?:[-'.,:]\w+)*|[^\w\s]")


def words(text: str) -> list[str]:
    """The words that alignments link; a punctuation mark is one, unless it is inside a word or number.

    >>> words("At 15:40, twenty-one o'clock.")
    ['At', '15:40', ',', 'twenty-one', "o'clock", '.']
    """
    return _WORD.findall(text)


def count_words(text: str) -> int:
    """Runs between blanks (per started 20 characters); in Japanese and Chinese script each character counts as one."""
    return len(_COUNTED.findall(text))
