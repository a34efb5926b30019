"""Writes the page of a comparison, one HTML file: table, learning curves, differing options, and heatmaps."""

import os
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from mt.common.backdrop import PlotFormat
from mt.common.input_files import read_bytes
from mt.common.palette import MARKERS, colour, marker
from mt.comparison.columns import Column, as_html
from mt.comparison.runs import differences
from mt.comparison.table import Comparison, Row
from mt.comparison.tradeoff import Tradeoff
from mt.metrics import METRICS
from mt.storage import write_json, write_text

# Holds the style of the page of a comparison, and the script that sorts its table and enlarges its pictures.

STYLE = """
body { margin: 2.5rem auto; max-width: 1560px; padding: 0 1.5rem; background: #fff; color: #1f2933;
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; font-weight: 600; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid #e4e8ee; }
a { color: #0b5cad; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e4e8ee; }
th { font-weight: 600; color: #52606d; border-bottom: 2px solid #cbd2d9; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
.runs :is(th, td):nth-child(2), .options :is(th, td) { text-align: left; }
.options td { max-width: 24rem; overflow-wrap: anywhere; white-space: normal; }
tbody tr:hover td, tr.baseline td { background: #f5f8fc; }
.best { font-weight: 700; }
.notes, dt { color: #616e7c; font-size: .85rem; }
.notes p { margin: .3rem 0; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0; padding: 0; list-style: none; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0 1rem; }
dt { line-height: 1.75; }
dd { margin: 0; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .9rem 1rem; border: 1px solid #e4e8ee; border-radius: 8px; overflow-wrap: anywhere; }
figcaption { margin-bottom: .6rem; }
th button { padding: 0; border: 0; background: none; color: inherit; font: inherit; text-align: inherit;
            cursor: pointer; }
[aria-sort=ascending] button::after { content: " ▲"; }
[aria-sort=descending] button::after { content: " ▼"; }
figure button { display: block; width: 100%; padding: 0; border: 0; background: none; cursor: zoom-in; }
img { display: block; max-width: 100%; max-height: 480px; margin: 0 auto; }
img.tradeoff { width: min(100%, 920px); max-height: none; margin: .5rem 0 1rem; }
dialog { max-width: 96vw; max-height: 96vh; padding: 1rem; border: 0; border-radius: 8px; cursor: zoom-out; }
dialog img { max-width: none; max-height: none; }
dialog::backdrop { background: #0008; }
.none { color: #707d8a; }
@media (max-width: 640px) {
  body { margin-top: 1rem; padding: 0 .8rem; }
  th, td { padding: .35rem .5rem; }
  .runs td:first-child, .options td:first-child { min-width: 7.5rem; max-width: 9rem;
    white-space: normal; overflow-wrap: break-word; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
}
"""

# A modal dialog is closed by Escape, which is the browser's doing, and here by a click.
SCRIPT = """
const dialog = document.querySelector("dialog");
for (const button of document.querySelectorAll("figure button"))
  button.onclick = () => { dialog.replaceChildren(button.firstElementChild.cloneNode()); dialog.showModal(); };
dialog.onclick = () => dialog.close();

// A click sorts by a column, the next one in the other direction; cells that are not known stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.onclick = () => {
    const sign = head.ariaSort === "descending" ? 1 : -1;
    heads.forEach(other => other.ariaSort = "none");
    head.ariaSort = sign > 0 ? "ascending" : "descending";
    const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const unknown = row => key(row) === "-" || key(row) === "nan";
    const compare = (a, b) => unknown(a) - unknown(b) || sign * (Number(key(a)) - Number(key(b)) || 0)
      || sign * key(a).localeCompare(key(b));
    body.append(...[...body.rows].sort((a, b) => compare(a, b)));
  });
}
"""


# Writes the page of a comparison, one HTML file: table, learning curves, differing options, and heatmaps.


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
    title = "Comparison of " + as_html(", ".join(row.name for row in comparison.rows))
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
        f'<th aria-sort="none"><button title="sort">{as_html(column.heading)}</button></th>' for column in columns
    )
    rows = []
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
    """Returns the number that a cell is sorted by, as an attribute of HTML; text is sorted as it is shown."""
    value = column.values[row] if column.values else None
    return "" if value is None else f" data-value={value!r}"


def _tradeoff(online: Tradeoff, picture: Path) -> str:
    """Returns quality over latency as a picture, and the numbers behind it."""
    header, *rows = zip(*([column.heading, *column.cells] for column in online.columns()), strict=True)
    head = "".join(f"<th>{as_html(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{as_html(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table class=runs><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    image = (
        f'<img class="tradeoff" alt="{as_html(online.quality)} over AL and DAL" src="{_embedded(read_bytes(picture))}">'
    )
    notes = f'<div class="notes"><p>{as_html(online.note())}</p></div>'
    return f'<h2>Quality against latency</h2>{image}<div class="wide">{table}</div>{notes}'


def _embedded(picture: bytes) -> str:
    """Returns a PNG file as the address of an image."""
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
        f'<li><span style="color: {colour(number)}">{MARKERS[marker(number)]}</span> {as_html(row.name)}</li>'
        for number, row in enumerate(rows)
    )
    legend = f'<ul class="legend">{"".join(entries)}</ul>'
    return f'<h2>Learning curves</h2>{legend}<div class="charts">{"".join(pictures)}</div>'


def _options(comparison: Comparison) -> str:
    """Returns a table of the options in which the runs differ."""
    differing = differences([row.run for row in comparison.rows])
    if not differing:
        return ""
    header = "".join(f"<th>{as_html(name)}</th>" for name in ("option", *(row.name for row in comparison.rows)))
    rows = [
        f"<tr><td>{as_html(key)}</td>{''.join(f'<td>{as_html(value)}</td>' for value in values)}</tr>"
        for key, values in differing.items()
    ]
    table = f"<table class=options><thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<h2>Settings that differ</h2><div class="wide">{table}</div>'


def _sentence(comparison: Comparison, number: int, source: str, references: Sequence[str]) -> str:
    """Returns a test sentence with its references, and below it what each run wrote and drew."""
    texts = [("source", source), *(("reference", reference) for reference in references)]
    lines = "".join(f"<dt>{name}</dt><dd>{as_html(text)}</dd>" for name, text in texts)
    figures = "\n".join(_figure(row, number) for row in comparison.rows)
    return f'<h2>Test sentence {number + 1}</h2>\n<dl>{lines}</dl>\n<div class="grid">{figures}</div>'


def _figure(row: Row, number: int) -> str:
    """Returns what a run wrote for a test sentence, and the heatmap that it drew of it, where it drew one."""
    path = row.run.folder / "alignments" / f"{number:04d}.png"
    picture = '<p class="none">no heatmap was drawn</p>'
    if not row.run.results.attends:
        picture = '<p class="none">uses no source position</p>'
    elif path.is_file():
        picture = f'<button title="enlarge"><img alt="alignment" src="{_embedded(read_bytes(path))}"></button>'
    caption = f"<strong>{as_html(row.name)}</strong><br>{as_html(row.run.hypotheses[number])}"
    return f"<figure><figcaption>{caption}</figcaption>{picture}</figure>"
