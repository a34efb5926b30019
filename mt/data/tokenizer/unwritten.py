"""Which texts a tokenizer cannot write: encoding and decoding does not give them back as scores compare them."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from mt.common.comparable import comparable, normalize
from mt.data.arrow import numbers
from mt.data.tokenizer.processor import UNK, Tokenizer

_SHOWN = 40  # characters of a word


class Unwritten(NamedTuple):
    """What of some texts a tokenizer cannot write."""

    lost: int = 0
    """Texts that do not come back."""
    of: int = 0
    """All texts."""
    word: str = ""
    """The first word that does not, or where it is long the part that is different."""
    written: str = ""
    """What comes back of it."""

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Adds up those of several groups of texts, in order."""
        whole = cls()
        for part in parts:
            shown = whole if whole.lost else part
            whole = cls(whole.lost + part.lost, whole.of + part.of, shown.word, shown.written)
        return whole


def unwritten(tokenizer: Tokenizer, texts: pa.Array, ids: pa.ListArray) -> Unwritten:
    """Finds what of the texts the tokenizer cannot write. Capitals are no loss to one that makes small letters of them.

    ids: those of the texts. Texts without unknown ids need no look.
    """
    if tokenizer.rewrites:
        suspected = texts.to_pylist()
    else:  # what is known comes back
        unknown = np.flatnonzero(numbers(ids.values) == UNK)
        rows = np.unique(np.searchsorted(numbers(ids.offsets), unknown, side="right") - 1)
        suspected = texts.take(pa.array(rows)).to_pylist()
    lowercase = tokenizer.lowercases
    lines = [normalize(text).split() for text in suspected]
    words = [*dict.fromkeys(word for line in lines for word in line)]
    lost = {
        word: written
        for word, written in zip(words, tokenizer.written(words), strict=True)
        if written != word and comparable(written, lowercase=lowercase) != comparable(word, lowercase=lowercase)
    }
    if not lost:
        return Unwritten(0, len(texts))
    first = next(word for word in words if word in lost)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, lost[first], strict=False))
    start = max(0, sum(1 for _ in same) - _SHOWN // 2)
    shown = (first[start : start + _SHOWN], lost[first][start : start + _SHOWN])
    return Unwritten(sum(not lost.keys().isdisjoint(line) for line in lines), len(texts), *shown)
