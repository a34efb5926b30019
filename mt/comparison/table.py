"""Runs side by side: scores with their intervals and significance, and what they cost, as one table."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

from mt.comparison.results import Results
from mt.comparison.runs import FinishedRun, choose, names
from mt.errors import UserError
from mt.metrics.base import References
from mt.metrics.significance import LEVEL, SAMPLES, Paired

# What Markdown would take for markup; an underscore only where it begins or ends a word.
_MARKUP = re.compile(r"[\\`*\[\]~]|(?<!\w)_|_(?!\w)")


class Fact(NamedTuple):
    """A number that `results.json` may hold, and how it is shown."""

    heading: str
    of: Callable[[Results], float | None]
    form: str = ".1f"
    scale: float = 1.0
    higher_is_better: bool | None = False
    """None where neither is."""


FACTS = (
    Fact("perplexity", lambda results: results.perplexity, ".2f"),
    Fact("AER", lambda results: results.alignment_error_rate),
    Fact("training tokens/s", lambda results: results.training_tokens_per_second, ",.0f", higher_is_better=True),
    Fact("decoding tokens/s", lambda results: results.tokens_per_second, ",.0f", higher_is_better=True),
    Fact("peak memory, MB", lambda results: results.peak_memory_mb, ",.0f"),
    Fact("parameters, M", lambda results: results.parameters, ".2f", 1e-6, higher_is_better=None),
    Fact("training, min", lambda results: results.training_seconds, ".1f", 1 / 60),
)


@dataclass(frozen=True)
class Row:
    name: str
    run: FinishedRun
    scores: Mapping[str, Paired]


class Column(NamedTuple):
    heading: str
    cells: Sequence[str]
    """Of each row; `-` where the run does not say."""
    values: Sequence[float | None] = ()
    higher_is_better: bool | None = None

    def best(self) -> set[int]:
        """The rows with the best value; none where neither direction is better, or all are alike."""
        known = {i: value for i, value in enumerate(self.values) if value is not None and math.isfinite(value)}
        if self.higher_is_better is None or len(set(known.values())) < 2:
            return set()
        best = max(known.values()) if self.higher_is_better else min(known.values())
        return {i for i, value in known.items() if value == best}


@dataclass(frozen=True)
class Comparison:
    """Runs over the same test split."""

    baseline: str
    """The name of one of them."""
    rows: Sequence[Row]
    directions: Mapping[str, bool]
    """For the heading of each score whether higher is better."""

    def columns(self) -> list[Column]:
        rows = self.rows
        named = [f"{row.name} (baseline)" if row.name == self.baseline else row.name for row in rows]
        columns = [Column("run", named), Column("decoding", [str(row.run.results.search) for row in rows])]
        for heading, higher in self.directions.items():
            scores = [row.scores[heading] for row in rows]
            columns.append(Column(heading, [_score(s) for s in scores], [s.score for s in scores], higher))
        for fact in FACTS:
            values = [fact.of(row.run.results) for row in rows]
            if any(value is not None for value in values):
                cells = ["-" if value is None else f"{value * fact.scale:{fact.form}}" for value in values]
                columns.append(Column(fact.heading, cells, values, fact.higher_is_better))
        return columns

    def notes(self) -> list[str]:
        """What the marks mean, and the signature of each score."""
        count = len(self.rows[0].run.hypotheses)
        headings: dict[str, list[str]] = {}
        for heading, score in self.rows[0].scores.items():
            headings.setdefault(score.signature, []).append(heading)
        return [
            f"± half the width of the 95 % interval; * differs from {self.baseline} with p below {LEVEL} "
            f"(paired bootstrap, {SAMPLES} samples of the {count} test sentences)",
            *(f"{', '.join(group)}: {signature}" for signature, group in headings.items()),
        ]

    def text(self) -> str:
        """The table and its notes for a terminal."""
        return self._laid_out(str, str)

    def markdown(self) -> str:
        """The table and its notes, in which nothing that a run says is taken for Markdown or HTML."""
        return self._laid_out(lambda cell: _escaped(cell).replace("|", "\\|"), lambda note: f"{_escaped(note)}  ")

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        rows = [
            {
                "name": row.name,
                "folder": str(row.run.folder),
                "decoding": str(row.run.results.search),
                "scores": {heading: asdict(score) for heading, score in row.scores.items()},
                "facts": {
                    fact.heading: None if (value := fact.of(row.run.results)) is None else value * fact.scale
                    for fact in FACTS
                },
            }
            for row in self.rows
        ]
        return {"baseline": self.baseline, "rows": rows}

    def _laid_out(self, as_cell: Callable[[str], str], as_note: Callable[[str], str]) -> str:
        columns = [[as_cell(cell) for cell in (column.heading, *column.cells)] for column in self.columns()]
        widths = [max(map(len, column)) for column in columns]
        lines = [list(line) for line in zip(*columns, strict=True)]
        lines.insert(1, ["-" * widths[0], "-" * widths[1], *("-" * (width - 1) + ":" for width in widths[2:])])
        padded = [[*map(str.ljust, line[:2], widths[:2]), *map(str.rjust, line[2:], widths[2:])] for line in lines]
        return "\n".join([*(f"| {' | '.join(line)} |" for line in padded), "", *map(as_note, self.notes())])


def compare(runs: Sequence[FinishedRun], references: References, baseline: str | None = None) -> Comparison:
    """Scores runs over the same test split by the metrics of the first one's dataset.

    Args:
        references: all references of each test sentence.
        baseline: a run's folder, name or attention; by default the first run.

    Raises:
        UserError: no run, or several, are the baseline, or a run does not have one hypothesis for each sentence.
    """
    for run in runs:
        if len(run.hypotheses) != len(references):
            raise UserError(
                f"{run.folder}/hypotheses/test.txt has {len(run.hypotheses)} lines but the test split has "
                f"{len(references)}: one of them has changed since, so restore it"
            )
    known = names(runs)
    chosen = choose(runs, known, baseline) if baseline else 0
    systems = {known[i]: runs[i].hypotheses for i in sorted(range(len(runs)), key=lambda i: i != chosen)}
    scores: dict[str, dict[str, Paired]] = {}
    directions: dict[str, bool] = {}
    for metric in runs[0].config.metrics():
        headings = metric.headings()
        for name, found in metric.compare(systems, references).items():
            scores[headings[name]], directions[headings[name]] = found, metric.higher_is_better
    rows = [
        Row(name, run, {heading: found[name] for heading, found in scores.items()})
        for name, run in zip(known, runs, strict=True)
    ]
    return Comparison(known[chosen], rows, directions)


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", escape(text, quote=False))


def _score(score: Paired) -> str:
    return f"{score.score:.1f} ± {score.ci:.1f}{' *' if score.significant else ''}"
