"""Pairs in tables: the two sides are columns, and so are further references.

`TableFile` is what all have in common. Then come fields between tabs or commas, objects of JSON, and Arrow data, in
parquet or in files of their own. `TABLES` lists them by their endings; what a cell may hold, `data_prep.sources.cells`
says.
"""

import contextlib
import csv
import functools
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from data_prep.sources.base import RawSplit, Records, require_some
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
_LONGEST_FIELD = 1 << 24  # characters in CSV, where a quotation mark without its fellow swallows all that follows


class TableFile(ABC):
    """A file with a row for each pair. A line of text with nothing in it but spaces is no row, wherever it stands."""

    def __init__(self, path: Path, columns: Columns) -> None:
        """columns: the names of those to read."""
        self._path = path
        self._columns = columns
        self.files: Sequence[tuple[str, Path]] = [(type(self).__name__, path)]
        """What is read, each with what it is read as."""

    @abstractmethod
    def columns(self) -> Collection[str]:
        """Names the columns that are there."""

    def pairs(self) -> Iterator[Example]:
        """Yields the pairs, if there are any; a kind of file says this, or `records`."""
        return (pair for _, pair in self.records())

    def records(self) -> Records:
        """Yields the pairs with their origins."""
        return ((f"{self._path}, row {number}", pair) for number, pair in enumerate(self.pairs(), start=1))

    def read(self) -> Iterator[Example]:
        """Yields the pairs. Raises UserError where there are none."""
        return require_some(self.pairs(), self._emptiness)

    def count(self) -> int:
        """Counts the pairs."""
        return sum(1 for _ in self.pairs())

    def holds_media(self) -> bool:
        """Returns whether sources are sounds or pictures in the cells of the table itself."""
        return False

    def split(self) -> RawSplit:
        """Returns what is read of the file; what costs a pass over it is remembered."""
        sides = f"{self._path}, column {self._columns[0]}, row", f"{self._path}, column {self._columns[1]}, row"
        return RawSplit(self.read, sides, self.columns, self.records, functools.cache(self.holds_media))

    def _emptiness(self) -> str:
        """Says what is wrong with a file of no pairs."""
        return f"{self._path} has no rows: expected one for each pair"


class FieldsFile(TableFile):
    """Columns are named in the first row; numbers name them (from 1) where the first row is a pair already."""

    _separator: ClassVar[str]
    """What parts the fields, in an error."""

    @abstractmethod
    def rows(self) -> Rows:
        """Yields all rows; lines with nothing in them may be among them."""

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

    def _require_separator(self, line: int, fields: list[str]) -> None:
        """Raises UserError where the first row is one field, and other marks than those of this table part it."""
        for mark, name in ((";", "semicolons"), ("\t", "tabs"), (",", "commas"), ("|", "bars")):
            if len(fields) == 1 and mark in fields[0]:
                raise UserError(
                    f"{self._path}, line {line} is parted by {name}, and {self._separator} are expected: write the "
                    f"table with {self._separator}{', or name it .tsv' * (name == 'tabs')}"
                    f"{', or name it .csv' * (name == 'commas')}"
                )

    def _head(self) -> tuple[int, list[str], Rows]:
        """Returns the line of the first row, the names of the columns (none in an empty file), and the rows of
        pairs."""
        rows = self.rows()
        for number, fields in rows:
            if _blank(fields):
                continue
            self._require_separator(number, fields)
            if all(column.isdecimal() for column in self._columns[:2]):
                names = [str(column) for column in range(1, len(fields) + 1)]
                return number, names, itertools.chain([(number, fields)], rows)
            return number, fields, rows
        return 1, [], rows


class TsvFile(FieldsFile):
    """Fields between tabs; quotation marks mean nothing."""

    _separator = "tabs"

    def rows(self) -> Rows:
        for number, line in enumerate(file_lines(self._path), start=1):
            fields = [*map(without_mark, line.split("\t"))]
            if '""' in line and any(map(_is_quoted, fields)):
                raise UserError(
                    f"{self._path}, line {number} has a field in quotation marks that doubles those inside, as CSV "
                    "does. In TSV they would stay in the text: write the table without quoting (pandas: "
                    "quoting=csv.QUOTE_NONE), or as .csv"
                )
            yield number, fields


def _is_quoted(field: str) -> bool:
    """Returns whether a field is in quotation marks, with others inside, all of them doubled."""
    inside = field[1:-1]
    return len(field) > 2 and field[0] == field[-1] == '"' and '"' in inside and '"' not in inside.replace('""', "")


class CsvFile(FieldsFile):
    """Fields between commas (RFC 4180): one in quotation marks may hold commas and line ends."""

    _separator = "commas"

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
            yield number, self._cells(number, row)

    def _cells(self, number: int, row: Any) -> Mapping[str, Any]:
        if not isinstance(row, dict):
            raise UserError(
                f"{self._path}, line {number} holds {type(row).__name__}: expected a JSON object on each line"
            )
        nested = isinstance(row.get(NESTED), dict) and not row.keys() >= {*self._columns[:2]}
        return row[NESTED] if nested else row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON; of a key that it has twice one value would be lost."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"its key {next(name for name in names if names.count(name) > 1)} comes twice")
    return row


class JsonFile(JsonLinesFile):
    """One list of objects, or an object on each line as in JSON lines."""

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        lines = (line for line in file_lines(self._path) if line.strip())
        if not next(lines, "").lstrip().startswith("["):
            yield from super()._rows()
            return
        try:
            rows = json.loads("\n".join(file_lines(self._path)), object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self._path} is not JSON ({error}): expected one list of objects") from error
        for number, row in enumerate(rows, start=1):
            yield number, self._cells(number, row)


class ParquetFile(TableFile):
    """Columns of strings or lists of strings, or of a struct `translation` that holds them."""

    def __init__(self, path: Path, columns: Columns, rows: str | None = None) -> None:
        """rows: what to call them where the source may be sounds or pictures themselves."""
        super().__init__(path, columns)
        self._rows = rows

    def pairs(self) -> Iterator[Example]:
        with _readable(self._path, "parquet"), self.opened() as place, pq.ParquetFile(place) as file:
            yield from arrow_examples(
                file.schema_arrow,
                lambda names: file.iter_batches(BATCH, columns=names),
                self._columns,
                str(self._path),
                self._rows,
            )

    def opened(self) -> contextlib.AbstractContextManager[Any]:
        """Returns what Arrow reads the file from, while the context lasts."""
        return contextlib.nullcontext(self._path)

    def columns(self) -> list[str]:
        return arrow_columns(self._schema(), self._columns)[0]

    def holds_media(self) -> bool:
        return bool(self._rows) and is_embedded(self._schema(), self._columns)

    def _schema(self) -> pa.Schema:
        with _readable(self._path, "parquet"), self.opened() as place:
            return pq.read_schema(place)


class ArrowFile(TableFile):
    """The same columns in Arrow's own format, as a stream or a file, as `datasets` saves them."""

    def pairs(self) -> Iterator[Example]:
        with _readable(self._path, "Arrow data"), pa.memory_map(str(self._path)) as file:
            reader = _arrow_reader(file)
            yield from arrow_examples(
                reader.schema, lambda names: _selected(reader, names), self._columns, str(self._path)
            )

    def columns(self) -> list[str]:
        with _readable(self._path, "Arrow data"), pa.memory_map(str(self._path)) as file:
            return arrow_columns(_arrow_reader(file).schema, self._columns)[0]


def _arrow_reader(file: pa.NativeFile) -> pa.RecordBatchReader | pa.RecordBatchFileReader:
    with contextlib.suppress(pa.ArrowInvalid):
        return pa.ipc.open_file(file)
    file.seek(0)
    return pa.ipc.open_stream(file)


def _selected(reader: pa.RecordBatchReader | pa.RecordBatchFileReader, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yields some columns of the batches; those of a file are asked for by their numbers."""
    numbered = isinstance(reader, pa.RecordBatchFileReader)
    batches = (reader.get_batch(number) for number in range(reader.num_record_batches)) if numbered else reader
    return (batch.select(names) for batch in batches)


@contextlib.contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Makes a sentence of what Arrow raises at a file that is no such data."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = message_of(error)
        raise UserError(f"{path} cannot be read as {kind} ({reason}): copy it again, or make it again") from error


TABLES: Mapping[str, Callable[[Path, Columns], TableFile]] = MappingProxyType(
    {
        ".tsv": TsvFile,
        ".csv": CsvFile,
        ".jsonl": JsonLinesFile,
        ".json": JsonFile,
        ".parquet": ParquetFile,
        ".arrow": ArrowFile,
    }
)


def _blank(fields: Sequence[str]) -> bool:
    """Returns whether a line has nothing in it but spaces."""
    return len(fields) < 2 and not "".join(fields).strip()
