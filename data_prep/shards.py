"""Training pairs cleaned and encoded, in shards: the work that a preparation shares out.

The raw pairs are counted off in spans, and a span is cut into blocks of about `_CHARACTERS`; a block becomes a shard.
So a shard depends on the text and the settings alone, whoever makes it. Memory holds a few blocks at a time.
"""

import functools
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from data_prep.clean import drop_reasons
from data_prep.parallel import Runner, ordered
from data_prep.parts import Part, Spans
from data_prep.sources import Read
from mt.data import corpus, writer
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.files import sha256
from mt.data.tokenizer import Tokenizers, Unwritten
from mt.data.writer import Reader
from mt.input_files import read_text
from mt.storage import own_draft

_CHARACTERS = 4 << 20  # of a shard's text, about: 40,000 pairs of sentences
_SPAN = 1 << 17  # raw pairs of text; a preparation that is cut short does again what it has not finished of a few
_KEY = 8  # bytes that stand for a pair
SHOWN = 100  # characters of a dropped side that are shown


Shown = tuple[int | None, str, str]
"""A pair that is dropped: its number from 1 (a duplicate: None), source and target, cut."""


@dataclass(frozen=True)
class Recipe:
    """What makes shards of raw pairs. It can be sent to other processes."""

    folder: Path
    """Where shards and the records of spans lie."""
    mark: str
    """The fingerprint of the corpus."""
    cleaning: CleaningConfig
    reader: Reader
    tokenizers: Path | None
    """None: for a look at the text, which is not encoded then."""

    @functools.cached_property
    def belongs(self) -> tuple[str, str]:
        """What the records of its spans have: the mark, and the digest of the tokenizers."""
        return self.mark, Tokenizers.load(self.tokenizers).digest() if self.tokenizers else ""

    @property
    def transcribed(self) -> bool:
        """Whether transcripts have a tokenizer."""
        return self.tokenizers is not None and Tokenizers.load(self.tokenizers).transcript is not None

    @property
    def span(self) -> int:
        """Raw pairs of a span."""
        return self.reader.field.shard_size or _SPAN

    def forget(self, span: int) -> None:
        """What was made of it does not count."""
        self.path(_span(span), "json").unlink(missing_ok=True)

    def path(self, name: str, ending: str = "arrow") -> Path:
        return self.folder / f"{name}.{ending}"


@dataclass(frozen=True)
class Shard:
    """What is known of one."""

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
    shown: dict[str, Shown]
    """The first pair that each reason drops."""
    unwritten: dict[str, Unwritten] = field(default_factory=dict)
    """What of its texts the tokenizers cannot write, by side."""

    @property
    def span(self) -> int:
        return int(self.name.partition("-")[0])


@dataclass(frozen=True)
class Record:
    """A finished span."""

    mark: str
    tokenizers: str
    """The digest of those that encoded it."""
    part: tuple[int, int]
    """The part that made it."""
    shards: tuple[Shard, ...]


def make(
    read: Read, spans: Spans, part: Part, recipe: Recipe, workers: int | None, runner: Runner = "processes"
) -> Iterator[int]:
    """Makes the shards of a part, but for spans that are finished already. Gives the raw pairs of each span as it is
    done."""
    mark, tokenizers = recipe.belongs
    recipe.folder.mkdir(exist_ok=True)
    todo: list[int] = []
    for span in part.of_count(spans.number):
        record = load(recipe, span)
        if record is not None and (record.mark, record.tokenizers) == recipe.belongs:
            yield len(spans.rows(span))
        else:
            todo.append(span)
    found = ordered(_shard, _tasks(read, spans, tuple(todo), recipe), workers, runner)
    for span, group in itertools.groupby(found, key=lambda shard: shard.span):
        _save(recipe, span, Record(mark, tokenizers, part, tuple(group)))
        todo.remove(span)
        yield len(spans.rows(span))
    for span in todo:  # a stream may end before the number of pairs that was allowed it
        _save(recipe, span, Record(mark, tokenizers, part, ()))


def load(recipe: Recipe, span: int) -> Record | None:
    """What is known of a finished span; None where there is none, or a file of it is not whole."""
    try:
        plain = json.loads(read_text(recipe.path(_span(span), "json")))
        shards = tuple(Shard(**shard) for shard in plain.pop("shards"))
        whole = all(_is_whole(recipe, shard) for shard in shards)
        return Record(**plain, shards=shards) if whole else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None


def _tasks(
    read: Read, spans: Spans, todo: Sequence[int], recipe: Recipe
) -> Iterator[tuple[Recipe, str, int, pa.Table]]:
    """The blocks of the spans, each with the name of its shard and the number (from 1) of its first pair."""
    examples = read([spans.rows(span) for span in todo])
    for span in todo:
        rows = spans.rows(span)
        start = rows.start + 1
        cut = blocks(itertools.islice(examples, len(rows)), recipe.reader.field.shard_size)
        for number, block in enumerate(cut):
            yield recipe, f"{_span(span)}-{number:05}", start, block
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


def cleaned(
    block: pa.Table, start: int, cleaning: CleaningConfig, reader: Reader
) -> tuple[pa.Table, dict[str, int], dict[str, Any]]:
    """The pairs that cleaning keeps, how many it drops, and the first that each reason drops; see `Shard`.

    start: the number of the first pair.
    """
    sources, targets = block["source"].to_pylist(), block["target"].to_pylist()
    reasons = drop_reasons(sources, targets, cleaning, reader)
    shown: dict[str, Any] = {}
    for number, reason in enumerate(reasons):
        if reason is not None:
            shown.setdefault(reason, (start + number, sources[number][:SHOWN], targets[number][:SHOWN]))
    kept = block.filter(pa.array([reason is None for reason in reasons], pa.bool_()))
    return kept, dict(Counter(reason for reason in reasons if reason is not None)), shown


def _shard(recipe: Recipe, name: str, start: int, block: pa.Table) -> Shard:
    """Writes the pairs that cleaning keeps and, where duplicates are dropped, 8 bytes that stand for each."""
    kept, dropped, shown = cleaned(block, start, recipe.cleaning, recipe.reader)
    if recipe.cleaning.drop_duplicates:
        pairs = pc.binary_join_element_wise(kept["source"], kept["target"], "\n").cast(pa.binary()).to_pylist()
        with own_draft(recipe.path(name, "keys")) as draft:
            draft.write_bytes(b"".join(hashlib.blake2b(pair, digest_size=_KEY).digest() for pair in pairs))
    path = recipe.path(name)
    lost: dict[str, Unwritten] = {}
    with own_draft(path) as draft:
        if recipe.tokenizers is None:
            with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, corpus.TEXT) as stream:
                stream.write_table(kept)
        else:
            lost = writer.write_shard(draft, kept, Tokenizers.load(recipe.tokenizers), recipe.reader)
        size, digest = draft.stat().st_size, sha256(draft)
    return Shard(name, len(kept), size, digest, len(block), dropped, shown, lost)


def _save(recipe: Recipe, span: int, record: Record) -> None:
    with own_draft(recipe.path(_span(span), "json")) as draft:
        draft.write_text(json.dumps(asdict(record)), encoding="utf-8")


def _span(number: int) -> str:
    return f"{number:07}"


def _is_whole(recipe: Recipe, shard: Shard) -> bool:
    keys = recipe.path(shard.name, "keys")
    keyed = not recipe.cleaning.drop_duplicates or keys.stat().st_size == shard.rows * _KEY
    return keyed and recipe.path(shard.name).stat().st_size == shard.size
