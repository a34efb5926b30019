"""Pairs in tables: the two sides are columns, and so are further references.

`TableFile` is the interface of all tables. Then come fields between tabs or commas, objects of JSON, and parquet.
`TABLES` lists the classes by their endings. `data_prep.sources.cells` reads single cells.
"""

import contextlib
import csv
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data_prep.sources.base import RawSplit, Records, require_some
from data_prep.sources.cells import NESTED, Columns, example, require_once, require_sides
from mt.common.input_files import parse_json
from mt.data.corpus import Example
from mt.errors import UserError, message_of, shown
from mt.text_io import file_lines, is_quoted

Rows = Iterator[tuple[int, list[str]]]
"""The fields of rows, each with the number of its line."""

_ADVICE = "set dataset.source and dataset.target (to the columns' numbers, from 1, if this line is a pair already)"
_BATCH = 10_000  # rows of parquet in memory at once
_LONGEST_FIELD = 1 << 24  # characters in CSV, where a quotation mark without its fellow swallows all that follows


class TableFile(ABC):
    """A file with a row for each pair. A line of text with nothing in it but spaces is no row, wherever it stands."""

    def __init__(self, path: Path, columns: Columns) -> None:
        """columns: the names of those to read."""
        self._path = path
        self._columns = columns
        self.files: Sequence[tuple[str, Path]] = [(type(self).__name__, path)]
        """The files that are read, each with what it is read as."""

    @abstractmethod
    def columns(self) -> Collection[str]:
        """Returns the names of all columns."""

    def notes(self) -> list[str]:
        """Returns sentences for the user on what reading leaves out."""
        return []

    @abstractmethod
    def records(self) -> Records:
        """Yields the pairs with their places, if there are any."""

    def read(self) -> Iterator[Example]:
        """Yields the pairs. Raises UserError where there are none."""
        return require_some((pair for _, pair in self.records()), self._emptiness)

    def split(self) -> RawSplit:
        """Returns the pairs as a split."""
        sides = f"{self._path}, column {self._columns[0]}, row", f"{self._path}, column {self._columns[1]}, row"
        return RawSplit(self.read, sides, self.columns, self.records)

    def _emptiness(self) -> str:
        """Returns the sentence of the error for a file without pairs."""
        return f"{self._path} has no rows: expected one for each pair"


class FieldsFile(TableFile):
    """Columns are named in the first row; numbers name them (from 1) where the first row is a pair already."""

    _separator: ClassVar[str]
    """The name of the mark between fields, for errors."""

    @abstractmethod
    def rows(self) -> Rows:
        """Yields all rows, blank lines among them."""

    def records(self) -> Records:
        start, names, rows = self._head()
        if not names:
            return
        # Columns are found by name in the first row, each exactly once.
        require_sides(self._columns, names, f"{self._path}, line {start}", _ADVICE)
        require_once(self._columns, names, f"{self._path}, line {start}")
        source, target, *more = (names.index(column) for column in self._columns if column in names)
        # Rows of another width are refused, since their fields might be of the wrong columns; blank ones are skipped.
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

    def notes(self) -> list[str]:
        # A column that has a number for its name may be another than the user thinks.
        names = self.columns()
        note = f"{self._path}: of {len(names)} columns, {' and '.join(self._columns[:2])} are read"
        return [note] * (len(names) > len(self._columns) and names[0] == "1")

    def _head(self) -> tuple[int, list[str], Rows]:
        """Returns the line of the first row, the names of the columns (none in an empty file), and the rows of
        pairs."""
        # The first row that is not blank has the names, unless the columns are numbers.
        rows = self.rows()
        for number, fields in rows:
            if _blank(fields):
                continue
            if len(fields) == 1:
                raise UserError(
                    f"{self._path}, line {number} is one column ({shown(fields[0], 40)}): write columns with "
                    f"{self._separator} between them in every line (in .tsv tabs, in .csv commas), and no comments; "
                    "the first line has their names, or dataset.source and dataset.target are their numbers (see "
                    "docs/data.md, and of CMUdict and other dictionaries docs/tutorials/pronunciation.md)"
                )
            if all(column.isdecimal() for column in self._columns[:2]):
                names = [str(column) for column in range(1, len(fields) + 1)]
                return number, names, itertools.chain([(number, fields)], rows)
            return number, [*map(str.strip, fields)], rows
        return 1, [], rows


class TsvFile(FieldsFile):
    """Fields between tabs; quotation marks mean nothing."""

    _separator = "tabs"

    def rows(self) -> Rows:
        quoted: bool | None = None  # whether every field so far is; None: there was none
        for number, line in enumerate(file_lines(self._path), start=1):
            fields = line.split("\t")
            if '""' in line and any(map(is_quoted, fields)):
                raise self._refusal(f", line {number} has a field in quotation marks that doubles those inside")
            if quoted is not False and not _blank(fields):
                quoted = all(is_quoted(field, ("",)) for field in fields)
            yield number, fields
        if quoted:
            raise self._refusal(" has every field in quotation marks")

    def _refusal(self, fault: str) -> UserError:
        return UserError(
            f"{self._path}{fault}, as CSV does. In TSV they would stay in the text: write the table without quoting "
            "(pandas: quoting=csv.QUOTE_NONE), or as .csv"
        )


class CsvFile(FieldsFile):
    """Fields between commas (RFC 4180): one in quotation marks may hold commas and line ends."""

    _separator = "commas"

    def rows(self) -> Rows:
        csv.field_size_limit(_LONGEST_FIELD)
        reader = csv.reader((f"{line}\n" for line in file_lines(self._path)), strict=True)
        try:
            for fields in reader:
                yield reader.line_num, fields
        except csv.Error as error:
            raise UserError(
                f"{self._path}, line {reader.line_num} is not CSV ({error}): mend its quotation marks"
            ) from error


class JsonLinesFile(TableFile):
    """An object on each line; the sides are its keys, or keys of its `translation`."""

    def records(self) -> Records:
        for number, cells in self._rows():
            place = f"{self._path}, line {number}"
            require_sides(self._columns, cells, place)
            yield place, example([cells.get(column) for column in self._columns], self._columns, place)

    def columns(self) -> dict[str, None]:
        return dict.fromkeys(column for _, cells in self._rows() for column in cells)

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yields the number of each line with its object, or with the `translation` of it."""
        for number, line in enumerate(file_lines(self._path), start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line, infinite=True)
            except ValueError as error:
                raise UserError(
                    f"{self._path}, line {number} is not JSON ({error}): expected an object on each line"
                ) from error
            yield number, self._cells(number, row)

    def _cells(self, number: int, row: Any) -> Mapping[str, Any]:
        if not isinstance(row, dict):
            raise UserError(
                f"{self._path}, line {number} holds {type(row).__name__}: expected a JSON object on each line"
            )
        nested = isinstance(row.get(NESTED), dict) and not row.keys() >= {*self._columns[:2]}
        return row[NESTED] if nested else row


class JsonFile(JsonLinesFile):
    """One list of objects, or an object on each line as in JSON lines."""

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        lines = (line for line in file_lines(self._path) if line.strip())
        if not next(lines, "").lstrip().startswith("["):
            yield from super()._rows()
            return
        try:
            rows = parse_json("\n".join(file_lines(self._path)), infinite=True)
        except ValueError as error:
            raise UserError(f"{self._path} is not JSON ({error}): expected one list of objects") from error
        for number, row in enumerate(rows, start=1):
            yield number, self._cells(number, row)


class ParquetFile(TableFile):
    """Columns of strings or lists of strings, or of a struct `translation` that holds them."""

    def records(self) -> Records:
        with self._opened() as file:
            names, nested = self._names(file.schema_arrow)
            require_sides(self._columns, names, str(self._path))
            require_once(self._columns, names, str(self._path))
            columns = tuple(column for column in self._columns if column in names)
            number = 0
            for batch in file.iter_batches(_BATCH, columns=[NESTED] if nested else columns):
                sides = [pc.struct_field(batch[NESTED], name) if nested else batch[name] for name in columns]
                for cells in zip(*(side.to_pylist() for side in sides), strict=True):
                    number += 1
                    place = f"{self._path}, row {number}"
                    yield place, example(cells, columns, place)

    def columns(self) -> list[str]:
        with self._opened() as file:
            return self._names(file.schema_arrow)[0]

    def _names(self, schema: pa.Schema) -> tuple[list[str], bool]:
        """Returns the names of the columns, and whether these are the fields of `translation`."""
        nested = not {*self._columns[:2]} <= {*schema.names} and NESTED in schema.names
        if nested and pa.types.is_struct(schema.field(NESTED).type):
            return [field.name for field in schema.field(NESTED).type], True
        return schema.names, False

    @contextlib.contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        try:
            with pq.ParquetFile(self._path) as file:
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"{self._path} cannot be read as parquet ({message_of(error)}): copy it again, or make it again"
            ) from error


TABLES: Mapping[str, Callable[[Path, Columns], TableFile]] = {
    ".tsv": TsvFile,
    ".csv": CsvFile,
    ".jsonl": JsonLinesFile,
    ".json": JsonFile,
    ".parquet": ParquetFile,
}


def _blank(fields: Sequence[str]) -> bool:
    """Returns whether a line has nothing in it but spaces."""
    return len(fields) < 2 and not "".join(fields).strip()
