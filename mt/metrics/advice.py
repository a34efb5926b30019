"""What the data says against a metric, for a user to read."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

NEAR_ZERO = 2.0
"""In percent: below, differences between checkpoints are chance."""
_MOST = 0.9
"""Of the references, that must be alike for it to be said."""
_WORD = 3
"""Characters between two blanks, on the average, above which text in a script without blanks is not cut into words."""
# Scripts without blanks between words: Thai, Lao, Tibetan, Burmese, Khmer, those of the Tai languages, Balinese,
# Javanese, Yi, kana, bopomofo, Chinese characters. Korean has blanks.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\u1b00-\u1b7f\ua000-\ua4cf\ua980-\ua9df\uaa80-\uaadf"
    "\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


def most(texts: Sequence[str], test: Callable[[str], bool]) -> bool:
    """Whether nearly all texts are so."""
    return sum(map(test, texts)) >= _MOST * len(texts)


def unspaced(text: str) -> bool:
    """Whether it is in a script that puts no blanks between words, and nobody has put them there.

    >>> unspaced("今天从早上开始下雨"), unspaced("今天 从 早上 开始 下雨")
    (True, False)
    """
    runs = [len(_UNSPACED.findall(run)) for run in text.split()]
    return sum(runs) > _WORD * sum(map(bool, runs))


def small_alone(hypotheses: Sequence[str], references: Sequence[str]) -> bool:
    """Whether no hypothesis has a capital, and most references have: of a system that writes lower case alone."""
    return not any(map(_has_capital, hypotheses)) and most(references, _has_capital)


def share_seen(texts: Iterable[str], tokenize: Callable[[str], Sequence[str]]) -> float:
    """The share of the letters and digits of texts that are in their tokens; 1 where there are none."""
    seen = there = 0
    for text in texts:
        there += letters(text)
        seen += sum(map(letters, tokenize(text)))
    return seen / there if there else 1.0


def _has_capital(text: str) -> bool:
    return any(character.isupper() for character in text)


def letters(text: str) -> int:
    """How many letters, marks on them and digits there are."""
    return sum(unicodedata.category(character)[0] in "LMN" for character in text)
