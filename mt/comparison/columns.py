"""Lays columns out as a table: for a terminal and for Markdown, for LaTeX, then for spreadsheets."""

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from tabulate import tabulate

from mt.errors import visible

# What Markdown would take for markup; an underscore only where it begins or ends a word.
_MARKUP = re.compile(r"[\\`*\[\]~]|(?<!\w)_|_(?!\w)")
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # LaTeX would make them curly; no encoding of its fonts but T1 has a straight double one by name.
    '"': r"{\ttfamily\char34}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # behind a row's end it would begin an option
    "±": r"$\pm$",
}
# What LaTeX would join into one sign, and a star behind a row's end.
_LATEX_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=,)(?=,)|^(?=\*)")


class Column(NamedTuple):
    """A column of a table of runs."""

    heading: str
    cells: Sequence[str]
    """The text of each row; `-` where the run's files do not hold the value."""
    values: Sequence[float | None] = ()
    """The number of each row; empty for a column of text."""
    higher_is_better: bool | None = None
    """None where neither direction is better."""

    @property
    def lines(self) -> list[str]:
        """Returns the heading and the cells."""
        return [self.heading, *self.cells]

    def best(self) -> set[int]:
        """Returns the rows with the best value; none where neither direction is better, or all are alike."""
        known = {i: value for i, value in enumerate(self.values) if value is not None and math.isfinite(value)}
        if self.higher_is_better is None or len(set(known.values())) < 2:
            return set()
        best = max(known.values()) if self.higher_is_better else min(known.values())
        return {i for i, value in known.items() if value == best}


def as_text(columns: Sequence[Column]) -> list[str]:
    """Returns the lines of a table for a terminal. The first two columns hold text, the others numbers."""
    return _table(columns, visible)


def as_markdown(columns: Sequence[Column]) -> list[str]:
    """Returns the lines of `as_text`, in which nothing is taken for Markdown or HTML but the table itself."""
    return _table(columns, lambda cell: escaped(cell).replace("|", "\\|"))


def _table(columns: Sequence[Column], written: Callable[[str], str]) -> list[str]:
    head, *rows = zip(*([written(cell) for cell in column.lines] for column in columns), strict=True)
    sides = ("left", "left", *("right" for _ in columns[2:]))
    return tabulate(rows, head, "pipe", colalign=sides, disable_numparse=True).splitlines()


def as_latex(columns: Sequence[Column]) -> list[str]:
    """Returns the lines of a `tabular` for LaTeX's package booktabs, with the best value of each column in bold."""
    cells = [[for_latex(cell) for cell in column.lines] for column in columns]
    for column, texts in zip(columns, cells, strict=True):
        for place in column.best():
            texts[place + 1] = f"\\textbf{{{texts[place + 1]}}}"
    # Rules part the lines of the table.
    head, *lines = [f"{' & '.join(line)} \\\\" for line in zip(*cells, strict=True)]
    begin = f"\\begin{{tabular}}{{ll{'r' * (len(columns) - 2)}}}"
    return [begin, "\\toprule", head, "\\midrule", *lines, "\\bottomrule", "\\end{tabular}"]


def for_latex(text: str) -> str:
    """Returns text that LaTeX shows as it is written: nothing in it is a command, a quotation mark or a dash."""
    parted = _LATEX_LIGATURE.sub("\0", visible(text))
    return "".join(_LATEX.get(character, character) for character in parted).replace("\0", "{}")


def as_csv(rows: Sequence[Sequence[str | float | None]]) -> str:
    """Returns rows for a spreadsheet, as in RFC 4180 but for the ends of lines; None is an empty cell. A text that
    would be taken for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        texts = [visible(cell) if isinstance(cell, str) else cell for cell in row]
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" else cell for cell in texts])
    return text.getvalue()


def escaped(text: str) -> str:
    """Returns text in which nothing is taken for Markdown or HTML."""
    return _MARKUP.sub(r"\\\g<0>", escape(visible(text), quote=False))
