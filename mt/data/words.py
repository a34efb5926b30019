"""What counts as a word, in alignments and in limits of length."""

import itertools
import re

import regex

_CJK = "぀-ヿ㐀-䶿一-鿿豈-﫿"
_LONGEST = 20  # characters: such a run is a word too, so that no text without blanks is unboundedly long
_UNSPACED = re.compile(rf"[{_CJK}]")
_COUNTED = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{_LONGEST}}}")
_WORD = regex.compile(r"[\w\p{M}]+(?:[-'.,:][\w\p{M}]+)*|[^\w\p{M}\s]")  # marks belong to the letter before them


def words(text: str) -> list[str]:
    """The words that alignments link; a punctuation mark is one, unless it is inside a word or number.

    >>> words("At 15:40, twenty-one o'clock.")
    ['At', '15:40', ',', 'twenty-one', "o'clock", '.']
    """
    return _WORD.findall(text)


def count_words(text: str) -> int:
    """Runs between blanks (per started 20 characters); in Japanese and Chinese script each character counts as one."""
    # Most text needs no look at its characters, and preparation counts millions of lines.
    if text.isascii() or not _UNSPACED.search(text):
        runs = text.split()
        for run in runs:
            if len(run) > _LONGEST:
                break
        else:
            return len(runs)
    return len(_COUNTED.findall(text))


def first_words(text: str, limit: int | None) -> str:
    """The text up to its `limit`-th word, as `count_words` counts them; all of it where there is no limit.

    >>> first_words("one  two, three", 2)
    'one  two,'
    """
    if limit is None:
        return text
    last = next(itertools.islice(_COUNTED.finditer(text), limit, None), None)
    return text if last is None else text[: last.start()].rstrip()
