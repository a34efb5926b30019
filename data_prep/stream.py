"""Training pairs read from their source in every epoch: for sets that are larger than the disk.

`open_corpus` opens the prepared corpus, and gives it a `Stream` where the options ask for one. A stream cuts its source
into the same tables as `data_prep.ingest`, and cleans and encodes each in memory.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from data_prep.encode import clean
from data_prep.ingest import raw_tables
from data_prep.parallel import ordered
from data_prep.prepare import prepare
from data_prep.sources import open_reader, open_source
from data_prep.sources.base import Read
from mt.data.arrow import ALL, Share
from mt.data.corpus import SPLITS, Corpus
from mt.data.dataset import CleaningConfig, DatasetConfig
from mt.data.split import Split
from mt.data.tokenizer import Tokenizers
from mt.data.writer import Reader, encoded_pairs

if TYPE_CHECKING:  # the processes that prepare text would wait for torch
    from mt.distributed import Gather, ProcessGroup


def open_corpus(
    config: DatasetConfig, root: Path, tokenizers: Tokenizers | None = None, processes: "ProcessGroup | None" = None
) -> Corpus:
    """Opens the prepared corpus, made where it is missing; with `streaming`, to train on pairs of the source itself.

    tokenizers: see `prepare`. processes: open it together; the first of them makes it, and each checks a share
    of its files.
    """

    def prepared() -> Path:
        return prepare(config, root, tokenizers=tokenizers)

    folder = prepared() if processes is None else processes.decided_by_first(prepared)
    stream = None
    if config.streaming:
        stream = Stream(open_source(config).splits["train"].read, config, folder, processes)
    weights = [config.weight, *(mixed.weight for mixed in config.mix)] if config.mix else []
    corpus = Corpus.open(folder, stream, weights, _share(processes))
    for name in SPLITS:
        corpus.split(name)  # what is damaged is refused before a run begins
    return corpus


def _share(processes: "ProcessGroup | None") -> Share:
    """Returns this process' share of work that all do together."""
    return ALL if processes is None else (processes.rank, processes.size)


class Stream:
    """Cleans and encodes the pairs of a source, `shuffle_buffer` at a time; they are shuffled within such a part alone.

    Duplicates stay, since nothing remembers what has been read. Several processes all read the source. Each cleans and
    encodes a share of its tables, and gets those of the others, so that parts are those of one process.
    """

    def __init__(
        self, read: Read, config: DatasetConfig, tokenizers: Path, processes: "ProcessGroup | None" = None
    ) -> None:
        self._read = read
        self._config = config
        self._tokenizers = tokenizers
        self._rank, self._size = _share(processes)
        self._gather: Gather[pa.Table | None] | None = None if processes is None else processes.channel()

    def parts(self) -> Iterator[Split]:
        raw = itertools.islice(self._read(), self._config.limit)
        reader = open_reader(self._config)
        share = itertools.islice(raw_tables(raw, reader.field.shard_size), self._rank, None, self._size)
        tasks = ((table, self._config.cleaning, self._tokenizers, reader) for table in share)
        encoded = ordered(_encoded, tasks, self._config.workers)
        for table in _cut(self._of_all(encoded), self._config.shuffle_buffer):
            yield Split(table, reader.field)

    def _of_all(self, encoded: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yields what all processes have encoded, in the order of the source."""
        if self._gather is None:
            yield from encoded
            return
        while tables := [table for table in self._gather(next(encoded, None)) if table is not None]:
            yield from tables


def _encoded(raw: pa.Table, cleaning: CleaningConfig, tokenizers: Path, reader: Reader) -> pa.Table:
    pairs, _, _ = clean(raw, 1, cleaning, reader)
    columns = encoded_pairs(pairs, Tokenizers.load(tokenizers), reader)
    return pa.table({**columns, "source": pairs["source"], "target": pairs["target"]})


def _cut(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yields the rows of all tables, `size` at a time; what is left comes last."""
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
