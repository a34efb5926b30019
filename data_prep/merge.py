"""The shards that all parts have made, put together to the split `train`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from data_prep.duplicates import repeats
from data_prep.parallel import Runner, ordered
from data_prep.parts import MERGE, Part
from data_prep.shards import SHOWN, Manifest, Shard, ShardBuilder, load
from data_prep.summary import Counts
from data_prep.work_folder import SETTINGS, work_folder_of
from mt.common.input_files import read_json, read_text, sha256
from mt.data import writer
from mt.errors import UserError
from mt.storage import replaced_by_any

_DUPLICATE = "duplicate (drop_duplicates)"
_NAMED = 5  # of missing parts


def all_shards(builder: ShardBuilder, chunks: int, manifest: Path) -> list[Shard]:
    """Returns the shards of all chunks in order. They are written to `manifest` first, since they may be moved then.

    Raises UserError where a chunk is not finished, or was made with other settings.
    """
    if not manifest.is_file():
        learnt = builder.tokenizers is None or builder.tokenizers.is_dir()
        manifests = [load(builder, chunk) if learnt else None for chunk in range(chunks)]
        _require_all(manifests, builder)
        with replaced_by_any(manifest) as draft:
            plain = [asdict(shard) for finished in manifests if finished for shard in finished.shards]
            draft.write_text(json.dumps(plain), encoding="utf-8")
    return [Shard(**plain) for plain in json.loads(read_text(manifest))]


def write(
    shards: Sequence[Shard], builder: ShardBuilder, folder: Path, train: Counts, workers: int | None, runner: Runner
) -> Iterator[tuple[Path, str]]:
    """Makes the split `folder`: shards are moved there, or written again without their duplicates, which are counted in
    `train`; goes on from what is there. Yields each file with its SHA-256."""
    paths = [folder / f"data-{number:05}.arrow" for number in range(len(shards))]
    tasks = (
        (builder.path(shard.name), shard.sha256, path, rows)
        for shard, path, rows in zip(shards, paths, duplicate_rows(shards, builder, train), strict=True)
    )
    yield from zip(paths, ordered(_move, tasks, workers, runner), strict=True)
    writer.finish_split(folder, [path.name for path in paths], builder.reader.field, transcribed=builder.transcribed)


def duplicate_rows(shards: Sequence[Shard], builder: ShardBuilder, train: Counts) -> Iterator[np.ndarray]:
    """Yields the rows of each shard that are dropped as duplicates; counts them in `train`, with the first of them."""
    if not builder.cleaning.drop_duplicates:
        yield from [np.empty(0, dtype=np.int64)] * len(shards)
        return
    by_shard = repeats([builder.path(shard.name, "keys") for shard in shards], builder.folder / "duplicates")
    for shard, rows in zip(shards, by_shard, strict=True):
        if len(rows):
            if _DUPLICATE not in train.shown and builder.path(shard.name).is_file():
                train.shown[_DUPLICATE] = _shown(builder.path(shard.name), int(rows[0]))
            train.dropped[_DUPLICATE] += len(rows)
            train.by_chunk[shard.chunk] -= len(rows)
        yield rows


def require_parts(folder: Path, settings: Mapping[str, Any]) -> Path:
    """Returns the work folder of the corpus `folder`. Raises UserError where no part has been prepared in it.

    settings: the options of the corpus, to be compared with those of parts that are there.
    """
    work = work_folder_of(folder)
    if (work / SETTINGS).is_file():
        return work
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


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yields the names of options that differ, with both values as JSON."""
    for key in sorted({*before, *now}):
        old = before.get(key)
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


def _require_all(manifests: Sequence[Manifest | None], builder: ShardBuilder) -> None:
    """Raises UserError, naming the parts that must be run, where a chunk has no manifest, or one that does not
    belong."""
    foreign = [chunk for chunk, manifest in enumerate(manifests) if manifest and not builder.made(manifest)]
    absent = [chunk for chunk, manifest in enumerate(manifests) if manifest is None]
    if not foreign and not absent:
        return
    counts = [manifest.part[1] for manifest in manifests if manifest]
    of = max(counts, key=counts.count, default=0)
    wrong = {*(foreign or absent)}
    parts = [part for part in map(Part, range(1, of + 1), [of] * of) if wrong & {*part.of_count(len(manifests))}]
    named = ", ".join(map(str, parts[:_NAMED])) + (f" and {len(parts) - _NAMED} more" if len(parts) > _NAMED else "")
    work = builder.folder.parent
    if foreign:
        raise UserError(
            f"part {named} in {work} is from other settings or another vocabulary than the rest: run "
            f"it again with the options of this command, and then part={MERGE}"
        )
    raise UserError(
        f"part {named or 'n of n'} is missing or not finished in {work}: run it with the options of "
        f"this command, and then part={MERGE}"
    )
