"""Ingest: reads the training text once, whatever it comes from, and writes its pairs as raw shards.

`raw_tables` cuts pairs into tables. `ingest` writes all of them, and `raw_shards` lists them. The later steps read raw
shards, in any order and in any process, and know nothing of files, tables or generators. Memory holds one table at
a time. Where duplicates are dropped, it also holds a key of 64 bits for each pair, and more while keys are merged.
Of a billion different pairs, one is taken for another's duplicate with a chance of 3 %.
"""

import collections
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from data_prep.sources import Source
from data_prep.sources.base import key_of
from mt.common.input_files import read_text
from mt.data import corpus
from mt.data.arrow import array
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field

_CHARACTERS = 4 << 20  # of a table's text, about: 40,000 pairs of sentences
_ROWS = 1 << 17  # a table ends after every so many pairs, however short they are
_INDEX = "index.json"


class RawShard(NamedTuple):
    """A file of successive raw pairs of one corpus."""

    path: Path
    number: int
    """Its place among all, from 0."""
    corpus: int
    """The number of its corpus, where train is mixed of several."""
    start: int
    """How many pairs come before it."""
    rows: int
    """How many pairs it has."""

    def read(self) -> pa.Table:
        """Returns its pairs as a table of `COLUMNS`, mapped into memory."""
        with pa.memory_map(str(self.path)) as file:
            return pa.ipc.open_stream(file).read_all()


class Duplicates(NamedTuple):
    """How many pairs `ingest` left out because they equal an earlier one."""

    pairs: int = 0
    shown: tuple[str, str] | None = None
    """The first of them."""


def ingest(source: Source, config: DatasetConfig, folder: Path) -> None:
    """Reads the training pairs once, and writes them as raw shards into a new folder, with an index of the shards.
    With `cleaning.drop_duplicates`, only the first of equal pairs stays.

    Pairs beyond `dataset.limit` are read, too, so that sides of different lengths are refused.

    Raises UserError where the text is not fit to be read.
    """
    rows = build_field(config.field).shard_size
    shards: list[tuple[int, int]] = []
    duplicates = Duplicates()
    keys: list[np.ndarray] = []
    for number, split in enumerate(source.training):
        pairs = split.read()
        for table in raw_tables(itertools.islice(pairs, config.limit), rows):
            # Duplicates of earlier tables and of this one go, and the first of all is kept to be shown.
            if config.cleaning.drop_duplicates:
                first = _first_of_equals(table, keys)
                repeated = np.setdiff1d(np.arange(len(table)), first)
                if len(repeated):
                    row = int(repeated[0])
                    shown = duplicates.shown or (table["source"][row].as_py(), table["target"][row].as_py())
                    duplicates = Duplicates(duplicates.pairs + len(repeated), shown)
                table = table.take(array(first))
            write_text(_path(folder, len(shards)), table)
            shards.append((number, len(table)))
        # Read what lies beyond the limit.
        collections.deque(pairs, maxlen=0)
    (folder / _INDEX).write_text(json.dumps({"shards": shards, "duplicates": duplicates}), encoding="utf-8")


def _first_of_equals(table: pa.Table, keys: list[np.ndarray]) -> np.ndarray:
    """Returns the rows whose pair comes neither earlier in the table nor in earlier tables.

    keys: sorted arrays, uint64, with the keys of the pairs of earlier tables; those of this table are added.
    """
    of_rows = np.fromiter(map(key_of, table["source"].to_pylist(), table["target"].to_pylist()), np.uint64)
    # The first row of each key of this table, and of these the keys that no earlier table has.
    of_table, rows = np.unique(of_rows, return_index=True)
    new = np.ones(len(rows), bool)
    for known in keys:
        new &= np.searchsorted(known, of_table) == np.searchsorted(known, of_table, side="right")
    # Arrays of similar size are merged, so that a key is moved a few times only, however many tables come.
    keys.append(of_table[new])
    while len(keys) > 1 and len(keys[-2]) < 2 * len(keys[-1]):
        merged = np.concatenate(keys[-2:])
        merged.sort(kind="stable")
        keys[-2:] = [merged]
    return np.sort(rows[new])


def raw_shards(folder: Path) -> tuple[list[RawShard], Duplicates]:
    """Lists the shards that `ingest` has written, in the order of the text, and returns the duplicates it left out."""
    index = json.loads(read_text(folder / _INDEX))
    starts = itertools.accumulate((rows for _, rows in index["shards"]), initial=0)
    shards = [
        RawShard(_path(folder, number), number, part_of, start, rows)
        for number, ((part_of, rows), start) in enumerate(zip(index["shards"], starts, strict=False))
    ]
    return shards, Duplicates(*index["duplicates"])


def raw_tables(examples: Iterable[Example], rows: int | None = None) -> Iterator[pa.Table]:
    """Yields the examples in tables of `COLUMNS`. A table ends with about `_CHARACTERS`, and after every `rows`
    examples; None: `_ROWS`."""
    rows = rows or _ROWS
    # Lists of strings, because the garbage collector would look through a list of pairs again and again.
    columns: tuple[list[str], ...] = [], [], [], []
    size = 0
    for number, (source, target, links, _, transcript) in enumerate(examples, start=1):
        columns[0].append(source)
        columns[1].append(target)
        columns[2].append(links)
        columns[3].append(transcript)
        size += len(source) + len(target)
        if size >= _CHARACTERS or number % rows == 0:
            yield pa.table([*columns], corpus.COLUMNS)
            columns = [], [], [], []
            size = 0
    if columns[0]:
        yield pa.table([*columns], corpus.COLUMNS)


def write_text(path: Path, table: pa.Table) -> None:
    """Writes a table of `COLUMNS` as one file."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, corpus.COLUMNS) as stream:
        stream.write_table(table)


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:07}.arrow"
