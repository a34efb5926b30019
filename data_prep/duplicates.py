"""Pairs that equal one before them, looked for on disk: memory holds `KEYS` keys at a time, however many there are.

64 bits stand for a pair: of a billion different pairs, one is taken for another's duplicate with a chance of 3 %.
"""

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

KEYS = 2_000_000
_KEY = np.dtype("<u8")
_POSITIONED = np.dtype([("key", "<u8"), ("position", "<u8")])


def repeats(files: Sequence[Path], folder: Path, *, at_once: int = KEYS) -> Iterator[np.ndarray]:
    """Yields for each file of keys its rows, in order, whose key stands before them in it or in a file before it.

    Args:
        files: 8 bytes a key.
        folder: for what lies on disk meanwhile, 24 bytes a key at most; deleted first and last.
        at_once: keys that memory holds at a time, about.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sizes = [path.stat().st_size // _KEY.itemsize for path in files]
    batches = _batches(sizes, at_once)
    starts = np.array([sum(sizes[: batch.start]) for batch in batches], dtype=np.int64)
    buckets = sum(sizes) // at_once + 1
    for batch, start in zip(batches, starts, strict=True):
        keys = np.concatenate([np.fromfile(files[number], _KEY) for number in batch])
        first = _first(keys)
        # What repeats within a batch is known already, so that no bucket is large for one frequent pair.
        _append(folder / f"positions-{start}", start + _others(len(keys), first))
        keyed = np.empty(len(first), _POSITIONED)
        keyed["key"] = keys[first]
        keyed["position"] = start + first
        _scatter(keyed, keyed["key"] % np.uint64(buckets), folder, "keys")
    for bucket in range(buckets):
        keyed = _pop(folder / f"keys-{bucket}", _POSITIONED)
        again = keyed["position"][_others(len(keyed), _first(keyed["key"]))]
        batch_of = np.searchsorted(starts, again.astype(np.int64), side="right") - 1
        _scatter(again, starts[batch_of], folder, "positions")
    for batch, start in zip(batches, starts.tolist(), strict=True):
        positions = np.sort(_pop(folder / f"positions-{start}", _KEY)).astype(np.int64) - start
        ends = [0, *itertools.accumulate(sizes[number] for number in batch)]
        cuts = np.searchsorted(positions, ends)
        yield from (positions[low:high] - end for low, high, end in zip(cuts[:-1], cuts[1:], ends[:-1], strict=True))
    shutil.rmtree(folder)


def _batches(sizes: Sequence[int], at_once: int) -> list[range]:
    """Returns the numbers of successive files with about so many keys together."""
    batches = []
    start = 0
    keys = 0
    for number, size in enumerate(sizes):
        if keys and keys + size > at_once:
            batches.append(range(start, number))
            start = number
            keys = 0
        keys += size
    return [*batches, range(start, len(sizes))] if len(sizes) else []


def _first(keys: np.ndarray) -> np.ndarray:
    """Returns where each key comes first, in order."""
    return np.sort(np.unique(keys, return_index=True)[1])


def _others(count: int, chosen: np.ndarray) -> np.ndarray:
    """Returns the positions below `count` that are not chosen."""
    is_other = np.ones(count, dtype=bool)
    is_other[chosen] = False
    return np.flatnonzero(is_other)


def _scatter(rows: np.ndarray, parts: np.ndarray, folder: Path, name: str) -> None:
    """Appends each row to the file `<name>-<part>`; those of one part stay in order."""
    order = np.argsort(parts, kind="stable")
    values, begins = np.unique(parts[order], return_index=True)
    ends = np.append(begins[1:], len(order))[: len(begins)]
    for part, begin, end in zip(values, begins, ends, strict=True):
        _append(folder / f"{name}-{part}", rows[order[begin:end]])


def _append(path: Path, rows: np.ndarray) -> None:
    with path.open("ab") as file:
        file.write((rows if rows.dtype == _POSITIONED else rows.astype(_KEY)).tobytes())


def _pop(path: Path, dtype: np.dtype) -> np.ndarray:
    """Returns the rows of a file, which is deleted; none where there is no file."""
    if not path.is_file():
        return np.empty(0, dtype)
    rows = np.fromfile(path, dtype)
    path.unlink()
    return rows
