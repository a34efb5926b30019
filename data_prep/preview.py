"""What preparation would do, without writing anything."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from data_prep.prepare import Draft, read, read_evaluation, report
from data_prep.sources import open_source
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import UNK, Tokenizer
from mt.errors import UserError

_EDGES = (5, 10, 20, 40, 80, 160)  # pieces
_MEASURED = 20_000  # training pairs
_SHOWN = 5


def preview(config: DatasetConfig) -> Iterator[str]:
    """Lines: sizes and what cleaning drops, length histograms, unknown rates, and tokenised pairs.

    The training text lies in the system's temporary folder meanwhile.

    Raises:
        UserError: as `data_prep.prepare.prepare`.
    """
    source = open_source(config)
    evaluation = read_evaluation(config, source)
    try:
        with tempfile.TemporaryDirectory() as folder:
            draft = read(config, source, evaluation, Path(folder), progress=True)
            sample = draft.shards.sample(_MEASURED)
    except OSError as error:
        raise UserError(
            f"the training text does not fit into the temporary folder ({error}): set TMPDIR to a larger one, or look "
            "at the first pairs with dataset.limit=100000"
        ) from error
    yield from source.notes()
    yield from report(config, draft)
    yield from _dropped(draft)
    yield from _lengths(draft, sample)
    yield from _unknown(draft)
    yield "tokenised training pairs:"
    for example in sample[:: max(1, len(sample) // _SHOWN)][:_SHOWN]:
        yield f"  source  {' '.join(draft.tokenizers.source.split(example.source))}"
        yield f"  target  {' '.join(draft.tokenizers.target.split(example.target))}"


def _dropped(draft: Draft) -> Iterator[str]:
    for reason, (number, source, target) in draft.shards.shown.items():
        yield f"dropped as {reason}, for example{f' pair {number:,}' if number else ''}: {source!r} | {target!r}"


def _lengths(draft: Draft, sample: list[Example]) -> Iterator[str]:
    sides = [
        [len(ids) for ids in draft.tokenizers.source.encode([example.source for example in sample])],
        [len(ids) for ids in draft.tokenizers.target.encode([example.target for example in sample])],
    ]
    yield f"length in pieces (of {len(sample):,} training pairs)   source   target"
    lower = 1
    for upper in (*_EDGES, max(map(max, sides))):
        if lower > upper:
            break
        shares = [sum(lower <= length <= upper for length in lengths) / len(lengths) for lengths in sides]
        yield f"  {lower:>6,} to {upper:>6,}   {shares[0]:>7.1%}  {shares[1]:>7.1%}"
        lower = upper + 1


def _unknown(draft: Draft) -> Iterator[str]:
    for split, examples in draft.evaluation.items():
        rates = (
            _unknown_rate(draft.tokenizers.source, [example.source for example in examples]),
            _unknown_rate(draft.tokenizers.target, [example.target for example in examples]),
        )
        yield f"unknown pieces in {split}: source {rates[0]:.2%}, target {rates[1]:.2%}"


def _unknown_rate(tokenizer: Tokenizer, texts: list[str]) -> float:
    """The share of the pieces; EOS, which ends each text and is never unknown, does not count."""
    ids = [i for sequence in tokenizer.encode(texts) for i in sequence[:-1]]
    return ids.count(UNK) / max(len(ids), 1)
