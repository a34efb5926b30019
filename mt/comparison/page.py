"""The page of a comparison: its table, and the same sentences' heatmaps under every attention, in one HTML file."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from mt.comparison.table import Comparison, Row
from mt.storage import write_json, write_text

_STYLE = """
body { margin: 2.5rem auto; max-width: 1560px; padding: 0 1.5rem; background: #fff; color: #1f2933;
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; font-weight: 600; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid #e4e8ee; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e4e8ee; }
th { font-weight: 600; color: #52606d; border-bottom: 2px solid #cbd2d9; vertical-align: bottom; white-space: normal; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
tbody tr:hover, tr.baseline { background: #f5f8fc; }
.notes, dt { color: #616e7c; font-size: .85rem; }
.notes p { margin: .3rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0 1rem; }
dt { line-height: 1.75; }
dd { margin: 0; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .9rem 1rem; border: 1px solid #e4e8ee; border-radius: 8px; }
figure:focus { position: fixed; inset: 2%; overflow: auto; background: #fff; box-shadow: 0 0 0 100vmax #0006; }
figure:focus img { max-width: none; max-height: none; }
figcaption { margin-bottom: .6rem; }
img { display: block; max-width: 100%; max-height: 480px; margin: 0 auto; }
.none { color: #9aa5b1; }
"""


def write(
    comparison: Comparison, sources: Sequence[str], references: Sequence[Sequence[str]], folder: Path, *, sentences: int
) -> None:
    """Writes `index.html`, which needs no other file, `table.md` and `comparison.json`.

    sources, references: of the test split. sentences: how many of its first ones are shown.
    """
    write_text(folder / "table.md", [comparison.markdown()])
    write_json(folder / "comparison.json", comparison.plain())
    title = "Comparison of " + escape(", ".join(row.name for row in comparison.rows))
    parts = [
        f'<!doctype html>\n<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>',
        "<h1>Comparison of runs</h1>",
        _table(comparison),
        '<p class="notes">Click a heatmap to enlarge it, and beside it to go back.</p>',
        *(_sentence(comparison, i, sources[i], references[i]) for i in range(min(sentences, len(sources)))),
    ]
    write_text(folder / "index.html", parts)


def _table(comparison: Comparison) -> str:
    header = "".join(f"<th>{escape(heading)}</th>" for heading in comparison.header())
    rows = []
    for row in comparison.rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in comparison.cells(row))
        rows.append(f"<tr{' class=baseline' if row.name == comparison.baseline else ''}>{cells}</tr>")
    notes = "".join(f"<p>{escape(note)}</p>" for note in comparison.notes())
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{table}</div>\n<div class="notes">{notes}</div>'


def _sentence(comparison: Comparison, number: int, source: str, references: Sequence[str]) -> str:
    texts = [("source", source), *(("reference", reference) for reference in references)]
    lines = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in texts)
    figures = "\n".join(_figure(row, number) for row in comparison.rows)
    return f'<h2>Test sentence {number + 1}</h2>\n<dl>{lines}</dl>\n<div class="grid">{figures}</div>'


def _figure(row: Row, number: int) -> str:
    """What a run wrote for a test sentence, and the heatmap that it drew of it, where it drew one."""
    path = row.run.folder / "alignments" / f"{number:04d}.png"
    picture = '<p class="none">no heatmap was drawn</p>'
    if path.is_file():
        picture = f'<img alt="alignment" src="data:image/png;base64,{b64encode(path.read_bytes()).decode()}">'
    caption = f"<strong>{escape(row.name)}</strong><br>{escape(row.run.hypotheses[number])}"
    return f"<figure tabindex=0><figcaption>{caption}</figcaption>{picture}</figure>"
