"""Writes the page of a comparison, one HTML file: table, learning curves, differing options, and heatmaps."""

import os
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from mt.common.backdrop import PlotFormat
from mt.common.input_files import read_bytes
from mt.comparison.columns import Column
from mt.comparison.curves import chart, legend
from mt.comparison.runs import differences
from mt.comparison.style import SCRIPT, STYLE
from mt.comparison.table import Comparison, Row
from mt.comparison.tradeoff import Tradeoff
from mt.metrics import METRICS
from mt.storage import write_json, write_text


def write(
    comparison: Comparison,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    folder: Path,
    *,
    sentences: int,
    plot_format: str | None = None,
) -> None:
    """Writes `index.html`, which needs no other file, the table as `table.md`, `table.tex` and `table.csv`, and
    `comparison.json`; where any run was decoded online also `tradeoff.png`, and the same picture in another format.

    sources, references: of the test split. sentences: how many of its first ones are shown.
    """
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
    title = "Comparison of " + escape(", ".join(row.name for row in comparison.rows))
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>',
        "<h1>Comparison of runs</h1>",
        _table(comparison, folder),
        _tradeoff(online, picture) if online else "",
        _curves(comparison),
        _options(comparison),
        *(_sentence(comparison, i, sources[i], references[i]) for i in range(min(sentences, len(sources)))),
        f'<dialog aria-label="alignment"></dialog><script>{SCRIPT}</script></body></html>',
    ]
    write_text(folder / "index.html", [part for part in parts if part])


def _table(comparison: Comparison, folder: Path) -> str:
    """Returns the table with the best value of each column in bold, and each run's name leading to its folder."""
    columns = comparison.columns()
    best = [column.best() for column in columns]
    header = "".join(
        f'<th aria-sort="none"><button title="sort">{escape(column.heading)}</button></th>' for column in columns
    )
    rows = []
    for i, row in enumerate(comparison.rows):
        cells = [
            f"<td{' class=best' if i in leading else ''}{_sort_key(column, i)}>{escape(column.cells[i])}</td>"
            for column, leading in zip(columns, best, strict=True)
        ]
        link = escape(quote(os.fsencode(os.path.relpath(row.run.folder.resolve(), folder.resolve()))))
        cells[0] = f'<td><a href="{link}/">{escape(columns[0].cells[i])}</a></td>'
        rows.append(f"<tr{' class=baseline' if row.name == comparison.baseline else ''}>{''.join(cells)}</tr>")
    notes = "".join(f"<p>{escape(note)}</p>" for note in ("bold: the best of its column", *comparison.notes()))
    table = f'<table class="runs sortable"><thead><tr>{header}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="wide">{table}</div>\n<div class="notes">{notes}</div>'


def _sort_key(column: Column, row: int) -> str:
    """Returns the number that a cell is sorted by, as an attribute of HTML; text is sorted as it is shown."""
    value = column.values[row] if column.values else None
    return "" if value is None else f" data-value={value!r}"


def _tradeoff(online: Tradeoff, picture: Path) -> str:
    """Returns quality over latency as a picture, and the numbers behind it."""
    header, *rows = zip(*([column.heading, *column.cells] for column in online.columns()), strict=True)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table class=runs><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    image = f'<img class="tradeoff" alt="{escape(online.quality)} over AL and DAL" src="{_embedded(picture)}">'
    notes = f'<div class="notes"><p>{escape(online.note())}</p></div>'
    return f'<h2>Quality against latency</h2>{image}<div class="wide">{table}</div>{notes}'


def _embedded(picture: Path) -> str:
    """Returns a PNG file as the address of an image."""
    return f"data:image/png;base64,{b64encode(read_bytes(picture)).decode()}"


def _curves(comparison: Comparison) -> str:
    """Returns a chart of each score on dev that any run logged, over updates."""
    names = [row.name for row in comparison.rows]
    headings = {score: heading for metric in METRICS.values() for score, heading in metric.headings().items()}
    logged = dict.fromkeys(name for row in comparison.rows for name in row.run.curves)
    charts = [
        chart(f"{headings.get(name, name)} on dev", names, [row.run.curves.get(name, {}) for row in comparison.rows])
        for name in logged
    ]
    return f'<h2>Learning curves</h2>{legend(names)}<div class="charts">{"".join(charts)}</div>' if charts else ""


def _options(comparison: Comparison) -> str:
    """Returns a table of the options in which the runs differ."""
    differing = differences([row.run for row in comparison.rows])
    if not differing:
        return ""
    header = "".join(f"<th>{escape(name)}</th>" for name in ("option", *(row.name for row in comparison.rows)))
    rows = [
        f"<tr><td>{escape(key)}</td>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"
        for key, values in differing.items()
    ]
    table = f"<table class=options><thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<h2>Settings that differ</h2><div class="wide">{table}</div>'


def _sentence(comparison: Comparison, number: int, source: str, references: Sequence[str]) -> str:
    """Returns a test sentence with its references, and below it what each run wrote and drew."""
    texts = [("source", source), *(("reference", reference) for reference in references)]
    lines = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in texts)
    figures = "\n".join(_figure(row, number) for row in comparison.rows)
    return f'<h2>Test sentence {number + 1}</h2>\n<dl>{lines}</dl>\n<div class="grid">{figures}</div>'


def _figure(row: Row, number: int) -> str:
    """Returns what a run wrote for a test sentence, and the heatmap that it drew of it, where it drew one."""
    path = row.run.folder / "alignments" / f"{number:04d}.png"
    picture = '<p class="none">no heatmap was drawn</p>'
    if not row.run.results.attends:
        picture = '<p class="none">uses no source position</p>'
    elif path.is_file():
        picture = f'<button title="enlarge"><img alt="alignment" src="{_embedded(path)}"></button>'
    caption = f"<strong>{escape(row.name)}</strong><br>{escape(row.run.hypotheses[number])}"
    return f"<figure><figcaption>{caption}</figcaption>{picture}</figure>"
