"""Pairs that equal one before them, looked for on disk: memory holds `_KEYS` keys at a time, however many there are.

64 bits stand for a pair: of a billion different pairs, one is taken for another's duplicate with a chance of 3 %.
"""

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

_KEYS = 2_000_000
_KEY = np.dtype("<u8")
_PLACED = np.dtype([("key", "<u8"), ("place", "<u8")])


def repeats(files: Sequence[Path], folder: Path) -> Iterator[np.ndarray]:
    """Yields for each file of keys its rows, in order, whose key stands before them in it or in a file before it.

    Args:
        files: 8 bytes a key.
        folder: for what lies on disk meanwhile, 24 bytes a key at most; deleted first and last.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sizes = [path.stat().st_size // _KEY.itemsize for path in files]
    batches = _batches(sizes)
    starts = np.array([sum(sizes[: batch.start]) for batch in batches], dtype=np.int64)
    buckets = sum(sizes) // _KEYS + 1
    for batch, start in zip(batches, starts, strict=True):
        keys = np.concatenate([np.fromfile(files[number], _KEY) for number in batch])
        first = _first(keys)
        # What repeats within a batch is known already, so that no bucket is large for one frequent pair.
        _append(folder / f"places-{start}", start + _others(len(keys), first))
        placed = np.empty(len(first), _PLACED)
        placed["key"] = keys[first]
        placed["place"] = start + first
        _scatter(placed, placed["key"] % np.uint64(buckets), folder, "keys")
    for bucket in range(buckets):
        placed = _pop(folder / f"keys-{bucket}", _PLACED)
        again = placed["place"][_others(len(placed), _first(placed["key"]))]
        batch_of = np.searchsorted(starts, again.astype(np.int64), side="right") - 1
        _scatter(again, starts[batch_of], folder, "places")
    for batch, start in zip(batches, starts.tolist(), strict=True):
        places = np.sort(_pop(folder / f"places-{start}", _KEY)).astype(np.int64) - start
        ends = [0, *itertools.accumulate(sizes[number] for number in batch)]
        cuts = np.searchsorted(places, ends)
        yield from (places[a:b] - end for a, b, end in zip(cuts[:-1], cuts[1:], ends[:-1], strict=True))
    shutil.rmtree(folder)


def _batches(sizes: Sequence[int]) -> list[range]:
    """Returns the numbers of successive files with about `_KEYS` keys together."""
    batches = []
    start = 0
    keys = 0
    for number, size in enumerate(sizes):
        if keys and keys + size > _KEYS:
            batches.append(range(start, number))
            start = number
            keys = 0
        keys += size
    return [*batches, range(start, len(sizes))] if len(sizes) else []


def _first(keys: np.ndarray) -> np.ndarray:
    """Returns where each key comes first, in order."""
    return np.sort(np.unique(keys, return_index=True)[1])


def _others(count: int, chosen: np.ndarray) -> np.ndarray:
    """Returns the places below `count` that are not chosen."""
    left = np.ones(count, dtype=bool)
    left[chosen] = False
    return np.flatnonzero(left)


def _scatter(rows: np.ndarray, parts: np.ndarray, folder: Path, name: str) -> None:
    """Appends each row to the file `<name>-<part>`; those of one part stay in order."""
    order = np.argsort(parts, kind="stable")
    known, begins = np.unique(parts[order], return_index=True)
    ends = np.append(begins[1:], len(order))[: len(begins)]
    for part, begin, end in zip(known, begins, ends, strict=True):
        _append(folder / f"{name}-{part}", rows[order[begin:end]])


def _append(path: Path, rows: np.ndarray) -> None:
    with path.open("ab") as file:
        file.write((rows if rows.dtype == _PLACED else rows.astype(_KEY)).tobytes())


def _pop(path: Path, dtype: np.dtype) -> np.ndarray:
    """Returns the rows of a file, which is deleted; none where there is no file."""
    if not path.is_file():
        return np.empty(0, dtype)
    rows = np.fromfile(path, dtype)
    path.unlink()
    return rows
