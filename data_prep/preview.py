"""What preparation would do, without writing anything.

`preview` ingests and cleans the training text in a temporary folder, and learns the vocabulary. Its lines are the
report of a preparation, then dropped pairs, hints, lengths, unknown pieces, and some pairs in pieces.
"""

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from data_prep import vocabulary
from data_prep.corpus import duplicate_rows
from data_prep.encode import Encoder, encode_shards
from data_prep.hints import hints, places
from data_prep.ingest import RawShard
from data_prep.prepare import Preparation, origin_named, read_evaluation
from data_prep.sources import Source
from data_prep.sources.entities import entities
from data_prep.summary import Counts, Summary, report, require_pairs
from mt.common.terminal import Bar
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import UNK, Tokenizer, Tokenizers, Unwritten, unwritten
from mt.errors import UserError

Side = Literal["source", "target"]
_EDGES = (5, 10, 20, 40, 80, 160)  # pieces
_MEASURED = 20_000  # training pairs
_SHOWN = 5


def preview(config: DatasetConfig) -> Iterator[str]:
    """Yields lines: sizes and what cleaning drops, length histograms, unknown rates, and tokenised pairs.

    The training text lies in the system's temporary folder meanwhile.

    Raises:
        UserError: as `data_prep.prepare.prepare`.
    """
    # Dev and test are read first, so that mistakes in them show before the long work on train.
    preparation = Preparation.of(config, Path(), progress=True, runner="processes")
    evaluation = read_evaluation(config, preparation.source)
    written = build_field(config.field).written
    try:
        with tempfile.TemporaryDirectory() as folder, origin_named(config):
            # Cleaning needs no tokenizers, and the vocabulary is learnt from a sample as in a preparation.
            encoder = replace(preparation.encoder(Path(folder)), tokenizers=None)
            raw_shards = preparation.ingested(Path(folder))
            sample = vocabulary.sample(raw_shards, config, encoder.reader)
            tokenizers = vocabulary.learn(config, sample)
            sides: tuple[Side, ...] = ("source", "target") if written else ("target",)
            unwritten_texts: dict[str, dict[str, Unwritten]] = {
                split: {side: _unwritten(examples, tokenizers, side) for side in sides}
                for split, examples in {"train": sample, **evaluation}.items()
            }
            summary = Summary(evaluation, _counts(raw_shards, encoder, config.workers), tokenizers, unwritten_texts)
            looked_at = raw_shards if written else []
            told = [*hints(looked_at, preparation.source, duplicates=not config.cleaning.drop_duplicates)]
    except OSError as error:
        raise UserError(
            f"the training text does not fit into the temporary folder ({error.strerror or error}): set TMPDIR to a "
            "larger one, or look at the first pairs with dataset.limit=100000"
        ) from error
    # Lengths are measured on a part of the sample, spread evenly over it, to save time.
    yield from preparation.source.notes()
    sample = sample[:: -(-len(sample) // _MEASURED)]
    yield from report(config, summary)
    yield from _entities(sample, sides)
    yield from _dropped(summary, preparation.source)
    yield from told
    yield from _lengths(tokenizers, sample, sides)
    yield from _unknown(summary, sides)
    # A few pairs are shown in pieces, so that the user can judge the tokenizers by eye.
    yield "tokenised training pairs:"
    for example in sample[:: max(1, len(sample) // _SHOWN)][:_SHOWN]:
        yield f"  source  {' '.join(tokenizers.source.split(example.source)) if written else example.source}"
        yield f"  target  {' '.join(tokenizers.target.split(example.target))}"


def _unwritten(examples: list[Example], tokenizers: Tokenizers, side: Side) -> Unwritten:
    """Finds what of one side of the examples its tokenizer cannot write."""
    tokenizer: Tokenizer = getattr(tokenizers, side)
    texts = [
        text
        for example in examples
        for text in ([example.source] if side == "source" else [example.target, *example.more_references])
    ]
    return unwritten(tokenizer, pa.array(texts, pa.string()), tokenizer.encode_column(texts))


def _counts(raw_shards: Sequence[RawShard], encoder: Encoder, workers: int | None) -> Counts:
    """Cleans the training pairs in the folder of the encoder, and counts them."""
    with Bar("clean train", sum(raw.rows for raw in raw_shards), "pairs") as bar:
        for count in encode_shards(raw_shards, encoder, workers):
            bar.update(count)
    known = (encoder.known(raw.number) for raw in raw_shards)
    cleaned = [shard for shard in known if shard is not None]
    train = Counts.of(cleaned)
    for _ in duplicate_rows(cleaned, encoder, train):
        pass
    require_pairs(train)
    return train


def _dropped(summary: Summary, source: Source) -> Iterator[str]:
    found = places(source, {(one, other) for number, one, other in summary.train.shown.values() if number})
    for reason, (number, one, other) in summary.train.shown.items():
        # Of a duplicate the first pair like it is meant, which stays.
        place = found.get((one, other), f"pair {number:,}") if number else ""
        yield f"dropped as {reason}, for example{f' {place}' if place else ''}: {one!r} | {other!r}"


def _entities(sample: Sequence[Example], sides: Sequence[Side]) -> Iterator[str]:
    """Yields a hint for each side in which there are HTML entities, with the most frequent ones."""
    for side in sides:
        found = [entities(getattr(example, side)) for example in sample]
        if count := sum(map(bool, found)):
            usual = " ".join(name for name, _ in Counter(itertools.chain.from_iterable(found)).most_common(3))
            yield (
                f"note: {count:,} of {len(found):,} {side} texts hold HTML entities ({usual}), which metrics cut into "
                "pieces: dataset.unescape=true reads their characters, unless the text is to be HTML"
            )


def _lengths(tokenizers: Tokenizers, sample: Sequence[Example], sides: Sequence[Side]) -> Iterator[str]:
    """Yields a histogram of the lengths of these sides."""
    lengths = [[len(ids) for ids in _encoded(tokenizers, sample, side)] for side in sides]
    yield f"length in pieces (of {len(sample):,} training pairs)   {'   '.join(sides)}"
    lower = 1
    for upper in (*_EDGES, max(map(max, lengths))):
        if lower > upper:
            break
        shares = [sum(lower <= length <= upper for length in of_side) / len(of_side) for of_side in lengths]
        yield f"  {lower:>6,} to {upper:>6,}   {'  '.join(f'{share:>7.1%}' for share in shares)}"
        lower = upper + 1


def _unknown(summary: Summary, sides: Sequence[Side]) -> Iterator[str]:
    """Yields the shares of unknown pieces. EOS, which ends each text and is never unknown, does not count."""
    for split, examples in summary.evaluation.items():
        rates = []
        for side in sides:
            pieces = [piece for ids in _encoded(summary.tokenizers, examples, side) for piece in ids[:-1]]
            rates.append(f"{side} {pieces.count(UNK) / max(len(pieces), 1):.2%}")
        yield f"unknown pieces in {split}: {', '.join(rates)}"


def _encoded(tokenizers: Tokenizers, examples: Sequence[Example], side: Side) -> list[list[int]]:
    tokenizer: Tokenizer = getattr(tokenizers, side)
    return tokenizer.encode([getattr(example, side) for example in examples])
