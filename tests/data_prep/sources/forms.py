"""Tables of every form."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = Sequence[Mapping[str, Any]]
FORMS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")


def write(path: Path, rows: Rows) -> None:
    """Writes a table in the form of the path's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    form = path.suffix
    fields = [[*map(str, row)] for row in (rows[0], *(row.values() for row in rows))]
    if form == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(fields)
    elif form == ".tsv":
        path.write_text("".join("\t".join(row) + "\n" for row in fields), "utf-8")
    elif form == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif form == ".json":
        path.write_text(json.dumps(rows, indent=1), "utf-8")
    else:
        pq.write_table(pa.Table.from_pylist([*rows]), path)
