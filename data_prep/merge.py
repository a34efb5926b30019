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
from data_prep.parts import MERGE, Part, Spans
from data_prep.shards import SHOWN, Recipe, Record, Shard, load
from data_prep.summary import Cleaned
from data_prep.workshop import SETTINGS, workshop_of
from mt.data import writer
from mt.data.files import sha256
from mt.errors import UserError
from mt.input_files import read_json, read_text
from mt.storage import own_draft

_DUPLICATE = "duplicate (drop_duplicates)"
_NAMED = 5  # of missing parts


def gathered(recipe: Recipe, spans: Spans, listing: Path) -> list[Shard]:
    """The shards of all spans in order. They are written to `listing` first, since they may be moved then.

    Raises UserError where a span is not finished, or was made with other settings.
    """
    if not listing.is_file():
        learnt = recipe.tokenizers is None or recipe.tokenizers.is_dir()
        records = [load(recipe, span) if learnt else None for span in range(spans.number)]
        _require_all(records, recipe)
        with own_draft(listing) as draft:
            plain = [asdict(shard) for record in records if record for shard in record.shards]
            draft.write_text(json.dumps(plain), encoding="utf-8")
    return [Shard(**plain) for plain in json.loads(read_text(listing))]


def write(
    shards: Sequence[Shard], recipe: Recipe, folder: Path, train: Cleaned, workers: int | None, runner: Runner
) -> Iterator[tuple[Path, str]]:
    """Makes the split `folder`: shards are moved there, or written again without their duplicates, which are counted in
    `train`; goes on from what is there. Gives each file with its SHA-256."""
    paths = [folder / f"data-{number:05}.arrow" for number in range(len(shards))]
    tasks = (
        (recipe.path(shard.name), shard.sha256, path, rows)
        for shard, path, rows in zip(shards, paths, repeated(shards, recipe, train), strict=True)
    )
    yield from zip(paths, ordered(_settle, tasks, workers, runner), strict=True)
    writer.finish_split(folder, [path.name for path in paths], recipe.reader.field, transcribed=recipe.transcribed)


def repeated(shards: Sequence[Shard], recipe: Recipe, train: Cleaned) -> Iterator[np.ndarray]:
    """The rows of each shard that are dropped as duplicates; counts them in `train`, with the first of them."""
    if not recipe.cleaning.drop_duplicates:
        yield from [np.empty(0, dtype=np.int64)] * len(shards)
        return
    found = repeats([recipe.path(shard.name, "keys") for shard in shards], recipe.folder / "duplicates")
    for shard, rows in zip(shards, found, strict=True):
        if len(rows):
            if _DUPLICATE not in train.shown and recipe.path(shard.name).is_file():
                train.shown[_DUPLICATE] = _shown(recipe.path(shard.name), int(rows[0]))
            train.dropped[_DUPLICATE] += len(rows)
            train.kept_of[shard.span] -= len(rows)
        yield rows


def require_parts(folder: Path, settings: Mapping[str, Any]) -> Path:
    """The workshop of the corpus `folder`. Raises UserError where no part has been prepared in it.

    settings: the options of the corpus, to be told from those of parts that are there.
    """
    work = workshop_of(folder)
    if (work / SETTINGS).is_file():
        return work
    name = folder.name.rpartition("-")[0]
    others = [path.parent for path in folder.parent.glob(f".{name}-*.partial/{SETTINGS}")]
    if not others:
        raise UserError(
            f"{folder.parent} holds no parts of {name}: run part=1/n to part=n/n first, with the options of this "
            "command"
        )
    found = read_json(others[0] / SETTINGS, "run all parts again")
    changed = [f"dataset.{key} was {was} and is {now}" for key, was, now in _differences(found, settings)]
    what = f"other settings ({', '.join(changed[:_NAMED])})" if changed else "other text"
    raise UserError(
        f"the parts of {name} in {others[0]} were made of {what}: give part={MERGE} the options of the parts, or run "
        "all parts again"
    )


def _differences(
    first: Mapping[str, Any], second: Mapping[str, Any], above: str = ""
) -> Iterator[tuple[str, str, str]]:
    """The names of options that differ, with both values as JSON."""
    for key in sorted({*first, *second}):
        one, other = first.get(key), second.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _differences(one, other, f"{above}{key}.")
        elif one != other:
            yield f"{above}{key}", json.dumps(one), json.dumps(other)


def _settle(shard: Path, digest: str, path: Path, rows: np.ndarray) -> str:
    """Gives the SHA-256 of what lies at `path` then."""
    if not path.is_file():
        if not len(rows):
            shard.replace(path)
        else:
            writer.copy_without(shard, path, rows)
    shard.unlink(missing_ok=True)
    return sha256(path) if len(rows) else digest


def _shown(path: Path, row: int) -> tuple[None, str, str]:
    with pa.memory_map(str(path)) as file:
        found = pa.ipc.open_stream(file).read_all().slice(row, 1)
        return None, found["source"][0].as_py()[:SHOWN], found["target"][0].as_py()[:SHOWN]


def _require_all(records: Sequence[Record | None], recipe: Recipe) -> None:
    """Raises UserError, naming the parts that must be run, where a span has no record, or one that does not belong."""
    mixed = [span for span, one in enumerate(records) if one and (one.mark, one.tokenizers) != recipe.belongs]
    absent = [span for span, one in enumerate(records) if one is None]
    if not mixed and not absent:
        return
    counts = [record.part[1] for record in records if record]
    of = max(counts, key=counts.count, default=0)
    wrong = {*(mixed or absent)}
    parts = [part for part in map(Part, range(1, of + 1), [of] * of) if wrong & {*part.of_count(len(records))}]
    named = ", ".join(map(str, parts[:_NAMED])) + (f" and {len(parts) - _NAMED} more" if len(parts) > _NAMED else "")
    if mixed:
        raise UserError(
            f"part {named} in {recipe.folder.parent} is from other settings or another vocabulary than the rest: run "
            f"it again with the options of this command, and then part={MERGE}"
        )
    raise UserError(
        f"part {named or 'n of n'} is missing or not finished in {recipe.folder.parent}: run it with the options of "
        f"this command, and then part={MERGE}"
    )
