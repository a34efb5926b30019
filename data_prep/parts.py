"""How the raw training pairs are divided into chunks, and the chunks between machines."""

import itertools
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mt.errors import UserError

Merge = Literal["merge"]
MERGE: Merge = "merge"
_PART = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


class Part(NamedTuple):
    """One of several shares of a preparation, `number` from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_count(self, count: int) -> range:
        """Returns its share of `count` things, whose numbers run from 0."""
        return range(count * (self.number - 1) // self.of, count * self.number // self.of)


WHOLE = Part(1, 1)


def parse_part(text: str) -> Part | Merge:
    """Reads `2/5` or `merge`. Raises UserError where the text is neither."""
    if text == MERGE:
        return MERGE
    match = _PART.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise UserError(
            f"part={text} is no part: write part=1/5 to part=5/5 for five shares, and part={MERGE} at the end"
        )
    return Part(int(match[1]), int(match[2]))


class Chunk(NamedTuple):
    """Successive raw pairs, which are finished together or done again."""

    rows: range
    """The places of the pairs, from 0."""
    corpus: int
    """The number of the corpus that they are of, where train is mixed of several."""


def chunks(sizes: Sequence[int], most: int) -> list[Chunk]:
    """Divides the raw pairs of one corpus or several into chunks of `most`, but for the last of each corpus: what is in
    a chunk depends on no part.

    sizes: the pairs of each corpus.
    """
    ends = itertools.accumulate(sizes, initial=0)
    return [
        Chunk(range(first, min(first + most, end)), corpus)
        for corpus, (start, end) in enumerate(itertools.pairwise(ends))
        for first in range(start, end, most)
    ]
