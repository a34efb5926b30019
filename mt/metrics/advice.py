"""What the data says against a metric, for a user to read."""

import re
from collections.abc import Callable

from mt.metrics.base import References

NEAR_ZERO = 2.0
"""In percent: below, differences between checkpoints are chance."""
_MOST = 0.9
"""Of the references, that must be alike for it to be said."""
# Scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters. Korean has blanks.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def most(references: References, test: Callable[[str], bool]) -> bool:
    """Whether the first references of nearly all sentences are so."""
    return sum(test(group[0]) for group in references) >= _MOST * len(references)


def unspaced(text: str) -> bool:
    """Whether it is in a script that puts no blanks between words."""
    return bool(_UNSPACED.search(text))
