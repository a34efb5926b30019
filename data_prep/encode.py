"""Encode: a raw shard, the tokenizers and the settings make one file, which is done when it is there.

Cleaning comes first: which training pairs stay (`drop_reasons`, `clean`), and the checks of dev and test (`checked`).
Then an `Encoder` holds what all shards are made with. `encode` makes one shard, and `encode_shards` the missing ones,
in several processes. A record of the shard (`Shard`) lies beside it, and is written before it.
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
"""A pair that is dropped: its number from 1 (of a duplicate None), source and target, cut."""


def shown_pair(number: int | None, source: str, target: str) -> DroppedPair:
    return number, source[:_SHOWN], target[:_SHOWN]


# Cleaning.


def drop_reason(source: str | None, target: str, config: CleaningConfig) -> str | None:
    """Says why a training pair is dropped, with the option, or returns None. Duplicates: see `data_prep.ingest`.

    source: None where it is no text.
    """
    if source is None:
        source = target
    shorter, longer = sorted((count_words(source), count_words(target)))
    if is_blank(source) or is_blank(target):
        return "empty"
    if shorter < config.min_length:
        return f"shorter than {config.min_length} words (min_length)"
    if longer > config.max_length:
        return f"longer than {config.max_length} words (max_length)"
    # In characters as well: a spelling is one word, and its phones or letters set apart by blanks are many.
    few, many = sorted((len(source.strip()), len(target.strip())))
    if longer > config.max_ratio * shorter and many / few > config.max_ratio:
        return f"length ratio over {config.max_ratio:g} (max_ratio)"
    return None


def drop_reasons(
    sources: Sequence[str], targets: Sequence[str], config: CleaningConfig, reader: Reader
) -> list[str | None]:
    """Returns `drop_reason` of each pair, and that of sources that are no text and not fit for training.

    Raises SourceError where one cannot be read at all.
    """
    if reader.field.written:
        return [drop_reason(source, target, config) for source, target in zip(sources, targets, strict=True)]
    reasons = [drop_reason(None, target, config) for target in targets]
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
    """Yields the pairs of dev or test: scores need every line, so a bad one is refused rather than dropped.

    A further reference that is blank is none; the other texts stay as they are.

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
    """Returns the pairs that cleaning keeps, how many it drops, and the first that each reason drops; see `Shard`.

    raw: of `TEXT`. start: the number of its first pair.
    """
    sources = raw["source"].to_pylist()
    targets = raw["target"].to_pylist()
    reasons = drop_reasons(sources, targets, cleaning, reader)
    shown: dict[str, Any] = {}
    for number, reason in enumerate(reasons):
        if reason is not None:
            shown.setdefault(reason, shown_pair(start + number, sources[number], targets[number]))
    fit = raw.filter(pa.array([reason is None for reason in reasons], pa.bool_()))
    return fit, dict(Counter(reason for reason in reasons if reason is not None)), shown


# Encoding.


@dataclass(frozen=True)
class Shard:
    """What is known of a file of encoded pairs."""

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
    """Texts of which the tokenizers do not know everything, by side."""


@dataclass(frozen=True)
class Encoder:
    """What all shards are made with. It can be sent to other processes."""

    folder: Path
    """Where shards are written."""
    cleaning: CleaningConfig
    reader: Reader
    tokenizers: Path

    def path(self, number: int, ending: str = "arrow") -> Path:
        return self.folder / f"{number:07}.{ending}"

    def shard(self, number: int) -> Shard:
        """Returns what is known of a shard that is done."""
        return Shard(**json.loads(read_text(self.path(number, "json"))))


def encode_shards(
    raw_shards: Sequence[RawShard], encoder: Encoder, workers: int | None, runner: Runner = "processes"
) -> Iterator[int]:
    """Makes the shards that are not done already. Yields the raw pairs of each as it is done."""
    encoder.folder.mkdir(exist_ok=True)
    missing = [raw for raw in raw_shards if not encoder.path(raw.number).is_file()]
    if len(missing) < len(raw_shards):
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
