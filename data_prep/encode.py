"""Encodes raw shards: each becomes one file of the corpus, which is complete once it exists.

Cleaning comes first: `drop_reasons` and `clean` choose the training pairs that stay, and `checked` checks dev and test.
An `Encoder` holds what all shards have in common. `encode` makes one shard, and `encode_shards` makes the missing ones
in several processes. The record of a shard (`Shard`) is written beside it, and before it.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from data_prep.ingest import RawShard
from data_prep.parallel import Runner, ordered
from mt.common.input_files import read_text
from mt.data import writer
from mt.data.arrow import sha256
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.fields import SourceError
from mt.data.tokenizer import Tokenizers
from mt.data.words import count_words
from mt.data.writer import Reader, Unknown
from mt.errors import UserError
from mt.storage import replaced_path
from mt.text_io import is_blank

_SHOWN = 100  # characters of a dropped side that are shown

DroppedPair = tuple[int | None, str, str]
"""A dropped pair: its number from 1 (None for a duplicate), and the beginnings of source and target."""


def shown_pair(number: int | None, source: str, target: str) -> DroppedPair:
    return number, source[:_SHOWN], target[:_SHOWN]


# Cleaning.


def drop_reason(source: str, target: str, config: CleaningConfig) -> str | None:
    """Returns why a training pair is dropped, with the name of the option; None where it stays.

    Duplicates are left out earlier, in `data_prep.ingest`.
    """
    shorter, longer = sorted((count_words(source), count_words(target)))
    if is_blank(source) or is_blank(target):
        return "empty"
    if shorter < config.min_length:
        return f"shorter than {config.min_length} words (min_length)"
    if longer > config.max_length:
        return f"longer than {config.max_length} words (max_length)"
    # The ratio counts in characters as well: a spelling is one word, while its phones or letters, set apart by blanks,
    # are many.
    few, many = sorted((len(source.strip()), len(target.strip())))
    if longer > config.max_ratio * shorter and many / few > config.max_ratio:
        return f"length ratio over {config.max_ratio:g} (max_ratio)"
    return None


def drop_reasons(
    sources: Sequence[str], targets: Sequence[str], config: CleaningConfig, reader: Reader
) -> list[str | None]:
    """Returns the `drop_reason` of each pair. Sounds and pictures that are not fit for training have reasons of their
    own.

    Raises SourceError where one cannot be read at all.
    """
    if reader.field.written:
        return [drop_reason(source, target, config) for source, target in zip(sources, targets, strict=True)]
    reasons = [drop_reason(target, target, config) for target in targets]  # the only text of a pair
    # Pairs of one source come one after another, and it is read once.
    for source, numbers in itertools.groupby(range(len(sources)), key=sources.__getitem__):
        try:
            reader.require_readable(source)
        except SourceError as error:
            if error.reason is None:
                raise
            for number in numbers:
                reasons[number] = error.reason
    return reasons


def checked(examples: Iterable[Example], config: CleaningConfig, sides: tuple[str, str]) -> Iterator[Example]:
    """Yields the pairs of dev or test. Scores need every line, so a bad one is refused and not dropped.

    Blank further references are left out; the other texts stay as they are.

    Args:
        sides: what to call them in an error, such as `data/test.en, line`.

    Raises:
        UserError: a side is empty, or longer than `max_evaluation_length`.
    """
    for number, example in enumerate(examples, start=1):
        for text, side in zip((example.source, example.target), sides, strict=True):
            words = count_words(text)
            if is_blank(text):
                raise UserError(
                    f"{side} {number} is empty, and dev and test are scored line by line: "
                    "fill it in, or remove the line from both sides"
                )
            if words > config.max_evaluation_length:
                raise UserError(
                    f"{side} {number} has {words:,} words, more than the {config.max_evaluation_length:,} of "
                    "dataset.cleaning.max_evaluation_length: raise that, or remove the line from both sides"
                )
        yield example._replace(more_references=tuple(text for text in example.more_references if not is_blank(text)))


def clean(
    raw: pa.Table, start: int, cleaning: CleaningConfig, reader: Reader
) -> tuple[pa.Table, dict[str, int], dict[str, Any]]:
    """Returns the pairs that cleaning keeps, the number of dropped pairs by reason, and the first pair of each reason.

    raw: a table of `COLUMNS`. start: the number of its first pair.
    """
    sources = raw["source"].to_pylist()
    targets = raw["target"].to_pylist()
    reasons = drop_reasons(sources, targets, cleaning, reader)
    # The first pair of each reason is shown to the user.
    shown: dict[str, Any] = {}
    for number, reason in enumerate(reasons):
        if reason is not None:
            shown.setdefault(reason, shown_pair(start + number, sources[number], targets[number]))
    fit = raw.filter(pa.array([reason is None for reason in reasons], pa.bool_()))
    return fit, dict(Counter(reason for reason in reasons if reason is not None)), shown


# Encoding.


@dataclass(frozen=True)
class Shard:
    """The record of a file of encoded pairs."""

    number: int
    """The number of its raw shard."""
    corpus: int
    """The number of its corpus, where train is mixed of several."""
    rows: int
    """Pairs that stay."""
    sha256: str
    read: int
    """Raw pairs."""
    dropped: dict[str, int]
    """Raw pairs that cleaning drops, by reason."""
    shown: dict[str, DroppedPair]
    """The first pair that each reason drops."""
    unknown: dict[str, Unknown]
    """How many texts have unknown pieces, by side."""


@dataclass(frozen=True)
class Encoder:
    """What all shards have in common. It can be sent to other processes."""

    folder: Path
    """Where shards are written."""
    cleaning: CleaningConfig
    reader: Reader
    tokenizers: Path

    def path(self, number: int, ending: str = "arrow") -> Path:
        return self.folder / f"{number:07}.{ending}"

    def shard(self, number: int) -> Shard:
        """Reads the record of a finished shard."""
        return Shard(**json.loads(read_text(self.path(number, "json"))))


def encode_shards(
    raw_shards: Sequence[RawShard], encoder: Encoder, workers: int | None, runner: Runner = "processes"
) -> Iterator[int]:
    """Makes the missing shards. Yields the number of raw pairs of each as soon as it is finished, those of an earlier
    run first."""
    encoder.folder.mkdir(exist_ok=True)
    missing = [raw for raw in raw_shards if not encoder.path(raw.number).is_file()]
    yield sum(raw.rows for raw in raw_shards) - sum(raw.rows for raw in missing)
    yield from ordered(encode, ((raw, encoder) for raw in missing), workers, runner)


def encode(raw: RawShard, encoder: Encoder) -> int:
    """Writes the pairs of a raw shard that cleaning keeps. Returns how many were read.

    Raises SourceError where a source cannot be read.
    """
    pairs, dropped, shown = clean(raw.read(), raw.start + 1, encoder.cleaning, encoder.reader)
    # The file itself comes last: where it is, its record is there.
    with replaced_path(encoder.path(raw.number)) as draft:
        unknown = writer.write_shard(draft, pairs, Tokenizers.load(encoder.tokenizers), encoder.reader)
        digest = sha256(draft)
        shard = Shard(raw.number, raw.corpus, len(pairs), digest, raw.rows, dropped, shown, unknown)
        with replaced_path(encoder.path(raw.number, "json")) as about:
            about.write_text(json.dumps(asdict(shard)), encoding="utf-8")
    return raw.rows
