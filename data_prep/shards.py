"""Training pairs cleaned and encoded, in shards: the work that a preparation shares out.

The raw pairs are divided into chunks, and a chunk is cut into blocks of about `_CHARACTERS`; a block becomes a shard.
So a shard depends on the text and the settings alone, whoever makes it. Memory holds a few blocks at a time.
"""

import functools
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from data_prep.clean import drop_reasons
from data_prep.parallel import Runner, ordered
from data_prep.parts import Chunk, Part
from data_prep.sources import Read
from mt.common.input_files import read_text
from mt.data import corpus, writer
from mt.data.arrow import sha256
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.tokenizer import Tokenizers, Unwritten
from mt.data.writer import Reader
from mt.storage import replaced_by_any

_CHARACTERS = 4 << 20  # of a shard's text, about: 40,000 pairs of sentences
_CHUNK = 1 << 17  # raw pairs of text; a preparation that is cut short does again what it has not finished of a few
_KEY = 8  # bytes that stand for a pair
SHOWN = 100  # characters of a dropped side that are shown

DroppedPair = tuple[int | None, str, str]
"""A pair that is dropped: its number from 1 (a duplicate: None), source and target, cut."""


@dataclass(frozen=True)
class ShardBuilder:
    """Cleans, encodes and writes raw pairs. It can be sent to other processes."""

    folder: Path
    """Where shards, and the manifests of chunks, are written."""
    fingerprint: str
    """The fingerprint of the corpus."""
    cleaning: CleaningConfig
    reader: Reader
    tokenizers: Path | None
    """None: for a look at the text, which is not encoded then."""

    @functools.cached_property
    def inputs(self) -> tuple[str, str]:
        """Returns the fingerprint, and the digest of the tokenizers, which the manifests of its chunks have."""
        return self.fingerprint, Tokenizers.load(self.tokenizers).digest() if self.tokenizers else ""

    def made(self, manifest: "Manifest") -> bool:
        """Returns whether a chunk was made with the same settings, text and tokenizers."""
        return (manifest.fingerprint, manifest.tokenizers) == self.inputs

    @property
    def transcribed(self) -> bool:
        """Whether transcripts have a tokenizer."""
        return self.tokenizers is not None and Tokenizers.load(self.tokenizers).transcript is not None

    @property
    def chunk_size(self) -> int:
        """Returns the raw pairs of a chunk."""
        return self.reader.field.shard_size or _CHUNK

    def forget(self, chunk: int) -> None:
        """Deletes the manifest of a chunk, so that what was made of it does not count."""
        self.path(_name(chunk), "json").unlink(missing_ok=True)

    def path(self, name: str, ending: str = "arrow") -> Path:
        return self.folder / f"{name}.{ending}"


@dataclass(frozen=True)
class Shard:
    """What a manifest says of a shard."""

    name: str
    rows: int
    """Pairs, duplicates included."""
    size: int
    """Bytes."""
    sha256: str
    read: int
    """Raw pairs."""
    dropped: dict[str, int]
    """Raw pairs that cleaning drops, by reason; without duplicates."""
    shown: dict[str, DroppedPair]
    """The first pair that each reason drops."""
    unwritten: dict[str, Unwritten] = field(default_factory=dict)
    """What of its texts the tokenizers cannot write, by side."""

    @property
    def chunk(self) -> int:
        """Returns the number of its chunk."""
        return int(self.name.partition("-")[0])


@dataclass(frozen=True)
class Manifest:
    """What is written about a chunk once it is finished."""

    fingerprint: str
    tokenizers: str
    """The digest of those that encoded it."""
    part: tuple[int, int]
    """The part that made it."""
    shards: tuple[Shard, ...]


def build(
    read: Read,
    chunks: Sequence[Chunk],
    part: Part,
    builder: ShardBuilder,
    workers: int | None,
    runner: Runner = "processes",
) -> Iterator[int]:
    """Makes the shards of a part, but for chunks that are finished already. Yields the raw pairs of each chunk as it is
    done."""
    builder.folder.mkdir(exist_ok=True)
    unfinished: list[int] = []
    for chunk in part.of_count(len(chunks)):
        manifest = load(builder, chunk)
        if manifest is not None and builder.made(manifest):
            yield len(chunks[chunk].rows)
        else:
            unfinished.append(chunk)
    tasks = _tasks(read, {chunk: chunks[chunk].rows for chunk in unfinished}, builder)
    shards = ordered(_build_shard, tasks, workers, runner)
    for chunk, group in itertools.groupby(shards, key=lambda shard: shard.chunk):
        _save(builder, chunk, Manifest(*builder.inputs, part, tuple(group)))
        unfinished.remove(chunk)
        yield len(chunks[chunk].rows)
    for chunk in unfinished:  # a stream may end before the number of pairs that was allowed it
        _save(builder, chunk, Manifest(*builder.inputs, part, ()))


def load(builder: ShardBuilder, chunk: int) -> Manifest | None:
    """Reads the manifest of a finished chunk; None where there is none, or a file of it is not whole."""
    try:
        plain = json.loads(read_text(builder.path(_name(chunk), "json")))
        shards = tuple(Shard(**shard) for shard in plain.pop("shards"))
        whole = all(_is_whole(builder, shard) for shard in shards)
        return Manifest(**plain, shards=shards) if whole else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None


def _tasks(
    read: Read, chunks: Mapping[int, range], builder: ShardBuilder
) -> Iterator[tuple[ShardBuilder, str, int, pa.Table]]:
    """Yields the blocks of the chunks, each with the name of its shard and the number (from 1) of its first pair."""
    examples = read(chunks.values())
    for chunk, rows in chunks.items():
        start = rows.start + 1
        cut = blocks(itertools.islice(examples, len(rows)), builder.reader.field.shard_size)
        for number, block in enumerate(cut):
            yield builder, f"{_name(chunk)}-{number:05}", start, block
            start += len(block)


def blocks(examples: Iterable[Example], most: int | None = None) -> Iterator[pa.Table]:
    """Yields the examples in tables of `TEXT`, of about `_CHARACTERS` each, and of `most` examples at the most."""
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
            columns = [], [], [], []
            size = 0
    if columns[0]:
        yield pa.table([*columns], corpus.TEXT)


def clean(
    block: pa.Table, start: int, cleaning: CleaningConfig, reader: Reader
) -> tuple[pa.Table, dict[str, int], dict[str, Any]]:
    """Returns the pairs that cleaning keeps, how many it drops, and the first that each reason drops; see `Shard`.

    start: the number of the first pair.
    """
    sources = block["source"].to_pylist()
    targets = block["target"].to_pylist()
    reasons = drop_reasons(sources, targets, cleaning, reader)
    shown: dict[str, Any] = {}
    for number, reason in enumerate(reasons):
        if reason is not None:
            shown.setdefault(reason, (start + number, sources[number][:SHOWN], targets[number][:SHOWN]))
    fit = block.filter(pa.array([reason is None for reason in reasons], pa.bool_()))
    return fit, dict(Counter(reason for reason in reasons if reason is not None)), shown


def _build_shard(builder: ShardBuilder, name: str, start: int, block: pa.Table) -> Shard:
    """Writes the pairs that cleaning keeps and, where duplicates are dropped, 8 bytes that stand for each."""
    pairs, dropped, shown = clean(block, start, builder.cleaning, builder.reader)
    if builder.cleaning.drop_duplicates:
        joined = pc.binary_join_element_wise(pairs["source"], pairs["target"], "\n").cast(pa.binary()).to_pylist()
        with replaced_by_any(builder.path(name, "keys")) as draft:
            draft.write_bytes(b"".join(hashlib.blake2b(pair, digest_size=_KEY).digest() for pair in joined))
    unwritten: dict[str, Unwritten] = {}
    with replaced_by_any(builder.path(name)) as draft:
        if builder.tokenizers is None:
            with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, corpus.TEXT) as stream:
                stream.write_table(pairs)
        else:
            tokenizers = Tokenizers.load(builder.tokenizers)
            unwritten = writer.write_shard(draft, pairs, tokenizers, builder.reader)
        size = draft.stat().st_size
        digest = sha256(draft)
    return Shard(name, len(pairs), size, digest, len(block), dropped, shown, unwritten)


def _save(builder: ShardBuilder, chunk: int, manifest: Manifest) -> None:
    with replaced_by_any(builder.path(_name(chunk), "json")) as draft:
        draft.write_text(json.dumps(asdict(manifest)), encoding="utf-8")


def _name(chunk: int) -> str:
    return f"{chunk:07}"


def _is_whole(builder: ShardBuilder, shard: Shard) -> bool:
    keys = builder.path(shard.name, "keys")
    keyed = not builder.cleaning.drop_duplicates or keys.stat().st_size == shard.rows * _KEY
    return keyed and builder.path(shard.name).stat().st_size == shard.size
