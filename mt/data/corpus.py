"""The prepared corpus on disk, writer and reader together: ids and raw text side by side, memory-mapped."""

import contextlib
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets.arrow_writer import ArrowWriter

from mt.data.tokenizer import Tokenizers
from mt.errors import UserError

FORMAT = 1
"""Raised whenever the columns, or what preparation does to the text, change."""

SPLITS = ("train", "dev", "test")

_IDS = datasets.Sequence(datasets.Value("int32"))
_TEXT = datasets.Value("string")
_FEATURES = datasets.Features(
    {
        "source_ids": _IDS,  # EOS included
        "target_ids": _IDS,  # EOS included, no BOS
        "source": _TEXT,  # raw
        "target": _TEXT,  # raw
        "references": datasets.Sequence(_TEXT),  # every reference of the example, `target` first
        "links": _TEXT,  # gold word links `i-j` (Pharaoh, 0-based, source-target), "" where unknown
    }
)
_CHUNK = 10_000  # examples encoded at a time


class Example(NamedTuple):
    """A raw pair. `links`: gold word links `i-j` (Pharaoh, 0-based, source-target), "" where unknown."""

    source: str
    target: str
    links: str = ""


class Split:
    """One split of a corpus, read from the memory map on demand."""

    def __init__(self, dataset: datasets.Dataset) -> None:
        self._dataset = dataset
        self._ids = dataset.select_columns(["source_ids", "target_ids"]).with_format("arrow")

    def __len__(self) -> int:
        return len(self._dataset)

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Source and target lengths in ids, EOS included: two int64 arrays [N]."""
        source, target = (
            pc.list_value_length(self._dataset.data.column(name)).to_numpy().astype(np.int64)
            for name in ("source_ids", "target_ids")
        )
        return source, target

    def ids(self, indices: Sequence[int] | np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The (source ids, target ids) of the examples, int32 arrays that end in EOS."""
        table: pa.Table = self._ids[indices]
        return list(zip(_arrays(table["source_ids"]), _arrays(table["target_ids"]), strict=True))

    def column(self, name: str) -> list[Any]:
        """A whole column: `source`, `target`, `links` (strings) or `references` (lists of strings)."""
        return self._dataset.data.column(name).to_pylist()


class Corpus:
    """A prepared corpus: `tokenizers`, `meta` (as given to `write`, with `format` and `counts`) and three splits."""

    def __init__(self, splits: Mapping[str, Split], tokenizers: Tokenizers, meta: Mapping[str, Any]) -> None:
        self._splits = splits
        self.tokenizers = tokenizers
        self.meta = meta

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what `write` wrote.

        Raises:
            UserError: the folder is no prepared corpus, is damaged, or was written in another format.
        """
        try:
            meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            found = meta["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{folder} is not a prepared corpus (meta.json is missing or broken): "
                "make one with `python -m data_prep dataset=...`"
            ) from error
        if found != FORMAT:
            raise UserError(
                f"{folder} is a corpus of format {found}, this version reads format {FORMAT}: "
                "make it again with `python -m data_prep dataset=...`"
            )
        try:
            splits = {name: Split(datasets.load_from_disk(str(folder / name), keep_in_memory=False)) for name in SPLITS}
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise UserError(
                f"{folder} is damaged ({' '.join(str(error).split())}): "
                "delete it and make it again with `python -m data_prep dataset=...`"
            ) from error
        return cls(splits, Tokenizers.load(folder), meta)

    def split(self, name: str) -> Split:
        """The split `train`, `dev` or `test`."""
        return self._splits[name]


def write(
    folder: Path, splits: Mapping[str, Iterable[Example]], tokenizers: Tokenizers, meta: Mapping[str, Any]
) -> None:
    """Encode the examples of `train`, `dev` and `test` and write the corpus.

    It is made under a temporary name beside `folder` and renamed last, so that `folder` is whole or not there.
    Where another process made it first, that one's stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        draft = Path(temporary, "corpus")
        counts = {name: _write_split(draft / name, splits[name], tokenizers) for name in SPLITS}
        tokenizers.save(draft)
        text = json.dumps({"format": FORMAT, "counts": counts, **meta}, indent=2, ensure_ascii=False)
        (draft / "meta.json").write_text(text + "\n", encoding="utf-8")
        try:
            os.rename(draft, folder)
        except OSError:
            if not (folder / "meta.json").is_file():
                raise


def _write_split(folder: Path, examples: Iterable[Example], tokenizers: Tokenizers) -> int:
    """Returns the number of examples. Memory holds one chunk at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    table = folder.with_suffix(".arrow")
    writer = ArrowWriter(path=str(table), features=_FEATURES)
    examples = iter(examples)
    while chunk := list(itertools.islice(examples, _CHUNK)):
        source, target, links = (list(column) for column in zip(*chunk, strict=True))
        writer.write_batch(
            {
                "source_ids": tokenizers.source.encode(source),
                "target_ids": tokenizers.target.encode(target),
                "source": source,
                "target": target,
                "references": [[text] for text in target],
                "links": links,
            }
        )
    count, _ = writer.finalize()
    writer.close()
    with _no_bars():
        datasets.Dataset.from_file(str(table)).save_to_disk(str(folder))
    table.unlink()
    return count


def _arrays(column: pa.ChunkedArray) -> Iterator[np.ndarray]:
    for chunk in column.chunks:
        values, offsets = chunk.values.to_numpy(), chunk.offsets.to_numpy()
        yield from (values[start:end] for start, end in itertools.pairwise(offsets))


@contextlib.contextmanager
def _no_bars() -> Iterator[None]:
    """Silences the bar of `datasets` for a moment: preparation shows its own."""
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
