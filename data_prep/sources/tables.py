"""Pairs in tables: the two sides are columns, and so are further references."""

import csv
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data_prep.sources.base import at
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
from mt.errors import UserError
from mt.text_io import file_lines, without_mark

Rows = Iterator[tuple[int, list[str]]]
"""The fields of rows, each with the number of its line."""

_ADVICE = "set dataset.source and dataset.target (to the columns' numbers, from 1, if this line is a pair already)"
_DEEP = 500  # brackets of a line of JSON
_LONGEST_FIELD = 1 << 24  # characters in CSV, where a quotation mark without its fellow swallows all that follows


class TableFile(ABC):
    """A file with a row for each pair. A line of text with nothing in it but spaces is no row, wherever it stands."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._path = path
        self._sought = columns
        self.paths: tuple[Path, ...] = (path,)

    def roles(self) -> tuple[str, ...]:
        return (type(self).__name__,)

    def size(self) -> int:
        count = sum(1 for _ in self.examples())
        if count == 0:
            raise UserError(f"{self._path} has no rows: expected one for each pair")
        return count

    @abstractmethod
    def examples(self) -> Iterator[Example]: ...

    def examples_at(self, rows: Iterable[range]) -> Iterator[Example]:
        """As of `Source`."""
        return at(self.examples(), rows)

    def located(self) -> Iterator[tuple[str, Example]]:
        """Each pair with what to call its line in an error."""
        return ((f"{self._path}, row {number}", pair) for number, pair in enumerate(self.examples(), start=1))

    @abstractmethod
    def columns(self) -> Collection[str]: ...

    def embedded(self) -> str | None:
        """As of `Listing`."""
        return None

    def places(self) -> tuple[str, str]:
        return f"{self._path}, column {self._sought[0]}, row", f"{self._path}, column {self._sought[1]}, row"


class FieldsFile(TableFile):
    """Columns are named in the first row; numbers name them (from 1) where the first row is a pair already."""

    @abstractmethod
    def rows(self) -> Rows:
        """All rows; lines with nothing in them may be among them."""

    def examples(self) -> Iterator[Example]:
        return (pair for _, pair in self._numbered())

    def located(self) -> Iterator[tuple[str, Example]]:
        return ((f"{self._path}, line {number}", pair) for number, pair in self._numbered())

    def _numbered(self) -> Iterator[tuple[int, Example]]:
        start, names, rows = self._head()
        if not names:
            return
        require_sides(self._sought, names, f"{self._path}, line {start}", _ADVICE)
        require_once(self._sought, names, f"{self._path}, line {start}")
        source, target, *more = (names.index(column) for column in self._sought if column in names)
        width = len(names)
        for number, fields in rows:
            if len(fields) == width:
                more_references = tuple([fields[place] for place in more]) if more else ()
                yield number, Example(fields[source], fields[target], "", more_references)
            elif not _blank(fields):
                raise UserError(
                    f"{self._path}, line {number} is cut into {len(fields)} and line {start} into {width} fields: "
                    "every line must have the same columns"
                )

    def columns(self) -> list[str]:
        return self._head()[1]

    def _head(self) -> tuple[int, list[str], Rows]:
        """The line of the first row, the names of the columns (none in an empty file), and the rows of pairs."""
        rows = self.rows()
        for number, fields in rows:
            if _blank(fields):
                continue
            if all(column.isdecimal() for column in self._sought[:2]):
                places = [str(place) for place in range(1, len(fields) + 1)]
                return number, places, itertools.chain([(number, fields)], rows)
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

    def examples(self) -> Iterator[Example]:
        return (pair for _, pair in self.located())

    def located(self) -> Iterator[tuple[str, Example]]:
        where = f"{self._path}, line"
        for number, cells in self._rows():
            require_sides(self._sought, cells, f"{where} {number}")
            pair = example([cells.get(column) for column in self._sought], self._sought, where, number)
            yield f"{where} {number}", pair

    def columns(self) -> dict[str, None]:
        return dict.fromkeys(column for _, cells in self._rows() for column in cells)

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The number of each line with its object, or with the `translation` of it."""
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
            nested = isinstance(row.get(NESTED), dict) and not row.keys() >= {*self._sought[:2]}
            yield number, row[NESTED] if nested else row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a key that it has twice one value would be lost."""
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

    def examples(self) -> Iterator[Example]:
        try:
            with pq.ParquetFile(self._path) as file:
                yield from arrow_examples(
                    file.schema_arrow,
                    lambda names: file.iter_batches(BATCH, columns=names),
                    self._sought,
                    str(self._path),
                    self._rows,
                )
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())
            raise UserError(
                f"{self._path} cannot be read as parquet ({reason}): copy it again, or make it again"
            ) from error

    def columns(self) -> list[str]:
        return arrow_columns(pq.read_schema(self._path), self._sought)[0]

    def embedded(self) -> str | None:
        return self._rows if self._rows and is_embedded(pq.read_schema(self._path), self._sought) else None


TABLES: Mapping[str, Callable[[Path, Columns], TableFile]] = MappingProxyType(
    {".tsv": TsvFile, ".csv": CsvFile, ".jsonl": JsonLinesFile, ".parquet": ParquetFile}
)


def _blank(fields: Sequence[str]) -> bool:
    """Whether a line has nothing in it but spaces."""
    return len(fields) < 2 and not "".join(fields).strip()
