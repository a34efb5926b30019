"""Tests by which metrics notice that they do not suit the texts."""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
NEAR_ZERO = 2.0
"""A score in percent below which checkpoints differ only by chance."""
_NEARLY_ALL = 0.9
"""The share of texts that must pass a test for advice to be given."""
_LONGEST_WORD = 3
"""Above this mean number of characters between blanks, text in a script without blanks is not cut into words."""
# Scripts without blanks between words: Thai, Lao, Tibetan, Burmese, Khmer, those of the Tai languages, Balinese,
# Javanese, Yi, kana, bopomofo, Chinese characters. Korean has blanks.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\u1b00-\u1b7f\ua000-\ua4cf\ua980-\ua9df\uaa80-\uaadf"
    "\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


_PARTED = re.compile(r" [.,](?= |$)|@-@|@@(?= |$)|&(?:apos|quot);|[▁￭]")
"""A full stop or comma behind a blank, and what else tokenizers write. French has blanks before other marks alone."""
_ATTACHED = re.compile(r"\w\w[.,](?= |$)")


def nearly_all(texts: Sequence[Item], test: Callable[[Item], bool]) -> bool:
    """Returns whether at least 90 % of the texts, or of the pairs of texts, pass a test."""
    return sum(map(test, texts)) >= _NEARLY_ALL * len(texts)


def is_unspaced(text: str) -> bool:
    """Returns whether a text is in a script without blanks between words, and is not cut into words by added blanks.

    >>> is_unspaced("今天从早上开始下雨"), is_unspaced("今天 从 早上 开始 下雨")
    (True, False)
    """
    # The mean is over runs with such characters, so that Latin words between them change nothing.
    runs = [len(_UNSPACED.findall(run)) for run in text.split()]
    return sum(runs) > _LONGEST_WORD * sum(map(bool, runs))


def lacks_capitals(hypotheses: Sequence[str], references: Sequence[str]) -> bool:
    """Returns whether no hypothesis has a capital but nearly all references have: the system seems to lower-case."""
    return not any(map(_has_capital, hypotheses)) and nearly_all(references, _has_capital)


def share_parted(texts: Sequence[str]) -> float:
    """Returns the share of full stops and commas that a tokenizer has set apart, its other marks included; nan for
    fewer than ten.

    >>> share_parted(["He &apos;s well @-@ known , Mr. X ."] * 3), share_parted(["Well, yes."] * 5)
    (0.8, 0.0)
    """
    parted, attached = (sum(len(kind.findall(text)) for text in texts) for kind in (_PARTED, _ATTACHED))
    return parted / (parted + attached) if parted + attached >= 10 else math.nan


def share_in_tokens(texts: Sequence[str], tokenize: Callable[[str], Sequence[str]]) -> float:
    """Returns the share of the texts' letters and digits that a tokenizer keeps; 1 for texts without any."""
    total = sum(map(count_letters, texts))
    in_tokens = sum(count_letters(token) for text in texts for token in tokenize(text))
    return in_tokens / total if total else 1.0


def _has_capital(text: str) -> bool:
    return any(character.isupper() for character in text)


def count_letters(text: str) -> int:
    """Counts the letters, the marks on them and the digits of a text."""
    return sum(unicodedata.category(character)[0] in "LMN" for character in text)
