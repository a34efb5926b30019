"""How the raw training pairs are counted off, and shared out between machines."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from mt.errors import UserError

MERGE = "merge"
_PART = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


class Part(NamedTuple):
    """One of several shares of a preparation, `number` from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Part":
        """`2/5`. Raises UserError where it is none."""
        found = _PART.fullmatch(text)
        if found is None or int(found[1]) > int(found[2]):
            raise UserError(
                f"part={text} is no part: write part=1/5 to part=5/5 for five shares, and part={MERGE} at the end"
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_count(self, count: int) -> range:
        """Its share of `count` things, whose numbers run from 0."""
        return range(count * (self.number - 1) // self.of, count * self.number // self.of)


WHOLE = Part(1, 1)


class Spans:
    """Raw pairs of one corpus or several, counted off in spans of one size, but for the last of each corpus: what is
    cut inside a span depends on no part."""

    def __init__(self, portions: Sequence[int], size: int) -> None:
        """portions: the pairs of each corpus. size: of a span."""
        ends = [*itertools.accumulate(portions, initial=0)]
        self._rows = [
            (number, range(first, min(first + size, end)))
            for number, (start, end) in enumerate(itertools.pairwise(ends))
            for first in range(start, end, size)
        ]
        self.total = ends[-1]
        self.number = len(self._rows)

    def rows(self, span: int) -> range:
        """The places of a span's pairs, from 0."""
        return self._rows[span][1]

    def portion(self, span: int) -> int:
        """The number of the corpus that they are of."""
        return self._rows[span][0]
