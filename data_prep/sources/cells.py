"""Pairs out of the cells of a table, whatever kind of table it is: first texts, then sounds and pictures.

These lie in the cells as the hub keeps them: bytes, or a path. The source of such an example names its row, from 0,
`train.parquet#row=12`; nothing but texts is read before the row is encoded.
"""

import contextlib
import functools
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mt.data.corpus import Example
from mt.data.fields import Raw, SourceError
from mt.errors import UserError, message_of, nearest
from mt.text_io import without_mark

Columns = tuple[str, ...]
"""The names of the source's and the target's column, and of further references, which are read where they are there."""

NESTED = "translation"
"""The column that holds both sides in many tables of the hub, as {"de": ..., "en": ...}."""

BATCH = 10_000
"""Rows of Arrow data in memory at once."""

ROW = re.compile(r"(?P<table>.+)#row=(?P<number>\d+)")
_BYTES = "bytes"  # the fields of a cell (`datasets.Audio`, `datasets.Image`)
_PATH = "path"
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can write it, UTF-8 cannot
_ADVICE = "set dataset.source and dataset.target"


def require_sides(columns: Columns, known: Collection[str], where: str, advice: str = _ADVICE) -> None:
    """Raises UserError where a side is not among the known columns."""
    for column in columns[:2]:
        if column not in known:
            raise UserError(f"{where} has no column {column}: {nearest(column, known)}; {advice}")


def require_once(columns: Columns, names: Sequence[str], where: str) -> None:
    """Raises UserError where a column that is read is there several times."""
    for column in columns:
        if names.count(column) > 1:
            raise UserError(f"{where} has {names.count(column)} columns {column}: give each a name of its own")


def example(cells: Sequence[object], columns: Columns, where: str, number: int) -> Example:
    """Makes an example of a row of texts: source, target and further references, each a list of them where it is not
    the source.

    Args:
        cells: of these columns; an empty one is an empty text.
        where: what to call the row in an error, up to its number.

    Raises:
        UserError: a cell holds something else.
    """
    for cell, column in zip(cells, columns, strict=True):
        if cell is not None and not isinstance(cell, str):
            if isinstance(cell, list) and column != columns[0]:
                return example(*_spread(cells, columns, f"{where} {number}"), where, number)
            wrong = f"holds {type(cell).__name__}, not text: {_ADVICE}"
        elif cell and "\0" in cell:
            wrong = "holds a NUL character: remove it"
        elif cell and not cell.isascii() and _SURROGATE.search(cell):
            wrong = "holds half of a surrogate pair, which is no character: remove it"
        else:
            continue
        raise UserError(f"{where} {number}, column {column} {wrong}")
    source, target, *more_references = [without_mark(str(cell or "")) for cell in cells]
    return Example(source, target, "", tuple(more_references))


def arrow_columns(schema: pa.Schema, columns: Columns) -> tuple[list[str], bool]:
    """Returns the names among which Arrow data have their sides, and whether they are the fields of `translation`."""
    outer = {*columns[:2]} <= {*schema.names}
    nested = not outer and NESTED in schema.names and pa.types.is_struct(schema.field(NESTED).type)
    return [field.name for field in schema.field(NESTED).type] if nested else schema.names, nested


def is_embedded(schema: pa.Schema, columns: Columns) -> bool:
    """Returns whether the source's column holds sounds or pictures themselves."""
    nested = arrow_columns(schema, columns)[1]
    return not nested and columns[0] in schema.names and holds_media(schema.field(columns[0]).type)


def arrow_examples(
    schema: pa.Schema,
    read: Callable[[list[str]], Iterable[pa.RecordBatch | pa.Table]],
    columns: Columns,
    where: str,
    rows: str | None = None,
) -> Iterator[Example]:
    """Yields the pairs of Arrow data, whose sides are columns or fields of `translation`.

    read: the data, in batches, of the columns with these names. where: what to call the data in an error. rows: what to
    call them where the source may be sounds or pictures themselves, which are left where they are.
    """
    names, nested = arrow_columns(schema, columns)
    require_sides(columns, names, where)
    require_once(columns, names, where)
    columns = tuple(column for column in columns if column in names)
    embedded = rows is not None and is_embedded(schema, columns)
    number = 0
    for batch in read([NESTED] if nested else [*columns[embedded:]]):
        sides = [pc.struct_field(batch[NESTED], column) if nested else batch[column] for column in columns[embedded:]]
        for cells in zip(*(side.to_pylist() for side in sides), strict=True):
            named = (row_name(rows or "", number), *cells) if embedded else cells
            number += 1
            yield example(named, columns, f"{where}, row", number)


def _spread(cells: Sequence[object], columns: Columns, where: str) -> tuple[list[object], Columns]:
    """Returns the cells and their columns, with each text of a list, which the target and references may be, as a
    cell."""
    spread = [(cells[0], columns[0])]
    for cell, column in zip(cells[1:], columns[1:], strict=True):
        texts = cell if isinstance(cell, list) else [cell]
        if not texts and column == columns[1]:
            raise UserError(f"{where}, column {column} holds an empty list: expected the target, or all its references")
        if texts is cell and not all(isinstance(text, str) for text in texts):
            raise UserError(f"{where}, column {column} holds a list of other things than texts: give texts alone")
        spread += [(text, column) for text in texts]
    return [text for text, _ in spread], tuple(column for _, column in spread)


# Sounds and pictures in cells.


def holds_media(kind: pa.DataType) -> bool:
    """Returns whether cells of a type are sounds or pictures themselves."""
    if pa.types.is_struct(kind):
        return {_BYTES, _PATH} <= {field.name for field in kind}
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def row_name(table: str, number: int) -> str:
    """Names the source of an example. number: of its row, from 0."""
    return f"{table}#row={number}"


def path_inside(root: Path, path: str) -> str | None:
    """Returns a path as one relative to a folder; None where it is not inside of it."""
    inside = os.path.relpath(root / path, root)
    return None if inside.split(os.sep)[0] in ("..", ".") else inside


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
                inside = path_inside(root, path)
                if inside is not None and (root / inside).is_file():
                    yield root / inside


def from_folder(folder: Path, media: Path, column: str, source: str) -> Raw:
    """Returns what the source of an example stands for: a path below `media`, or a cell of the column of a parquet file
    below `folder`. Raises SourceError where a cell holds neither bytes nor the path of a file below `media`."""
    if (match := ROW.fullmatch(source)) is None:
        return os.path.join(media, source)
    with _refused(source):
        cell = _parquet_cell(str(folder / match["table"]), column, int(match["number"]))
    return _content(cell, source, media)


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
    inside = path_inside(root, path)
    if inside is None:
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
