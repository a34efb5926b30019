"""The prepared corpus on disk, writer and reader together: ids and raw text side by side, memory-mapped."""

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import datasets
import numpy as np
import pyarrow as pa

from mt.data.fields import TEXT as TEXT_FIELD, Field
from mt.data.files import Record, record, require_contents, require_sizes
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError
from mt.storage import replaced_path

FORMAT = 6
"""Raised whenever the columns, `meta.json`, or what preparation does to the text, change."""

SPLITS = ("train", "dev", "test")

_SCHEMA = pa.schema(
    [
        ("source_ids", TEXT_FIELD.arrow_type),  # EOS included
        ("target_ids", TEXT_FIELD.arrow_type),  # EOS included, no BOS
        ("source", pa.string()),  # raw
        ("target", pa.string()),  # raw
        ("references", pa.list_(pa.string())),  # every reference of the example, `target` first
        ("links", pa.string()),  # gold word links `i-j` (Pharaoh, 0-based, source-target), "" where unknown
    ]
)
_FEATURES = datasets.Features.from_arrow_schema(_SCHEMA)
TEXT = pa.schema([(name, pa.string()) for name in ("source", "target", "links")])
"""Examples before they are encoded; those of dev and test have a column `references` too."""
_REMEDY = "delete it and make it again with `python -m data_prep dataset=...`"
_CHUNK = 5_000  # examples encoded at a time


class Example(NamedTuple):
    """A raw pair."""

    source: str
    target: str
    links: str = ""
    """Gold word links `i-j` (Pharaoh, 0-based, source-target), "" where unknown."""
    more_references: tuple[str, ...] = ()
    """What to score against besides the target, in dev and test."""


class Training(Protocol):
    """What can be trained on: a split, or a stream of pairs that are not on disk."""

    def parts(self) -> Iterable["Split"]:
        """The pairs of one epoch, in parts that are ordered into batches one after another, the same in every epoch.

        A list, or read as they are asked for where nobody knows how many there are.
        """


class Split:
    """One split of a corpus, read from the memory map on demand."""

    def __init__(self, dataset: datasets.Dataset, source: Field = TEXT_FIELD) -> None:
        """source: what the sources are."""
        self.source = source
        self._dataset = dataset
        self._ids = dataset.select_columns(["source_ids", "target_ids"]).with_format("arrow")

    def __len__(self) -> int:
        return len(self._dataset)

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Source and target lengths in ids, EOS included: two int64 arrays [N]."""
        columns = self._dataset.data
        return self.source.lengths(columns.column("source_ids")), TEXT_FIELD.lengths(columns.column("target_ids"))

    def ids(self, indices: Sequence[int] | np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The (source ids, target ids) of the examples, int32 arrays that end in EOS."""
        table: pa.Table = self._ids[indices]
        return list(zip(self.source.rows(table["source_ids"]), TEXT_FIELD.rows(table["target_ids"]), strict=True))

    def parts(self) -> list["Split"]:
        return [self]

    def column(self, name: str) -> list[Any]:
        """A whole column: `source`, `target`, `links` (strings) or `references` (lists of strings)."""
        return self._dataset.data.column(name).to_pylist()


class Corpus:
    """A prepared corpus: `tokenizers`, `meta` (as given to `finish`, and what it adds) and three splits."""

    def __init__(
        self,
        splits: Mapping[str, Split],
        tokenizers: Tokenizers,
        meta: Mapping[str, Any],
        stream: Training | None = None,
        read: Callable[[str], Split] | None = None,
    ) -> None:
        """
        Args:
            stream: to train on in place of the split `train`, which is a sample of it then.
            read: gives the splits that are not among `splits`, when they are asked for.
        """
        self._splits = dict(splits)
        self._read = read
        self._stream = stream
        self.tokenizers = tokenizers
        self.meta = meta

    @classmethod
    def open(cls, folder: Path, stream: Training | None = None) -> Self:
        """Open what `finish` finished. stream: see `__init__`.

        The sizes of all files are compared with those that were written; the contents of a split, when it is first
        asked for, which takes a second or two per GB.

        Raises:
            UserError: the folder is no prepared corpus, is damaged, or was written in another format.
        """
        try:
            meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            found = meta["format"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f"{folder} is not a prepared corpus (meta.json is missing or broken): {_REMEDY}") from error
        if found != FORMAT:
            raise UserError(f"{folder} is a corpus of format {found}, this version reads format {FORMAT}: {_REMEDY}")
        with _undamaged(folder):
            require_sizes(folder, meta.get("files"))
        tokenizers = Tokenizers.load(folder)
        if tokenizers.digest() != meta.get("tokenizers"):
            raise UserError(f"{folder} has another tokenizer than the one that cut its text: {_REMEDY}")
        return cls({}, tokenizers, meta, stream, functools.partial(_read_split, folder, meta["files"]))

    def split(self, name: str) -> Split:
        """The split `train`, `dev` or `test`. Raises UserError where its files are not as they were written."""
        if name not in self._splits and self._read is not None:
            self._splits[name] = self._read(name)
        return self._splits[name]

    @property
    def training(self) -> Training:
        """What to train on."""
        return self._stream or self.split("train")


def _read_split(folder: Path, files: Record, name: str) -> Split:
    with _undamaged(folder):
        require_contents(folder, files, name)
        return Split(datasets.load_from_disk(str(folder / name), keep_in_memory=False))


@contextlib.contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """What reading a damaged corpus raises becomes one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise UserError(f"{folder} is damaged ({' '.join(str(error).split())}): {_REMEDY}") from error


def write_shard(path: Path, text: pa.Table, tokenizers: Tokenizers) -> None:
    """Encode the examples of a table of `TEXT` and write them as one file of a split.

    Their references are the column `references` where the table has one, else the target alone.
    """
    with replaced_path(path) as draft, pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, _SCHEMA) as writer:
        for chunk in text.to_batches(max_chunksize=_CHUNK):
            writer.write_batch(_encoded(chunk, tokenizers))


def finish_split(folder: Path, shards: Sequence[str]) -> None:
    """Make the files named in `shards`, in this order, a dataset that `datasets.load_from_disk` opens."""
    datasets.DatasetInfo(features=_FEATURES).write_to_directory(str(folder))
    state: dict[str, Any] = {
        "_data_files": [{"filename": name} for name in shards],
        "_fingerprint": folder.name,
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / "state.json").write_text(json.dumps(state, indent=2), encoding="utf-8")


def finish(draft: Path, folder: Path, tokenizers: Tokenizers, meta: Mapping[str, Any]) -> None:
    """Make a folder of three finished splits the corpus `folder`: by its name alone, so it is whole or not there."""
    tokenizers.save(draft)
    counts = {name: len(datasets.load_from_disk(str(draft / name), keep_in_memory=False)) for name in SPLITS}
    paths = sorted(path for name in SPLITS for path in (draft / name).iterdir())
    files = record(draft, paths)
    known = {"format": FORMAT, "counts": counts, "tokenizers": tokenizers.digest(), "files": files}
    text = json.dumps(known | dict(meta), indent=2, ensure_ascii=False)
    (draft / "meta.json").write_text(text + "\n", encoding="utf-8")
    os.rename(draft, folder)


def text_table(examples: Sequence[Example]) -> pa.Table:
    """The examples as a table of `TEXT` with the column `references`."""
    rows = [example._asdict() | {"references": [example.target, *example.more_references]} for example in examples]
    return pa.Table.from_pylist(rows, TEXT.append(_SCHEMA.field("references")))


def encoded_pairs(source: list[str], target: list[str], tokenizers: Tokenizers) -> dict[str, pa.ListArray]:
    """The columns `source_ids` and `target_ids` of some pairs."""
    return {
        "source_ids": tokenizers.source.encode_column(source),
        "target_ids": tokenizers.target.encode_column(target),
    }


def _encoded(text: pa.RecordBatch, tokenizers: Tokenizers) -> pa.RecordBatch:
    columns = {
        **encoded_pairs(text["source"].to_pylist(), text["target"].to_pylist(), tokenizers),
        "source": text["source"],
        "target": text["target"],
        "references": text["references"] if "references" in text.schema.names else _alone(text["target"]),
        "links": text["links"],
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=_SCHEMA)


def _alone(texts: pa.StringArray) -> pa.ListArray:
    """Each text as a list of one."""
    return pa.ListArray.from_arrays(np.arange(len(texts) + 1, dtype=np.int32), texts)
