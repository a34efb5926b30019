"""The training pairs that the vocabulary is learnt from: the same ones however a preparation is shared out."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from data_prep.parallel import ordered
from data_prep.shards import blocks, clean
from data_prep.sources import Read
from data_prep.summary import listed
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig, DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers
from mt.data.writer import Reader
from mt.errors import UserError

_RUNS = 1_000
_LONGEST = 100


def drawn(total: int, size: int) -> Iterator[range]:
    """Yields about `size` of `total` rows (or all), in short runs spread over all of them; the seed is fixed.

    Runs, because a file is passed over quickly between them. A thousand or more, of a hundred rows at the most, each at
    a random place of another stretch.
    """
    if total <= size:
        yield range(total)
        return
    generator = np.random.default_rng(0)
    runs = -(-size // min(_LONGEST, max(1, size // _RUNS)))
    for run in range(runs):
        begin = total * run // runs
        end = total * (run + 1) // runs
        length = size * (run + 1) // runs - size * run // runs
        start = begin + int(generator.integers(end - begin - length + 1))
        yield range(start, start + length)


def sample(read: Read, total: int, config: DatasetConfig, reader: Reader) -> list[Example]:
    """Returns the pairs that cleaning keeps of `drawn` rows, in order, equal ones once where duplicates are dropped.

    Raises UserError where there are none.
    """
    rows = [*drawn(total, config.tokenizer.sample)]
    tasks = ((block, config.cleaning, reader) for block in blocks(read(rows), reader.field.shard_size))
    examples: list[Example] = []
    dropped: Counter[str] = Counter()
    count = 0
    for pairs, reasons, size in ordered(_clean, tasks, config.workers):
        columns = [column.to_pylist() for column in pairs.columns]
        examples += (Example(a, b, links, transcript=words) for a, b, links, words in zip(*columns, strict=True))
        dropped.update(reasons)
        count += size
    if not examples:
        whole = sum(map(len, rows)) == total
        raise UserError(
            f"cleaning dropped all {count:,} {'training pairs' if whole else 'pairs of a sample'} ({listed(dropped)}): "
            "check that the two sides are what you meant, or loosen dataset.cleaning"
        )
    if config.cleaning.drop_duplicates:
        first: dict[tuple[str, str], Example] = {}
        for example in examples:
            first.setdefault((example.source, example.target), example)
        return [*first.values()]
    return examples


def learn(config: DatasetConfig, examples: list[Example]) -> Tokenizers:
    """Learns the vocabularies of these pairs. Raises UserError as `Tokenizers.train`."""
    pairs = [(example.source, example.target) for example in examples]
    transcripts = [example.transcript for example in examples] if config.transcript else None
    return Tokenizers.train(config.tokenizer, pairs, source=build_field(config.field).written, transcripts=transcripts)


def _clean(block: pa.Table, cleaning: CleaningConfig, reader: Reader) -> tuple[pa.Table, dict[str, int], int]:
    pairs, dropped, _ = clean(block, 1, cleaning, reader)
    return pairs, dropped, len(block)
