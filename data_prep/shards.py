"""The cleaned training text on disk, in shards: what one process works on, and what an interrupted preparation keeps.

Memory holds a few shards at a time, and 16 bytes for each of `_KEYS` pairs, however many pairs there are.
"""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_prep.clean import drop_reasons
from data_prep.parallel import ordered
from mt.data import corpus, writer
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.tokenizer import Tokenizers
from mt.data.writer import TEXT_READER, Reader
from mt.storage import replaced_path

_CHARACTERS = 4 << 20  # of a shard's text, about: 40,000 pairs of sentences
_KEYS = 2_000_000  # looked through at a time for duplicates
_DRAWN = 1_000_000_000  # numpy draws from fewer than so many
_SHOWN = 100  # characters of a dropped side that are shown
_RECORD, _DUPLICATES = "cleaned.json", "duplicates.npy"
_DUPLICATE = "duplicate (drop_duplicates)"


@dataclass(frozen=True)
class Shards:
    """The training pairs that cleaning keeps."""

    folder: Path
    sizes: Sequence[int]
    """The pairs in each shard, duplicates included."""
    read: int
    """Raw pairs."""
    dropped: dict[str, int]
    """Raw pairs that cleaning drops, by reason."""
    shown: dict[str, tuple[int | None, str, str]]
    """The first pair that each reason drops: its number from 1 (a duplicate: None), source and target, cut."""

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())

    def table(self, number: int) -> pa.Table:
        """The pairs of a shard that stay."""
        mask = self._stays(number)
        table = _open(_path(self.folder, number)).select(corpus.TEXT.names)
        return (table if mask.all() else table.filter(pa.array(mask))).replace_schema_metadata()

    def sample(self, size: int) -> list[Example]:
        """`size` of the first billion pairs (or all) in order, each with the same chance; the seed is fixed."""
        generator = np.random.default_rng(0)
        stay = np.array([np.count_nonzero(self._stays(number)) for number in range(len(self.sizes))], dtype=np.int64)
        stay = stay[np.cumsum(stay) < _DRAWN]
        # How many of each shard first, because the numbers of all pairs at once would take memory for each.
        shares = generator.multivariate_hypergeometric(stay, min(size, stay.sum()))
        sample: list[Example] = []
        for number, share in enumerate(shares):
            rows = np.sort(generator.choice(stay[number], share, replace=False, shuffle=False))
            columns = [column.to_pylist() for column in self.table(number).take(pa.array(rows)).columns]
            sample += (Example(a, b, links, transcript=said) for a, b, links, said in zip(*columns, strict=True))
        return sample

    def _stays(self, number: int) -> np.ndarray:
        start = sum(self.sizes[:number])
        return ~np.load(self.folder / _DUPLICATES, mmap_mode="r")[start : start + self.sizes[number]]


def clean(
    examples: Iterable[Example],
    config: CleaningConfig,
    folder: Path,
    workers: int | None,
    reader: Reader = TEXT_READER,
) -> Shards:
    """Clean the training pairs into shards under `folder`; goes on from what is there already."""
    record = folder / _RECORD
    if not record.is_file():
        starts: list[int] = []
        for _ in ordered(_clean_block, _tasks(examples, config, folder, starts, reader), workers):
            pass
        summary = _summary(folder, len(starts), config)
        with replaced_path(record) as draft:
            draft.write_text(json.dumps(summary), encoding="utf-8")
    return Shards(folder, **json.loads(record.read_text(encoding="utf-8")))


def encode(
    shards: Shards,
    tokenizers: Path,
    folder: Path,
    workers: int | None,
    reader: Reader = TEXT_READER,
    *,
    transcribed: bool = False,
) -> Iterator[int]:
    """Write the split `folder`, one file per shard; goes on from what is there. Gives the pairs of each as it is done.

    A shard is deleted when it is encoded, since nothing needs it then. transcribed: whether the tokenizers have one of
    transcripts.
    """
    names = [f"data-{number:05}.arrow" for number in range(len(shards.sizes))]
    tasks = [(shards, number, tokenizers, folder / name, reader) for number, name in enumerate(names)]
    yield from ordered(_encode_shard, tasks, workers)
    writer.finish_split(folder, names, reader.field, transcribed=transcribed)


def _tasks(
    examples: Iterable[Example], config: CleaningConfig, folder: Path, starts: list[int], reader: Reader
) -> Iterator[tuple[Path, int, pa.Table, CleaningConfig, Reader]]:
    """What there is to clean still. Fills `starts` with the number (from 1) of the first raw pair of every shard."""
    start = 1
    for block in blocks(examples, reader.field.shard_size):
        path = _path(folder, len(starts))
        starts.append(start)
        if not path.is_file():
            yield path, start, block, config, reader
        start += len(block)


def blocks(examples: Iterable[Example], most: int | None = None) -> Iterator[pa.Table]:
    """The examples in tables of `TEXT`, of about `_CHARACTERS` each, and of `most` examples at the most."""
    # Lists of strings, because the garbage collector would look through a list of pairs again and again.
    columns: tuple[list[str], ...] = [], [], [], []
    size = 0
    for source, target, links, _, transcript in examples:
        columns[0].append(source)
        columns[1].append(target)
        columns[2].append(links)
        columns[3].append(transcript)
        size += len(source) + len(target)
        if size >= _CHARACTERS or len(columns[0]) == most:
            yield pa.table([*columns], corpus.TEXT)
            columns, size = ([], [], [], []), 0
    if columns[0]:
        yield pa.table([*columns], corpus.TEXT)


def _clean_block(path: Path, start: int, block: pa.Table, config: CleaningConfig, reader: Reader) -> None:
    """Writes the pairs that cleaning keeps, each with 8 bytes that stand for it, and what was dropped as metadata."""
    sources, targets = block["source"].to_pylist(), block["target"].to_pylist()
    reasons = drop_reasons(sources, targets, config, reader)
    shown: dict[str, Any] = {}
    for number, reason in enumerate(reasons):
        if reason is not None:
            shown.setdefault(reason, _shown(start + number, sources[number], targets[number]))
    kept = block.filter(pa.array([reason is None for reason in reasons]))
    pairs = pc.binary_join_element_wise(kept["source"], kept["target"], "\n").cast(pa.binary()).to_pylist()
    keys = np.frombuffer(b"".join(hashlib.blake2b(pair, digest_size=8).digest() for pair in pairs), dtype="<u8")
    counts = Counter(reason for reason in reasons if reason is not None)
    metadata = {"read": len(reasons), "dropped": dict(counts), "shown": shown}
    schema = corpus.TEXT.append(pa.field("key", pa.uint64())).with_metadata({"cleaning": json.dumps(metadata)})
    table = pa.table([*kept.columns, keys], schema)
    with replaced_path(path) as draft, pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        writer.write_table(table)


def _summary(folder: Path, count: int, config: CleaningConfig) -> dict[str, Any]:
    """What `Shards` says of `count` shards, once their duplicates are marked."""
    sizes: list[int] = []
    read = 0
    dropped: Counter[str] = Counter()
    shown: dict[str, Any] = {}
    for number in range(count):
        table = _open(_path(folder, number))
        about = json.loads(table.schema.metadata[b"cleaning"])
        sizes.append(len(table))
        read += about["read"]
        dropped.update(about["dropped"])
        shown = about["shown"] | shown
    with replaced_path(folder / _DUPLICATES) as draft:
        duplicates = np.lib.format.open_memmap(draft, mode="w+", dtype=bool, shape=(sum(sizes),))
        if config.drop_duplicates:
            _mark(duplicates, folder, sizes)
        duplicates.flush()
    if found := int(duplicates.sum()):
        dropped[_DUPLICATE] = found
        first = int(duplicates.argmax())
        number = int(np.searchsorted(np.cumsum(sizes), first, side="right"))
        row = _open(_path(folder, number)).slice(first - sum(sizes[:number]), 1).to_pylist()[0]
        shown[_DUPLICATE] = _shown(None, row["source"], row["target"])
    return {"sizes": sizes, "read": read, "dropped": dict(dropped.most_common()), "shown": shown}


def _mark(duplicates: np.ndarray, folder: Path, sizes: Sequence[int]) -> None:
    """Sets `duplicates` at every pair that equals one before it.

    64 bits stand for a pair: of a billion different pairs, one is taken for another's duplicate with a chance of 3 %.
    The keys are looked through in parts, so that memory does not grow with the set.
    """
    parts = len(duplicates) // _KEYS + 1
    for part in range(parts):
        keys, places = [], []
        for number, start in enumerate(itertools.accumulate(sizes, initial=0)):
            if number < len(sizes):
                shard = _open(_path(folder, number))["key"].to_numpy()
                rows = np.flatnonzero(shard % np.uint64(parts) == part)
                keys.append(shard[rows])
                places.append(start + rows)
        # The first of each key, because `unique` gives the first index.
        _, first = np.unique(np.concatenate(keys), return_index=True)
        duplicates[np.delete(np.concatenate(places), first)] = True


def _encode_shard(shards: Shards, number: int, tokenizers: Path, path: Path, reader: Reader) -> int:
    if not path.is_file():
        writer.write_shard(path, shards.table(number), Tokenizers.load(tokenizers), reader)
    _path(shards.folder, number).unlink(missing_ok=True)
    return shards.sizes[number]


def _open(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_stream(file).read_all()


def _path(folder: Path, number: int) -> Path:
    return folder / f"text-{number:05}.arrow"


def _shown(number: int | None, source: str, target: str) -> tuple[int | None, str, str]:
    return number, source[:_SHOWN], target[:_SHOWN]
