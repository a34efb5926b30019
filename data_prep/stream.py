"""Training pairs read from their source in every epoch: for sets that are larger than the disk."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import datasets
import pyarrow as pa

from data_prep.clean import drop_reasons
from data_prep.parallel import ordered
from data_prep.prepare import prepare
from data_prep.shards import blocks
from data_prep.sources import Source, open_reader, open_source
from mt.data.corpus import SPLITS, Corpus, Split
from mt.data.dataset import CleaningConfig, DatasetConfig
from mt.data.tokenizer import Tokenizers
from mt.data.writer import Reader, encoded_pairs


def open_corpus(config: DatasetConfig, root: Path, tokenizers: Tokenizers | None = None) -> Corpus:
    """The prepared corpus, made where it is missing; with `streaming`, to be trained on pairs of the source itself.

    tokenizers: see `prepare`.
    """
    folder = prepare(config, root, tokenizers=tokenizers)
    corpus = Corpus.open(folder, Stream(open_source(config), config, folder) if config.streaming else None)
    for name in SPLITS:
        corpus.split(name)  # what is damaged is refused before a run begins
    return corpus


class Stream:
    """Cleaned and encoded pairs of a source, `shuffle_buffer` at a time; they are shuffled within such a part alone.

    Duplicates stay, since nothing remembers what has been read.
    """

    def __init__(self, source: Source, config: DatasetConfig, tokenizers: Path) -> None:
        self._source = source
        self._config = config
        self._tokenizers = tokenizers

    def parts(self) -> Iterator[Split]:
        raw = itertools.islice(self._source.examples("train"), self._config.limit)
        reader = open_reader(self._config)
        given = blocks(raw, reader.field.shard_size)
        tasks = ((block, self._config.cleaning, self._tokenizers, reader) for block in given)
        for table in _cut(ordered(_encoded_block, tasks, self._config.workers), self._config.shuffle_buffer):
            yield Split(datasets.Dataset(table, fingerprint="stream"), reader.field)


def _encoded_block(block: pa.Table, cleaning: CleaningConfig, tokenizers: Path, reader: Reader) -> pa.Table:
    sources, targets = block["source"].to_pylist(), block["target"].to_pylist()
    kept = [reason is None for reason in drop_reasons(sources, targets, cleaning, reader)]
    sources, targets = (list(itertools.compress(column, kept)) for column in (sources, targets))
    return pa.table(encoded_pairs(sources, targets, Tokenizers.load(tokenizers), reader))


def _cut(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The rows of all tables, `size` at a time; what is left comes last."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= size:
            rows = pa.concat_tables(waiting)
            whole = len(rows) // size * size
            yield from (rows.slice(start, size).combine_chunks() for start in range(0, whole, size))
            waiting = [rows.slice(whole)]
    if sum(map(len, waiting)):
        yield pa.concat_tables(waiting).combine_chunks()
