"""Corpus: the shards, put together to the split `train`.

`duplicate_rows` finds the pairs that equal an earlier one. `write` moves each shard to its place, or writes it again
without its duplicates.

Duplicates are found by keys of 64 bits. Of a billion different pairs, one is taken for another's duplicate with a
chance of 3 %.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from data_prep.encode import Encoder, Shard, shown_pair
from data_prep.parallel import Runner, ordered
from data_prep.summary import Counts
from mt.common.input_files import sha256
from mt.data import writer

_DUPLICATE = "duplicate (drop_duplicates)"
_KEY = np.dtype("<u8")


def write(
    shards: Sequence[Shard], encoder: Encoder, folder: Path, train: Counts, workers: int | None, runner: Runner
) -> Iterator[tuple[Path, str]]:
    """Makes the split `folder`: shards are moved there, or written again without their duplicates, which are counted in
    `train`; goes on from what is there. Yields each file with its SHA-256."""
    paths = [folder / f"data-{number:05}.arrow" for number in range(len(shards))]
    tasks = (
        (encoder.path(shard.number), shard.sha256, path, rows)
        for shard, path, rows in zip(shards, paths, duplicate_rows(shards, encoder, train), strict=True)
    )
    yield from zip(paths, ordered(_move, tasks, workers, runner), strict=True)


def duplicate_rows(shards: Sequence[Shard], encoder: Encoder, train: Counts) -> Iterator[np.ndarray]:
    """Yields the rows of each shard that are dropped as duplicates; counts them in `train`, with the first of them."""
    if not encoder.cleaning.drop_duplicates:
        yield from [np.empty(0, dtype=np.int64)] * len(shards)
        return
    by_shard = repeats([encoder.path(shard.number, "hashes") for shard in shards])
    for shard, rows in zip(shards, by_shard, strict=True):
        path = encoder.path(shard.number)
        if len(rows) and _DUPLICATE not in train.shown and path.is_file():
            with pa.memory_map(str(path)) as file:
                pair = pa.ipc.open_stream(file).read_all().slice(int(rows[0]), 1)
            train.shown[_DUPLICATE] = shown_pair(None, pair["source"][0].as_py(), pair["target"][0].as_py())
        train.dropped[_DUPLICATE] += len(rows)
        train.portions[shard.corpus] -= len(rows)
        yield rows


def repeats(files: Sequence[Path]) -> list[np.ndarray]:
    """Returns for each file of keys its rows, in order, whose key stands before them in it or in a file before it."""
    keys = [np.fromfile(path, _KEY) for path in files]
    is_repeat = np.ones(sum(map(len, keys)), dtype=bool)
    is_repeat[np.unique(np.concatenate(keys), return_index=True)[1]] = False
    ends = np.cumsum([*map(len, keys)])
    return [np.flatnonzero(rows) for rows in np.split(is_repeat, ends)[:-1]]


def _move(shard: Path, digest: str, path: Path, rows: np.ndarray) -> str:
    """Moves a shard to `path`, without these rows. Returns the SHA-256 of what is there then."""
    if not path.is_file():
        if not len(rows):
            shard.replace(path)
        else:
            writer.copy_without(shard, path, rows)
    shard.unlink(missing_ok=True)
    return sha256(path) if len(rows) else digest
