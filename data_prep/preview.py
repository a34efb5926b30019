"""What preparation would do, without writing anything."""

from collections.abc import Iterator

from data_prep.prepare import Draft, read, report
from data_prep.sources import open_source
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import UNK, Tokenizer

_EDGES = (5, 10, 20, 40, 80, 160)  # pieces
_SHOWN = 5


def preview(config: DatasetConfig) -> Iterator[str]:
    """Lines: sizes and what cleaning drops, length histograms, unknown rates, and tokenised pairs.

    Raises:
        UserError: as `data_prep.prepare.prepare`.
    """
    draft = read(config, open_source(config), progress=True)
    yield from report(config, draft)
    yield from _lengths(draft)
    yield from _unknown(draft)
    yield "tokenised training pairs:"
    for example in draft.sample[:_SHOWN]:
        yield f"  source  {' '.join(draft.tokenizers.source.split(example.source))}"
        yield f"  target  {' '.join(draft.tokenizers.target.split(example.target))}"


def _lengths(draft: Draft) -> Iterator[str]:
    sides = [
        [len(ids) for ids in draft.tokenizers.source.encode([example.source for example in draft.sample])],
        [len(ids) for ids in draft.tokenizers.target.encode([example.target for example in draft.sample])],
    ]
    yield f"length in pieces (of {len(draft.sample):,} training pairs)   source   target"
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
    ids = [i for sequence in tokenizer.encode(texts) for i in sequence]
    return ids.count(UNK) / len(ids)
