"""Writes the page of a comparison, one HTML file. Its sections follow in their order: table, quality against latency,
learning curves, differing options, and alignments."""

import contextlib
import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from mt.common.backdrop import PlotFormat
from mt.common.input_files import open_regular, parse_json, read_bytes
from mt.common.palette import MARKERS, colour, marker
from mt.comparison.columns import Column, as_html
from mt.comparison.runs import differences
from mt.comparison.table import Comparison, Row
from mt.comparison.tradeoff import Tradeoff
from mt.errors import UserError
from mt.explorer import page
from mt.metrics import METRICS
from mt.storage import write_json, write_text
from mt.text_io import byte_lines


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
    `table.csv`. Where latency is known of any run, there is `tradeoff.png`, too, and the same in another format.
    sources, references: of the test split. sentences: how many of its first ones are shown."""
    # Files of their own, then the page, which holds the picture.
    online = comparison.tradeoff
    picture = folder / "tradeoff.png"
    write_text(folder / "table.md", [comparison.markdown()])
    write_text(folder / "table.tex", [comparison.latex()])
    write_text(folder / "table.csv", comparison.csv().splitlines())
    write_json(folder / "comparison.json", comparison.plain())
    for ending in get_args(PlotFormat):
        (folder / f"tradeoff.{ending}").unlink(missing_ok=True)
    if online:
        online.write(folder / "tradeoff", plot_format or "png")
    # The page: tables and pictures of all runs, and behind them the first sentences.
    sections = [
        _table(comparison, folder),
        _tradeoff(online, picture) if online else "",
        _curves(comparison),
        _options(comparison),
        "<h2>Test sentences</h2>" if sentences else "",
    ]
    shown = min(sentences, len(sources))
    runs = [
        {"name": row.name, "records": _records(row, sources[:shown], references[:shown])} for row in comparison.rows
    ]
    title = "Comparison of " + ", ".join(row.name for row in comparison.rows)
    above = "\n".join(section for section in sections if section)
    write_text(folder / "index.html", [page(title, runs, before=above)])


def _table(comparison: Comparison, folder: Path) -> str:
    """Returns the table with the best value of each column in bold, and each run's name leading to its folder."""
    columns = comparison.columns()
    best = [column.best() for column in columns]
    header = "".join(
        f'<th aria-sort="none"><button title="sort">{as_html(column.heading)}</button></th>' for column in columns
    )
    rows = []
    # The best value of a column is marked, a number sorts by itself, and a name leads to the run's folder.
    for i, row in enumerate(comparison.rows):
        cells = [
            f"<td{' class=best' if i in leading else ''}{_sort_key(column, i)}>{as_html(column.cells[i])}</td>"
            for column, leading in zip(columns, best, strict=True)
        ]
        link = as_html(quote(os.fsencode(os.path.relpath(row.run.folder.resolve(), folder.resolve()))))
        cells[0] = f'<td><a href="{link}/">{as_html(columns[0].cells[i])}</a></td>'
        rows.append(f"<tr{' class=baseline' if row.name == comparison.baseline else ''}>{''.join(cells)}</tr>")
    notes = "".join(f"<p>{as_html(note)}</p>" for note in ("bold: the best of its column", *comparison.notes()))
    table = f'<table class="runs sortable"><thead><tr>{header}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="wide">{table}</div>\n<div class="notes">{notes}</div>'


def _sort_key(column: Column, row: int) -> str:
    value = column.values[row] if column.values else None
    return "" if value is None else f" data-value={value!r}"


def _tradeoff(online: Tradeoff, picture: Path) -> str:
    header, *lines = zip(*([column.heading, *column.cells] for column in online.columns()), strict=True)
    image = (
        f'<img class="tradeoff" alt="{as_html(online.quality)} over AL and DAL" src="{_embedded(read_bytes(picture))}">'
    )
    notes = f'<div class="notes"><p>{as_html(online.note())}</p></div>'
    return f"<h2>Quality against latency</h2>{image}{_plain_table('runs', header, lines)}{notes}"


def _plain_table(kind: str, header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{as_html(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{as_html(cell)}</td>' for cell in line)}</tr>" for line in lines)
    table = f"<table class={kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _embedded(picture: bytes) -> str:
    return f"data:image/png;base64,{b64encode(picture).decode()}"


def _curves(comparison: Comparison) -> str:
    """Returns a picture of each score on dev that any run logged, over updates, and which line is whose."""
    # Not above: a comparison without logs needs no picture, and matplotlib takes a second.
    from mt.plots import png
    from mt.plots.curves import learning_curves

    rows = comparison.rows
    headings = {score: heading for metric in METRICS.values() for score, heading in metric.headings().items()}
    pictures = []
    for name in dict.fromkeys(name for row in rows for name in row.run.curves):
        title = f"{headings.get(name, name)} on dev"
        content = png(learning_curves(title, [row.run.curves.get(name, {}) for row in rows]))
        pictures.append(f'<img alt="{as_html(title)} over updates" src="{_embedded(content)}">')
    if not pictures:
        return ""
    entries = (
        f'<li><svg width="14" height="16" aria-hidden="true"><text y="13" fill="{colour(number)}">'
        f"{MARKERS[marker(number)]}</text></svg> {as_html(row.name)}</li>"
        for number, row in enumerate(rows)
    )
    legend = f'<ul class="legend lines">{"".join(entries)}</ul>'
    return f'<h2>Learning curves</h2>{legend}<div class="charts">{"".join(pictures)}</div>'


def _options(comparison: Comparison) -> str:
    differing = differences([row.run for row in comparison.rows])
    if not differing:
        return ""
    header = ("option", *(row.name for row in comparison.rows))
    lines = ([key, *values] for key, values in differing.items())
    return f"<h2>Settings that differ</h2>{_plain_table('options', header, lines)}"


def _records(row: Row, sources: Sequence[str], references: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Returns the records of a run's first sentences, as its evaluation kept them, else the texts alone."""
    kept: list[Any] = []
    path = row.run.folder / "alignments" / f"{row.run.results.split}.jsonl"
    # Of an older version there is none, and a damaged one is no reason to show no page.
    with contextlib.suppress(OSError, ValueError, UserError), open_regular(path) as file:
        kept = [parse_json(line) for line in islice(byte_lines(file, str(path)), len(sources))]
    texts = [
        {"text": text, "source": source, "references": list(group)}
        for text, source, group in zip(row.run.hypotheses, sources, references, strict=False)
    ]
    own = zip_longest(texts, kept)
    return [record if isinstance(record, dict) and record.get("text") == text["text"] else text for text, record in own]
