"""Pairs in tables: the two sides are columns."""

import csv
import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mt.data.corpus import Example
from mt.errors import UserError, nearest
from mt.lines import file_lines

Columns = tuple[str, str]
"""The names of the source's and the target's column."""

NESTED = "translation"
"""The column that holds both sides in many tables of the hub, as {"de": ..., "en": ...}."""

BATCH = 10_000
"""Rows of Arrow data in memory at once."""

_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can write it, UTF-8 cannot


class TableFile:
    """A file with a row for each pair."""

    def __init__(self, path: Path, columns: Columns, read: Callable[[Path, Columns], Iterator[Example]]) -> None:
        self.paths: tuple[Path, ...] = (path,)
        self._columns = columns
        self._read = read

    def size(self) -> int:
        count = sum(1 for _ in self.examples())
        if count == 0:
            raise UserError(f"{self.paths[0]} has no rows: expected one for each pair")
        return count

    def examples(self) -> Iterator[Example]:
        return self._read(self.paths[0], self._columns)

    def places(self) -> tuple[str, str]:
        source, target = (f"{self.paths[0]}, column {column}, row" for column in self._columns)
        return source, target


def read_tsv(path: Path, columns: Columns) -> Iterator[Example]:
    """Fields between tabs; quotation marks mean nothing."""
    return _fields(path, columns, enumerate((line.split("\t") for line in file_lines(path)), start=1))


def read_csv(path: Path, columns: Columns) -> Iterator[Example]:
    """Fields between commas (RFC 4180): one in quotation marks may hold commas and line ends."""
    reader = csv.reader((f"{line}\n" for line in file_lines(path)), strict=True)
    try:
        yield from _fields(path, columns, ((reader.line_num, fields) for fields in reader))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num} is not CSV ({error}): mend its quotation marks") from error


def read_jsonl(path: Path, columns: Columns) -> Iterator[Example]:
    """An object on each line; the sides are its keys, or keys of its `translation`."""
    for number, line in enumerate(file_lines(path), start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}, line {number} is not JSON ({error}): expected an object on each line") from error
        if not isinstance(row, dict):
            raise UserError(f"{path}, line {number} holds {type(row).__name__}: expected a JSON object on each line")
        cells = row[NESTED] if isinstance(row.get(NESTED), dict) and not row.keys() >= {*columns} else row
        _require(columns, cells, f"{path}, line {number}")
        yield _example([cells[column] for column in columns], columns, str(path), number)


def read_parquet(path: Path, columns: Columns) -> Iterator[Example]:
    """Columns of strings, or of a struct `translation`."""
    try:
        with pq.ParquetFile(path) as file:
            yield from arrow_examples(
                file.schema_arrow, lambda names: file.iter_batches(BATCH, columns=names), columns, str(path)
            )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read as parquet ({reason}): copy it again, or make it again") from error


TABLES: Mapping[str, Callable[[Path, Columns], Iterator[Example]]] = MappingProxyType(
    {".tsv": read_tsv, ".csv": read_csv, ".jsonl": read_jsonl, ".parquet": read_parquet}
)


def arrow_examples(
    schema: pa.Schema,
    read: Callable[[list[str]], Iterable[pa.RecordBatch | pa.Table]],
    columns: Columns,
    where: str,
) -> Iterator[Example]:
    """The pairs of Arrow data, whose sides are columns or fields of `translation`.

    read: the data, in batches, of the columns with these names. where: what to call the data in an error.
    """
    outer = {*columns} <= {*schema.names}
    nested = not outer and NESTED in schema.names and pa.types.is_struct(schema.field(NESTED).type)
    _require(columns, [field.name for field in schema.field(NESTED).type] if nested else schema.names, where)
    number = 0
    for batch in read([NESTED] if nested else [*columns]):
        sides = [pc.struct_field(batch[NESTED], column) if nested else batch[column] for column in columns]
        for cells in zip(*(side.to_pylist() for side in sides), strict=True):
            number += 1
            yield _example(cells, columns, where, number)


def _fields(path: Path, columns: Columns, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Example]:
    """Two columns, named in the first row; numbers name them (from 1) where the first row is a pair already."""
    first = next(rows, None)
    if first is None:
        return
    width = len(first[1])
    if numbered := all(column.isdecimal() for column in columns):
        rows = itertools.chain([first], rows)
    names = [str(place) for place in range(1, width + 1)] if numbered else first[1]
    _require(columns, names, f"{path}, line 1")
    source, target = (names.index(column) for column in columns)
    for number, fields in rows:
        if len(fields) != width:
            raise UserError(
                f"{path}, line {number} is cut into {len(fields)} and line 1 into {width} fields: "
                "every line must have the same columns"
            )
        yield Example(fields[source], fields[target])


def _require(columns: Columns, known: Collection[str], where: str) -> None:
    for column in columns:
        if column not in known:
            raise UserError(
                f"{where} has no column {column}: {nearest(column, known)}; set dataset.source and dataset.target"
            )


def _example(cells: Sequence[object], columns: Columns, where: str, number: int) -> Example:
    """Two cells as texts; an empty cell is an empty text."""
    for cell, column in zip(cells, columns, strict=True):
        if cell is not None and not isinstance(cell, str):
            fault = f"holds {type(cell).__name__}, not text: set dataset.source and dataset.target"
        elif cell and "\0" in cell:
            fault = "holds a NUL character: remove it"
        elif cell and not cell.isascii() and _SURROGATE.search(cell):
            fault = "holds half of a surrogate pair, which is no character: remove it"
        else:
            continue
        raise UserError(f"{where}, column {column}, row {number} {fault}")
    source, target = cells
    return Example(str(source or ""), str(target or ""))
