"""One split of a prepared corpus: its rows, its raw texts, and how rows of several data sets are mixed.

First, `rows_of_epoch` draws the rows of an epoch of mixed corpora. Then `Split` reads rows of memory-mapped shards.
"""

import copy
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mt.data.arrow import numbers
from mt.data.fields import TEXT, Field
from mt.data.fields.base import Column
from mt.text_io import digest

Pair = tuple[np.ndarray, np.ndarray]
"""A source row, and target ids."""


class Examples(NamedTuple):
    """Some examples of a split, from which a batch is made. Ids are int32 arrays that end in EOS."""

    sources: Sequence[np.ndarray]
    """Rows of the sources; for text, ids."""
    targets: Sequence[np.ndarray]
    transcripts: Sequence[np.ndarray] | None = None
    """EOS alone where a transcript is unknown; None in a corpus without transcripts."""
    links: Sequence[np.ndarray] | None = None
    """For each pair, [K, 2]: linked positions in source and target; None in a corpus without links."""

    @property
    def pairs(self) -> list[Pair]:
        return list(zip(self.sources, self.targets, strict=True))


# Mixing: how often the pairs of each corpus come in an epoch.


class Portion(NamedTuple):
    """Successive pairs of a training set that come from one corpus."""

    size: int
    weight: float
    """How often each pair comes in an epoch, on average."""

    @property
    def share(self) -> Fraction:
        """The average number of pairs in an epoch, exact, so that ten times 0.1 is 1."""
        return Fraction(str(self.weight)) * self.size


def rows_of_epoch(portions: Sequence[Portion], seed: int, epoch: int) -> np.ndarray:
    """Returns the rows of an epoch (from 1) in ascending order, some several times: a pure function of the arguments.

    With a weight of 2.3, each pair comes twice, and 30 % of the pairs come once more. Each epoch takes the next 30 % in
    an order drawn from the seed. So ten epochs with a weight of 0.1 have every pair once, even where a tenth of the
    pairs is less than one. The number of pairs up to an epoch is rounded up.
    """
    numbers_of_rows = []
    start = 0
    for number, portion in enumerate(portions):
        size = portion.size
        whole = int(portion.weight)
        share = portion.share - whole * size
        # This epoch's stretch of the shuffled pairs, which begins where the stretch of the epoch before ended.
        turn = np.arange(math.ceil(share * (epoch - 1)), math.ceil(share * epoch)) % max(size, 1)
        once_more = np.random.default_rng((seed, number)).permutation(size)[turn]
        numbers_of_rows += [start + np.tile(np.arange(size), whole), start + once_more]
        start += size
    return np.sort(np.concatenate(numbers_of_rows))


# A split of a corpus: Arrow shards, of which rows are read from the memory map on demand.


class Split:
    """One split of a corpus."""

    def __init__(self, table: pa.Table, source: Field = TEXT, portions: Sequence[Portion] = ()) -> None:
        """
        Args:
            source: the field of the sources.
            portions: the mixed corpora, in order; empty for a single corpus.
        """
        self.source = source
        self._portions = portions
        self._table = table
        self._sources = source.rows(table["source_ids"])
        self._targets = TEXT.rows(table["target_ids"])
        of_some = table.column_names  # which corpora without transcripts or links lack
        self._transcripts = TEXT.rows(table["transcript_ids"]) if "transcript_ids" in of_some else None
        self._links = Column(table["piece_links"], (2,)) if "piece_links" in of_some else None
        self._source_rows = source_row_of(table["source_ids"])
        self._chosen: np.ndarray | None = None
        """The rows of an epoch of mixed corpora, some several times; None: all rows, each once."""

    def __len__(self) -> int:
        return len(self._table) if self._chosen is None else len(self._chosen)

    def _rows_at(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.asarray(indices) if self._chosen is None else self._chosen[np.asarray(indices)]

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns source and target lengths in ids, EOS included: two int64 arrays [N]."""
        sources = self.source.lengths(self._table["source_ids"])
        if self._source_rows is not None:
            sources = sources[self._source_rows]
        targets = TEXT.lengths(self._table["target_ids"])
        return (sources, targets) if self._chosen is None else (sources[self._chosen], targets[self._chosen])

    def read(self, indices: Sequence[int] | np.ndarray) -> Examples:
        """Returns the rows of some examples."""
        rows = self._rows_at(indices)
        # Examples of one sound or picture share the row of its first example.
        sources = self._sources[rows if self._source_rows is None else self._source_rows[rows]]
        transcripts = None if self._transcripts is None else self._transcripts[rows]
        return Examples(sources, self._targets[rows], transcripts, None if self._links is None else self._links[rows])

    def texts(self, indices: Sequence[int] | np.ndarray) -> list[tuple[str, str]]:
        """Returns the raw (source, target) of the examples."""
        # One by one: `take` would join all chunks first.
        source, target = (self._table[name] for name in ("source", "target"))
        return [(source[row].as_py(), target[row].as_py()) for row in self._rows_at(indices).tolist()]

    def of_epoch(self, seed: int, epoch: int) -> "Split":
        """Returns the pairs of an epoch (from 1): all of a single corpus, those of mixed ones by their weights."""
        # A single corpus has all its pairs in every epoch.
        if not self._portions:
            return self
        split = copy.copy(self)
        split._chosen = rows_of_epoch(self._portions, seed, epoch)
        return split

    def links(self) -> list[str]:
        """Returns the gold word links of each example; "" where there are none."""
        return self.column("links") if self.source.milliseconds is None else [""] * len(self)

    def times(self) -> list[str]:
        """Returns when each unit of the targets begins and ends; "" where unknown. See `Example.links`."""
        return [""] * len(self) if self.source.milliseconds is None else self.column("links")

    def column(self, name: str) -> list[Any]:
        """Returns a whole column: `source`, `target`, `links` (strings) or `references` (lists of strings)."""
        values = self._table[name].to_pylist()
        return values if self._chosen is None else [values[row] for row in self._chosen]

    def digests(self) -> dict[str, Any]:
        """Returns marks that tell which split was decoded: the number of `examples`, and the SHA-256 of the `sources`
        and of each column of `references`. A missing reference is blank."""
        columns = zip_longest(*self.column("references"), fillvalue="")
        return {
            "examples": len(self),
            "sources": digest(self.column("source")),
            "references": [digest(column) for column in columns],
        }


def source_row_of(sources: pa.ChunkedArray) -> np.ndarray | None:
    """Returns for each example the number of the example that stores its source: itself, or an earlier one with the
    same source. None where no examples share a source."""
    if not sources.null_count:
        return None
    holds = np.concatenate([numbers(chunk.is_valid().cast(pa.uint8())) for chunk in sources.chunks])
    # For each row, the last one up to it that stores a source.
    return np.maximum.accumulate(np.where(holds > 0, np.arange(len(holds)), 0))
