"""Pairs in tables: the two sides are columns, and so are further references."""

import csv
import functools
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data_prep.sources.base import RawSplit, Records, at
from data_prep.sources.cells import (
    BATCH,
    NESTED,
    Columns,
    arrow_columns,
    arrow_examples,
    example,
    is_embedded,
    require_once,
    require_sides,
)
from mt.data.corpus import Example
from mt.errors import UserError, message_of
from mt.text_io import file_lines, without_mark

Rows = Iterator[tuple[int, list[str]]]
"""The fields of rows, each with the number of its line."""

_ADVICE = "set dataset.source and dataset.target (to the columns' numbers, from 1, if this line is a pair already)"
_DEEP = 500  # brackets of a line of JSON
_LONGEST_FIELD = 1 << 24  # characters in CSV, where a quotation mark without its fellow swallows all that follows


class TableFile(ABC):
    """A file with a row for each pair. A line of text with nothing in it but spaces is no row, wherever it stands."""

    def __init__(self, path: Path, columns: Columns) -> None:
        """columns: the names of those to read."""
        self._path = path
        self._columns = columns
        self.files: tuple[tuple[str, Path], ...] = ((type(self).__name__, path),)

    @abstractmethod
    def records(self) -> Records:
        """Yields the pairs with their origins."""

    @abstractmethod
    def columns(self) -> Collection[str]:
        """Names the columns that are there."""

    def read(self, rows: Iterable[range] | None = None) -> Iterator[Example]:
        """Yields the pairs, as `Read` does."""
        examples = (pair for _, pair in self.records())
        return examples if rows is None else at(examples, rows)

    def size(self) -> int:
        """Counts the pairs. Raises UserError where there are none."""
        count = sum(1 for _ in self.read())
        if count == 0:
            raise UserError(self._emptiness())
        return count

    def holds_media(self) -> bool:
        """Returns whether sources are sounds or pictures in the cells of the table itself."""
        return False

    def split(self) -> RawSplit:
        """Returns what is read of the file; what costs a pass over it is remembered."""
        sides = f"{self._path}, column {self._columns[0]}, row", f"{self._path}, column {self._columns[1]}, row"
        return RawSplit(
            self.read,
            functools.cache(self.size),
            sides,
            self.columns,
            self.records,
            functools.cache(self.holds_media),
        )

    def _emptiness(self) -> str:
        """Says what is wrong with a file of no pairs."""
        return f"{self._path} has no rows: expected one for each pair"


class FieldsFile(TableFile):
    """Columns are named in the first row; numbers name them (from 1) where the first row is a pair already."""

    @abstractmethod
    def rows(self) -> Rows:
        """Yields all rows; lines with nothing in them may be among them."""

    def records(self) -> Records:
        start, names, rows = self._head()
        if not names:
            return
        require_sides(self._columns, names, f"{self._path}, line {start}", _ADVICE)
        require_once(self._columns, names, f"{self._path}, line {start}")
        source, target, *more = (names.index(column) for column in self._columns if column in names)
        width = len(names)
        for number, fields in rows:
            if len(fields) == width:
                more_references = tuple([fields[column] for column in more]) if more else ()
                yield f"{self._path}, line {number}", Example(fields[source], fields[target], "", more_references)
            elif not _blank(fields):
                raise UserError(
                    f"{self._path}, line {number} is cut into {len(fields)} and line {start} into {width} fields: "
                    "every line must have the same columns"
                )

    def columns(self) -> list[str]:
        return self._head()[1]

    def _head(self) -> tuple[int, list[str], Rows]:
        """Returns the line of the first row, the names of the columns (none in an empty file), and the rows of
        pairs."""
        rows = self.rows()
        for number, fields in rows:
            if _blank(fields):
                continue
            if all(column.isdecimal() for column in self._columns[:2]):
                names = [str(column) for column in range(1, len(fields) + 1)]
                return number, names, itertools.chain([(number, fields)], rows)
            return number, fields, rows
        return 1, [], rows


class TsvFile(FieldsFile):
    """Fields between tabs; quotation marks mean nothing."""

    def rows(self) -> Rows:
        return enumerate(([*map(without_mark, line.split("\t"))] for line in file_lines(self._path)), start=1)


class CsvFile(FieldsFile):
    """Fields between commas (RFC 4180): one in quotation marks may hold commas and line ends."""

    def rows(self) -> Rows:
        csv.field_size_limit(_LONGEST_FIELD)
        reader = csv.reader((f"{line}\n" for line in file_lines(self._path)), strict=True)
        try:
            for fields in reader:
                yield reader.line_num, [*map(without_mark, fields)]
        except csv.Error as error:
            raise UserError(
                f"{self._path}, line {reader.line_num} is not CSV ({error}): mend its quotation marks"
            ) from error


class JsonLinesFile(TableFile):
    """An object on each line; the sides are its keys, or keys of its `translation`."""

    def records(self) -> Records:
        where = f"{self._path}, line"
        for number, cells in self._rows():
            require_sides(self._columns, cells, f"{where} {number}")
            pair = example([cells.get(column) for column in self._columns], self._columns, where, number)
            yield f"{where} {number}", pair

    def columns(self) -> dict[str, None]:
        return dict.fromkeys(column for _, cells in self._rows() for column in cells)

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yields the number of each line with its object, or with the `translation` of it."""
        for number, line in enumerate(file_lines(self._path), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                raise UserError(
                    f"{self._path}, line {number} is not JSON ({error}): expected an object on each line"
                ) from error
            if not isinstance(row, dict):
                raise UserError(
                    f"{self._path}, line {number} holds {type(row).__name__}: expected a JSON object on each line"
                )
            nested = isinstance(row.get(NESTED), dict) and not row.keys() >= {*self._columns[:2]}
            yield number, row[NESTED] if nested else row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON; of a key that it has twice one value would be lost."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"its key {next(name for name in names if names.count(name) > 1)} comes twice")
    return row


def require_shallow(path: Path) -> None:
    """Raises UserError where JSON is nested too deep, by which Arrow's reader would crash."""
    for number, line in enumerate(file_lines(path), start=1):
        if line.count("[") + line.count("{") > _DEEP:
            try:
                json.loads(line)
            except RecursionError as error:
                raise UserError(f"{path}, line {number} is not JSON ({error}): expected flat objects") from error
            except ValueError:
                continue  # what reads it says where it is wrong


class ParquetFile(TableFile):
    """Columns of strings or lists of strings, or of a struct `translation` that holds them."""

    def __init__(self, path: Path, columns: Columns, rows: str | None = None) -> None:
        """rows: what to call them where the source may be sounds or pictures themselves."""
        super().__init__(path, columns)
        self._rows = rows

    def records(self) -> Records:
        return ((f"{self._path}, row {number}", pair) for number, pair in enumerate(self._examples(), start=1))

    def _examples(self) -> Iterator[Example]:
        try:
            with pq.ParquetFile(self._path) as file:
                yield from arrow_examples(
                    file.schema_arrow,
                    lambda names: file.iter_batches(BATCH, columns=names),
                    self._columns,
                    str(self._path),
                    self._rows,
                )
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = message_of(error)
            raise UserError(
                f"{self._path} cannot be read as parquet ({reason}): copy it again, or make it again"
            ) from error

    def columns(self) -> list[str]:
        return arrow_columns(pq.read_schema(self._path), self._columns)[0]

    def holds_media(self) -> bool:
        return bool(self._rows) and is_embedded(pq.read_schema(self._path), self._columns)


TABLES: Mapping[str, Callable[[Path, Columns], TableFile]] = MappingProxyType(
    {".tsv": TsvFile, ".csv": CsvFile, ".jsonl": JsonLinesFile, ".parquet": ParquetFile}
)


def _blank(fields: Sequence[str]) -> bool:
    """Returns whether a line has nothing in it but spaces."""
    return len(fields) < 2 and not "".join(fields).strip()
