"""Corpus: the shards, put together to the split `train`.

`duplicate_rows` finds the pairs that equal an earlier one. `write` moves each shard to its place, or writes it again
without its duplicates.

Duplicates are found by keys of 64 bits, of which memory holds `KEYS` at a time (`repeats`). Of a billion different
pairs, one is taken for another's duplicate with a chance of 3 %.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from data_prep.encode import SHOWN, Encoder, Shard
from data_prep.parallel import Runner, ordered
from data_prep.summary import Counts
from mt.common.input_files import sha256
from mt.data import writer

_DUPLICATE = "duplicate (drop_duplicates)"
KEYS = 1 << 23
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
    writer.finish_split(folder, [path.name for path in paths], encoder.reader, transcribed=encoder.transcribed)


def duplicate_rows(shards: Sequence[Shard], encoder: Encoder, train: Counts) -> Iterator[np.ndarray]:
    """Yields the rows of each shard that are dropped as duplicates; counts them in `train`, with the first of them."""
    if not encoder.cleaning.drop_duplicates:
        yield from [np.empty(0, dtype=np.int64)] * len(shards)
        return
    by_shard = repeats([encoder.path(shard.number, "hashes") for shard in shards])
    for shard, rows in zip(shards, by_shard, strict=True):
        if len(rows):
            if _DUPLICATE not in train.shown and encoder.path(shard.number).is_file():
                train.shown[_DUPLICATE] = _shown(encoder.path(shard.number), int(rows[0]))
            train.dropped[_DUPLICATE] += len(rows)
            train.portions[shard.corpus] -= len(rows)
        yield rows


def _move(shard: Path, digest: str, path: Path, rows: np.ndarray) -> str:
    """Moves a shard to `path`, without these rows. Returns the SHA-256 of what is there then."""
    if not path.is_file():
        if not len(rows):
            shard.replace(path)
        else:
            writer.copy_without(shard, path, rows)
    shard.unlink(missing_ok=True)
    return sha256(path) if len(rows) else digest


def _shown(path: Path, row: int) -> tuple[None, str, str]:
    with pa.memory_map(str(path)) as file:
        pair = pa.ipc.open_stream(file).read_all().slice(row, 1)
        return None, pair["source"][0].as_py()[:SHOWN], pair["target"][0].as_py()[:SHOWN]


# Duplicates.


def repeats(files: Sequence[Path], *, at_once: int = KEYS) -> Iterator[np.ndarray]:
    """Yields for each file of keys its rows, in order, whose key stands before them in it or in a file before it.

    The files are read once for every `at_once` keys that they hold. Memory holds about so many keys at a time, and one
    byte for each of all.

    Args:
        files: 8 bytes a key.
    """
    ends = np.cumsum([path.stat().st_size // _KEY.itemsize for path in files], dtype=np.int64)
    starts = [0, *ends.tolist()]
    is_repeat = np.zeros(starts[-1], dtype=bool)
    repeats_of_files = np.split(is_repeat, ends)[:-1]
    # Repeats within a file come first, so that no pass is large for one frequent pair.
    for path, repeats_of_file in zip(files, repeats_of_files, strict=True):
        repeats_of_file[_all_but_first(np.fromfile(path, _KEY))] = True
    # Then each pass compares the keys of one remainder in all files.
    passes = len(is_repeat) // at_once + 1
    for remainder in range(passes):
        keys = [np.zeros(0, _KEY)]
        positions = [np.zeros(0, np.int64)]
        for path, start, repeats_of_file in zip(files, starts, repeats_of_files, strict=False):
            keys_of_file = np.fromfile(path, _KEY)
            chosen = np.flatnonzero(~repeats_of_file & (keys_of_file % np.uint64(passes) == remainder))
            keys.append(keys_of_file[chosen])
            positions.append(start + chosen)
        is_repeat[np.concatenate(positions)[_all_but_first(np.concatenate(keys))]] = True
    yield from map(np.flatnonzero, repeats_of_files)


def _all_but_first(keys: np.ndarray) -> np.ndarray:
    """Returns the positions of keys that stand before them."""
    return np.delete(np.arange(len(keys)), np.unique(keys, return_index=True)[1])
