"""Writes the tables of figures of README.md, RESULTS.md and docs/ from the records in results/.

    python scripts/results.py              # writes the tables
    python scripts/results.py --check      # names the tables that differ, with status 1

A line `<!-- results/TOPIC.json: TABLE -->` stands above each table. CONTRIBUTING.md explains the files. The keys of
`results.json` are written below `<!-- mt/evaluation/results.py -->`.
"""

import json
import re
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

from pydantic import Field

from mt.cli.parser import Parser
from mt.common.options import Options, parse_json
from mt.errors import UserError, nearest, reported
from mt.evaluation.results import documentation
from mt.storage import replaced

ROOT = Path(__file__).parents[1]
MARKER = re.compile(
    r"^<!-- (?:results/(?P<topic>[\w-]+)\.json: (?P<table>[\w-]+)|mt/evaluation/results\.py) -->\n"
    r"(?P<lines>(?:\|.*\n)*)",
    re.MULTILINE,
)
REFERENCE = re.compile(r"\{(?P<path>[\w/-]+)(?:\[(?P<index>\d+)\])?(?::(?P<form>[^{}]*))?\}")
"""`{bleu}`, `{bleu[0]}`, `{bleu:median}`, and of another row `{TOPIC/TABLE/ROW/bleu}`."""

Figure = Any
"""A number with the digits of the file, a text, or a list of numbers or texts."""


class Origin(Options, frozen=True):
    """How a figure was made. Values that a row leaves out are taken from its table, or else from its topic.

    data: the data set, by its name in `mt get`. source: the publication of a figure that was not measured here.
    """

    data: str | None = None
    command: str | list[str] | None = None
    commit: str | None = None
    hardware: str | None = None
    seeds: list[int] | None = None
    signatures: dict[str, str] | None = None
    source: str | None = None


class Row(Origin, frozen=True):
    """A row of a table. values: its figures, as JSON. cells: text of columns, with references to figures."""

    name: str
    values: dict[str, Any] = Field(default_factory=dict)
    cells: dict[str, str] = Field(default_factory=dict)


class Column(Options, frozen=True):
    """A column shows the cell or the figure `key` of each row. right: whether it is aligned to the right."""

    key: str
    head: str = ""
    right: bool = False


class Table(Origin, frozen=True):
    """A table of a page, or without columns the figures of a text."""

    columns: list[Column]
    rows: list[Row]


class Topic(Origin, frozen=True):
    """A file of results/."""

    title: str
    tables: dict[str, Table]


@dataclass(frozen=True)
class Place:
    """A row within its table and topic."""

    topic: Topic
    table: Table
    row: Row
    values: Mapping[str, Figure]
    where: str

    def origin(self, field: str) -> Any:
        """Returns a field of the figures' origin from the row, its table or its topic, whichever has it first."""
        return next((found for part in (self.row, self.table, self.topic) if (found := getattr(part, field))), None)


class Records:
    """The figures of a folder, by topic, table and row."""

    def __init__(self, folder: Path) -> None:
        """Reads all files of the folder. Raises UserError if one is not valid."""
        self.places = dict[tuple[str, ...], Place]()
        self.tables = dict[tuple[str, str], Table]()
        for path in sorted(folder.glob("*.json")):
            self._read(path)

    def _read(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        where = f"{path.parent.name}/{path.name}"
        try:
            plain = json.loads(text, parse_float=Decimal)  # 39.60 stays as it is written
        except json.JSONDecodeError as error:
            raise UserError(f"{where}, line {error.lineno}: this is no JSON ({error.msg})") from None
        topic = parse_json(text, Topic, where)
        for name, table in topic.tables.items():
            self.tables[path.stem, name] = table
            for row, exact in zip(table.rows, plain["tables"][name]["rows"], strict=True):
                key = path.stem, name, row.name
                if key in self.places:
                    raise UserError(f"{where}: {name} has two rows {row.name}: give one another name")
                self.places[key] = Place(topic, table, row, exact.get("values", {}), f"{where}: {name}, row {row.name}")

    def lines(self, topic: str, name: str) -> str:
        """Returns a table in Markdown. Raises UserError if there is no such table, or for a reference to no figure."""
        table = self.tables.get((topic, name))
        if table is None:
            names = [other for owner, other in self.tables if owner == topic]
            raise UserError(f"results/{topic}.json has no table {name}: {nearest(name, names)}")
        keys = [column.key for column in table.columns]
        rows = [[column.head for column in table.columns]]
        rows += [[self.cell(self.places[topic, name, row.name], key) for key in keys] for row in table.rows]
        lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows]
        rule = "".join("|---:" if column.right else "|---" for column in table.columns)
        return "\n".join([lines[0], f"{rule}|", *lines[1:]]) + "\n"

    def cell(self, place: Place, key: str) -> str:
        """Returns the text of a cell: from `cells`, else from `values`, else from the origin."""
        if key in place.row.cells:
            return REFERENCE.sub(lambda match: self._referred(place, match), place.row.cells[key])
        if key in place.values:
            return written(place.values[key], "")
        return str(place.origin(key) or "") if key in Origin.model_fields else ""

    def _referred(self, place: Place, match: re.Match[str]) -> str:
        """Returns the text that replaces a reference. Raises UserError if there is no such figure."""
        *path, key = match["path"].split("/")
        try:
            owner = self.places[tuple(path)] if path else place
            if key not in owner.values and key in Origin.model_fields:
                return str(owner.origin(key))
            figure = owner.values[key]
            return written(figure if match["index"] is None else figure[int(match["index"])], match["form"] or "")
        except (KeyError, IndexError, TypeError, ValueError):
            raise UserError(
                f"{place.where}: {match[0]} leads to no figure; write TOPIC/TABLE/ROW/KEY, or one of its own keys: "
                f"{', '.join(place.values)}"
            ) from None


def written(figure: Figure, form: str) -> str:
    """Formats a figure for a cell.

    form: `median` or `mean` of a list; else a format of Python. With `/` before it, a list is separated by strokes.
    """
    if form in ("median", "mean"):
        numbers = [Decimal(str(number)) for number in figure]
        result = Decimal(statistics.median(numbers) if form == "median" else statistics.mean(numbers))
        digits = min(int(number.as_tuple().exponent) for number in numbers)
        return str(result.quantize(Decimal(1).scaleb(digits), ROUND_HALF_UP))
    if isinstance(figure, list):
        return (" / " if form.startswith("/") else ", ").join(written(one, form.removeprefix("/")) for one in figure)
    with localcontext(rounding=ROUND_HALF_UP):
        return format(figure, form)


def pages(root: Path) -> Iterator[Path]:
    yield from (root / "README.md", root / "RESULTS.md", *sorted((root / "docs").rglob("*.md")))


def differing(root: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Yields the pages whose tables differ from the records, with their new text and the names of these tables."""
    records = Records(root / "results")
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        tables = list[str]()
        new = text
        for match in MARKER.finditer(text):
            topic = match["topic"]
            lines = records.lines(topic, match["table"]) if topic else documentation()
            if lines != match["lines"]:
                tables.append(f"{topic}: {match['table']}" if topic else "results.json")
                new = new.replace(match[0], match[0].removesuffix(match["lines"]) + lines)
        if tables:
            yield page, new, tables


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Writes or checks the tables, and returns the status of the process."""
    parser = Parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name the tables that differ")
    options = parser.parse_args(arguments)
    found = list(differing(root))
    for page, text, tables in found:
        print(f"{page.relative_to(root)}: {', '.join(tables)}")
        if not options.check:
            with replaced(page) as file:
                file.write(text.encode())
    return 1 if found and options.check else 0


if __name__ == "__main__":
    with reported():
        sys.exit(main(sys.argv[1:]))
