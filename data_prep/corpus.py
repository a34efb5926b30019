"""Corpus: the shards that all parts have made, put together to the split `train`.

`finished_shards` refuses a missing one, and `duplicate_rows` finds the pairs that equal an earlier one. `write` moves
each shard to its place, or writes it again without its duplicates.

Duplicates are found by keys of 64 bits, of which memory holds `KEYS` at a time (`repeats`). Of a billion different
pairs, one is taken for another's duplicate with a chance of 3 %.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from data_prep.encode import SHOWN, Encoder, Shard
from data_prep.guards import SETTINGS, work_folder_of
from data_prep.parallel import MERGE, Part, Runner, ordered
from data_prep.summary import Counts
from mt.common.input_files import read_json, sha256
from mt.data import writer
from mt.errors import UserError

_DUPLICATE = "duplicate (drop_duplicates)"
_NAMED = 5  # of missing parts
KEYS = 1 << 23
_KEY = np.dtype("<u8")


def finished_shards(encoder: Encoder, count: int, train: Path) -> list[Shard]:
    """Returns the shards in order. Raises UserError where one is not done, or was made with something else.

    count: of the raw shards. train: the folder that shards are moved to; it is made once all of them are there.
    """
    if not train.is_dir():
        learnt = encoder.tokenizers is None or encoder.tokenizers.is_dir()
        found = [encoder.found(number) if learnt else None for number in range(count)]
        _require_all(found, encoder)
        train.mkdir(parents=True)
    known = (encoder.known(number) for number in range(count))
    return [shard for shard in known if shard is not None]


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


def require_parts(folder: Path, settings: Mapping[str, Any]) -> Path:
    """Returns the work folder of the corpus `folder`. Raises UserError where no part has been prepared in it.

    settings: the options of the corpus, to be compared with those of parts that are there.
    """
    work = work_folder_of(folder)
    if (work / SETTINGS).is_file():
        return work
    # Parts of other settings or other text lie in another folder: the user is told of the difference.
    name = folder.name.rpartition("-")[0]
    others = [path.parent for path in folder.parent.glob(f".{name}-*.partial/{SETTINGS}")]
    if not others:
        raise UserError(
            f"{folder.parent} holds no parts of {name}: run part=1/n to part=n/n first, with the options of this "
            "command"
        )
    written = read_json(others[0] / SETTINGS, "run all parts again")
    changed = [f"dataset.{key} was {was} and is {now}" for key, was, now in _differences(written, settings)]
    what = f"other settings ({', '.join(changed[:_NAMED])})" if changed else "other text"
    raise UserError(
        f"the parts of {name} in {others[0]} were made of {what}: give part={MERGE} the options of the parts, or run "
        "all parts again"
    )


def _differences(
    written: Mapping[str, Any], now: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yields the names of options that differ, with both values as JSON."""
    for key in sorted({*written, *now}):
        old = written.get(key)
        new = now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key}", json.dumps(old), json.dumps(new)


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


def _require_all(found: Sequence[Shard | None], encoder: Encoder) -> None:
    """Raises UserError, naming the parts that must be run, where a shard is missing, or does not belong."""
    # A shard is wrong where it is absent, or was made with another vocabulary than this one.
    absent = [number for number, shard in enumerate(found) if shard is None]
    foreign = [shard.number for shard in found if shard and shard.made_with != encoder.made_with]
    if not foreign and not absent:
        return
    # The most common division into parts is taken for the intended one, to name parts to run again.
    counts = [shard.part[1] for shard in found if shard]
    of = max(counts, key=counts.count, default=0)
    wrong = {*(foreign or absent)}
    parts = [part for part in map(Part, range(1, of + 1), [of] * of) if wrong & {*part.of_count(len(found))}]
    named = ", ".join(map(str, parts[:_NAMED])) + (f" and {len(parts) - _NAMED} more" if len(parts) > _NAMED else "")
    work = encoder.folder.parent
    # Foreign shards come first, since running the missing parts would not mend them.
    if foreign:
        raise UserError(
            f"part {named} in {work} is from other settings or another vocabulary than the rest: run it with the "
            f"options of this command, then part={MERGE}"
        )
    raise UserError(
        f"part {named or 'n of n'} is missing or not finished in {work}: run it with the options of "
        f"this command, and then part={MERGE}"
    )


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
