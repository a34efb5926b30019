"""The words that word alignments are about."""

import re

_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Runs of letters and digits, and each punctuation mark by itself."""
    return _WORD.findall(text)
