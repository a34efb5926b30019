"""Sounds and pictures that lie in the cells of a table, as the hub keeps them: bytes, or a path.

The source of such an example names its row, from 0, `train.parquet#row=12`; nothing but texts is read before the row is
encoded.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mt.data.fields import Raw, SourceError
from mt.errors import message_of

if TYPE_CHECKING:
    import datasets

ROW = re.compile(r"(?P<table>.+)#row=(?P<number>\d+)")
_BYTES = "bytes"  # the fields of a cell (`datasets.Audio`, `datasets.Image`)
_PATH = "path"


def holds_media(kind: pa.DataType) -> bool:
    """Returns whether cells of a type are sounds or pictures themselves."""
    if pa.types.is_struct(kind):
        return {_BYTES, _PATH} <= {field.name for field in kind}
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def row_name(table: str, number: int) -> str:
    """Names the source of an example. number: of its row, from 0."""
    return f"{table}#row={number}"


def files_in_cells(table: Path, column: str, root: Path) -> Iterator[Path]:
    """Yields the files below `root` that the cells of a parquet file name by their paths; none where the file is no
    such table."""
    if table.suffix != ".parquet" or not table.is_file():
        return
    with contextlib.suppress(pa.ArrowException), pq.ParquetFile(table) as file:
        names = file.schema_arrow.names
        kind = file.schema_arrow.field(column).type if column in names else pa.null()
        if not (pa.types.is_struct(kind) and holds_media(kind)):
            return
        for batch in file.iter_batches(columns=[f"{column}.{_PATH}"]):
            for path in filter(None, batch.column(0).field(0).to_pylist()):
                inside = os.path.relpath(root / path, root)
                if inside.split(os.sep)[0] not in ("..", ".") and (root / inside).is_file():
                    yield root / inside


def from_folder(folder: Path, media: Path, column: str, source: str) -> Raw:
    """Returns what the source of an example stands for: a path below `media`, or a cell of the column of a parquet file
    below `folder`. Raises SourceError where a cell holds neither bytes nor the path of a file below `media`."""
    if (match := ROW.fullmatch(source)) is None:
        return os.path.join(media, source)
    with _refused(source):
        cell = _parquet_cell(str(folder / match["table"]), column, int(match["number"]))
    return _content(cell, source, media)


def from_tables(tables: Mapping[str, datasets.Dataset], column: str, root: Path, source: str) -> Raw:
    """Returns the same of tables of the hub's library, by split. root: where it keeps files."""
    match = ROW.fullmatch(source)
    if match is None:
        return os.path.join(root, source)
    with _refused(source):
        cell = tables[match["table"]].with_format("arrow")[int(match["number"])][column][0].as_py()
    return _content(cell, source, root)


@contextlib.contextmanager
def _refused(source: str) -> Iterator[None]:
    """Makes a sentence of a row that is not there: its table may have changed, or something else names it."""
    try:
        yield
    except (OSError, pa.ArrowException, KeyError, IndexError, ValueError, OverflowError) as error:
        reason = message_of(error)
        raise SourceError(
            f"{source} is no row that can be read ({reason}): give the table that the corpus was made of"
        ) from error


def _content(cell: Any, source: str, root: Path) -> Raw:
    content = cell.get(_BYTES) if isinstance(cell, Mapping) else cell
    if isinstance(content, bytes):
        return content
    path = cell.get(_PATH) if isinstance(cell, Mapping) else None
    if not path:
        raise SourceError(f"{source} holds neither bytes nor a path", "with an empty cell")
    inside = os.path.relpath(root / path, root)
    if inside.split(os.sep)[0] in ("..", "."):
        raise SourceError(
            f"{source} names {path!r}, which is not inside {root}: give paths below that folder, or bytes"
        )
    return os.path.join(root, inside)


def _parquet_cell(path: str, column: str, number: int) -> Any:
    written = os.stat(path).st_mtime_ns
    starts = _starts(path, written)
    group = bisect_right(starts, number) - 1
    return _group(path, written, column, group)[number - starts[group]].as_py()


@functools.lru_cache(maxsize=16)
def _starts(path: str, written: int) -> list[int]:
    """Returns the first row of each group of rows. written: when the file was, since another may come in its place."""
    about = pq.read_metadata(path)
    sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
    return [0, *accumulate(sizes[:-1])]


@functools.lru_cache(maxsize=2)  # rows are asked for one after another
def _group(path: str, written: int, column: str, group: int) -> pa.ChunkedArray:
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns=[column])[column]
