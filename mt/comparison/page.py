"""Writes the page of a comparison, one HTML file (`page.html`), and the files beside it."""

import contextlib
import os
from base64 import b64encode
from collections.abc import Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined

from mt.common.backdrop import PlotFormat
from mt.common.input_files import open_regular, parse_json, read_bytes
from mt.common.palette import MARKERS, colour, marker
from mt.comparison.runs import differences
from mt.comparison.table import Comparison, Row
from mt.errors import UserError, visible
from mt.explorer import page
from mt.metrics import METRICS
from mt.storage import write_json, write_text
from mt.text_io import byte_lines

# All texts are escaped, and control characters are made visible.
_ENVIRONMENT = Environment(
    autoescape=True,
    trim_blocks=True,
    undefined=StrictUndefined,
    # By `type`: jinja's Markup, a kind of str, is HTML already.
    finalize=lambda value: visible(value) if type(value) is str else value,
)
_ENVIRONMENT.filters["transposed"] = lambda columns: zip(*columns, strict=True)
_TEMPLATE = _ENVIRONMENT.from_string((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))


def write(
    comparison: Comparison,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    folder: Path,
    *,
    sentences: int,
    plot_format: str | None = None,
) -> None:
    """Writes `index.html`, which needs no other file, `comparison.json`, and the table as `table.md`, `table.tex` and
    `table.csv`. If the latency of any run is known, also `tradeoff.png`, and the same in another format if chosen.
    sources, references: all those of the test split. sentences: how many of its first sentences the page shows."""
    # First the separate files, since the page embeds the picture.
    rows = comparison.rows
    write_text(folder / "table.md", [comparison.markdown()])
    write_text(folder / "table.tex", [comparison.latex()])
    write_text(folder / "table.csv", comparison.csv().splitlines())
    write_json(folder / "comparison.json", comparison.plain())
    # An old figure would be taken for one of this comparison.
    for ending in get_args(PlotFormat):
        (folder / f"tradeoff.{ending}").unlink(missing_ok=True)
    if comparison.tradeoff:
        comparison.tradeoff.write(folder / "tradeoff", plot_format or "png")
    # The page: tables and pictures of all runs, and below them the first sentences.
    above = _TEMPLATE.render(
        baseline=comparison.baseline,
        rows=rows,
        columns=comparison.columns(),
        links=[quote(os.fsencode(os.path.relpath(row.run.folder.resolve(), folder.resolve()))) for row in rows],
        notes=comparison.notes(),
        tradeoff=comparison.tradeoff,
        picture=_embedded(read_bytes(folder / "tradeoff.png")) if comparison.tradeoff else "",
        curves=_curves(rows),
        colour=colour,
        symbol=lambda number: MARKERS[marker(number)],
        options=[[key, *values] for key, values in differences([row.run for row in rows]).items()],
        sentences=sentences,
    )
    shown = min(sentences, len(sources))
    runs = [{"name": row.name, "records": _records(row, sources[:shown], references[:shown])} for row in rows]
    title = "Comparison of " + ", ".join(row.name for row in rows)
    write_text(folder / "index.html", [page(title, runs, before=above)])


def _curves(rows: Sequence[Row]) -> dict[str, str]:
    """Draws each score on dev that any run logged over updates; returns the pictures by their titles."""
    # Imported late: a comparison without logs needs no picture, and matplotlib takes a second to load.
    from mt.plots import png
    from mt.plots.curves import learning_curves

    headings = {score: heading for metric in METRICS.values() for score, heading in metric.headings().items()}
    pictures = {}
    for name in dict.fromkeys(name for row in rows for name in row.run.curves):
        title = f"{headings.get(name, name)} on dev"
        pictures[title] = _embedded(png(learning_curves(title, [row.run.curves.get(name, {}) for row in rows])))
    return pictures


def _embedded(picture: bytes) -> str:
    # Embedded, so that the page needs no other file.
    return f"data:image/png;base64,{b64encode(picture).decode()}"


def _records(row: Row, sources: Sequence[str], references: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Returns the records of a run's first sentences from its evaluation, or only the texts of sentences without."""
    kept: list[Any] = []
    path = row.run.folder / "alignments" / f"{row.run.results.split}.jsonl"
    # Runs of older versions have no such file, and a damaged one must not prevent the page.
    with contextlib.suppress(OSError, ValueError, UserError), open_regular(path) as file:
        kept = [parse_json(line) for line in islice(byte_lines(file, str(path)), len(sources))]
    texts = [
        {"text": text, "source": source, "references": list(group)}
        for text, source, group in zip(row.run.hypotheses, sources, references, strict=False)
    ]
    # A record of another text is left from an earlier evaluation.
    return [
        record if isinstance(record, dict) and record.get("text") == text["text"] else text
        # Where the file is shorter than the split, or was not read at all, a record is None.
        for text, record in zip_longest(texts, kept)
    ]
