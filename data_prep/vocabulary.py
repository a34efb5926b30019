"""Learns vocabularies from a sample of the raw shards.

`drawn` chooses the rows of the sample, `sample` cleans them, and `learn` trains the tokenizers. The result does not
depend on how a preparation is shared out.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from data_prep.encode import clean
from data_prep.ingest import RawShard
from data_prep.parallel import ordered
from data_prep.summary import all_dropped
from mt.data.arrow import array
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig, DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers
from mt.data.writer import Reader

_RUNS = 1_000
_LONGEST = 100


def drawn(total: int, size: int) -> np.ndarray:
    """Returns about `size` of `total` rows (or all), in short runs spread over all of them; the seed is fixed.

    A thousand runs or more, of a hundred rows at the most, each at a random place of another stretch.
    """
    if total <= size:
        return np.arange(total)
    # Each run has a stretch of the rows to itself, and begins at a random place in it.
    generator = np.random.default_rng(0)
    runs = -(-size // min(_LONGEST, max(1, size // _RUNS)))
    rows = []
    for run in range(runs):
        begin = total * run // runs
        end = total * (run + 1) // runs
        length = size * (run + 1) // runs - size * run // runs
        start = begin + int(generator.integers(end - begin - length + 1))
        rows.append(np.arange(start, start + length))
    return np.concatenate(rows)


def sample(raw_shards: Sequence[RawShard], config: DatasetConfig, reader: Reader) -> list[Example]:
    """Returns the `drawn` pairs that cleaning keeps, in order.

    Raises UserError where it keeps none.
    """
    # The rows are spread over the whole text, since its beginning may not be typical.
    total = sum(raw.rows for raw in raw_shards)
    rows = drawn(total, config.tokenizer.sample)
    # Shards are cleaned in parallel, and come in order, so that the vocabulary is always the same.
    bounds = np.searchsorted(rows, [bound for raw in raw_shards for bound in (raw.start, raw.start + raw.rows)])
    tasks = (
        (raw, rows[first:last] - raw.start, config.cleaning, reader)
        for raw, (first, last) in zip(raw_shards, bounds.reshape(-1, 2), strict=True)
        if first < last
    )
    examples: list[Example] = []
    dropped: Counter[str] = Counter()
    for pairs, reasons in ordered(_clean, tasks, config.workers):
        columns = [column.to_pylist() for column in pairs.columns]
        examples += (Example(a, b, links, transcript=words) for a, b, links, words in zip(*columns, strict=True))
        dropped.update(reasons)
    # Without any pairs no vocabulary can be learnt: the reasons say what to loosen.
    if not examples:
        kind = "training pairs" if len(rows) == total else "pairs of a sample"
        raise all_dropped(len(rows), dropped, kind)
    return examples


def learn(config: DatasetConfig, examples: list[Example]) -> Tokenizers:
    """Learns the vocabularies from these pairs. Raises UserError as `Tokenizers.train`."""
    pairs = [(example.source, example.target) for example in examples]
    transcripts = [example.transcript for example in examples] if config.transcript else None
    return Tokenizers.train(config.tokenizer, pairs, source=build_field(config.field).written, transcripts=transcripts)


def _clean(
    raw: RawShard, rows: np.ndarray, cleaning: CleaningConfig, reader: Reader
) -> tuple[pa.Table, dict[str, int]]:
    """Returns the pairs that cleaning keeps of some rows of a raw shard, and counts of the others by reason."""
    pairs, dropped, _ = clean(raw.read().take(array(rows)).combine_chunks(), 1, cleaning, reader)
    return pairs, dropped
