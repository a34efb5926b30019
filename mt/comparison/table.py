"""Compares runs in one table: scores with their confidence intervals and significance, and what the runs cost.
`compare` makes a `Comparison`, which writes itself in several formats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mt.checkpoint import locate
from mt.comparison.columns import Column, as_csv, as_latex, as_markdown, as_text, escaped
from mt.comparison.runs import FinishedRun, choose, names
from mt.comparison.tradeoff import Tradeoff, measure
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError, counted, visible
from mt.evaluation.results import KEYS
from mt.evaluation.scoring import metrics_of
from mt.metrics import Metric
from mt.metrics.base import LEVEL, SAMPLES, Paired, References

COLUMNS = {name: key for name, key in KEYS.items() if key.heading}
"""The numbers of `results.json` that have a column."""


@dataclass(frozen=True)
class Row:
    """A run of a comparison."""

    name: str
    run: FinishedRun
    scores: Mapping[str, Paired]
    """The scores by their headings, each compared with the baseline's."""


@dataclass(frozen=True)
class Comparison:
    """Runs over the same test split."""

    baseline: str
    """The name of the run that the others are compared with."""
    rows: Sequence[Row]
    directions: Mapping[str, bool]
    """Whether a higher score is better, by the heading of the score."""
    tradeoff: Tradeoff | None
    """None where no run was decoded online."""

    def columns(self) -> list[Column]:
        """Returns the columns of the table: name, search, scores, and the numbers that at least one run has."""
        rows = self.rows
        named = [f"{row.name} (baseline)" if row.name == self.baseline else row.name for row in rows]
        columns = [Column("run", named), Column("decoding", [str(row.run.results.search) for row in rows])]
        for heading, higher in self.directions.items():
            scores = [row.scores[heading] for row in rows]
            cells = [f"{score.score:.1f} ± {score.ci:.1f}{' *' if score.significant else ''}" for score in scores]
            columns.append(Column(heading, cells, [score.score for score in scores], higher))
        # Results of earlier versions lack some numbers: a column is shown where any run has one.
        for key, shown in COLUMNS.items():
            values = [_scaled(row, key) for row in rows]
            if any(value is not None for value in values):
                cells = ["-" if value is None else f"{value:{shown.form}}" for value in values]
                columns.append(Column(shown.heading, cells, values, shown.higher_is_better))
        return columns

    def notes(self) -> list[str]:
        """Explains the marks, and lists the signature of each score."""
        run = self.rows[0].run
        # Scores of one signature share a line.
        headings: dict[str, list[str]] = {}
        for heading, score in self.rows[0].scores.items():
            headings.setdefault(score.signature, []).append(heading)
        return [
            f"± half the width of the 95 % interval; * differs from {self.baseline} with p below {LEVEL} "
            f"(paired bootstrap, {SAMPLES} samples of the {len(run.hypotheses)} {run.results.split} sentences)",
            *(f"{', '.join(group)}: {signature}" for signature, group in headings.items()),
        ]

    def text(self) -> str:
        """Returns the tables and their notes for a terminal."""
        return self._lines(as_text, self.notes())

    def markdown(self) -> str:
        """Returns the tables and their notes in Markdown; texts of runs are escaped."""
        return self._lines(as_markdown, [f"{escaped(note)}  " for note in self.notes()])

    def _lines(self, layout: Callable[[Sequence[Column]], list[str]], notes: Sequence[str]) -> str:
        online = ["", *layout(self.tradeoff.columns()), "", self.tradeoff.note()] if self.tradeoff else []
        return "\n".join([*layout(self.columns()), "", *notes, *online])

    def latex(self) -> str:
        """Returns the table for LaTeX's package booktabs, with the notes as comments."""
        notes = [f"% {visible(note)}" for note in self.notes()]
        return "\n".join([*as_latex(self.columns()), *notes])

    def csv(self) -> str:
        """Returns a row for each run, with unrounded numbers. A score has three columns: its value, half the width of
        its interval, and whether it differs significantly from the baseline's (1 or 0)."""
        # The headings, then the same columns of each run.
        headings = ["run", "folder", "decoding"]
        for heading in self.directions:
            headings += [heading, f"{heading} ±", f"{heading} differs"]
        headings += [shown.heading for shown in COLUMNS.values()]
        lines: list[list[str | float | None]] = [[*headings]]
        for row in self.rows:
            line: list[str | float | None] = [row.name, str(row.run.folder), str(row.run.results.search)]
            for heading in self.directions:
                score = row.scores[heading]
                line += [score.score, score.ci, int(score.significant)]
            line += [_scaled(row, key) for key in COLUMNS]
            lines.append(line)
        return as_csv(lines)

    def plain(self) -> dict[str, Any]:
        """Returns the whole comparison as plain data."""
        rows = [
            {
                "name": row.name,
                "folder": str(row.run.folder),
                "decoding": str(row.run.results.search),
                "scores": {heading: asdict(score) for heading, score in row.scores.items()},
                "facts": {shown.heading: _scaled(row, key) for key, shown in COLUMNS.items()},
            }
            for row in self.rows
        ]
        return {"baseline": self.baseline, "rows": rows, "tradeoff": self.tradeoff.plain() if self.tradeoff else []}


def compare(runs: Sequence[FinishedRun], references: References, baseline: str | None = None) -> Comparison:
    """Scores runs over the same test split by the metrics of the first run's dataset. If the tokenizer of any run
    lower-cases, all are compared in lower case, since that run would lose by its case alone.

    references: all references of each test sentence. baseline: a run's folder, name or attention; by default the first
    run. Raises UserError if a run lacks hypotheses, or if runs count latency in different units."""
    for run in runs:
        if len(run.hypotheses) != len(references):
            split = run.results.split
            raise UserError(
                f"{run.folder}/hypotheses/{split}.txt has {counted(len(run.hypotheses), 'line')} but the {split} split "
                f"has {len(references):,}: one of them has changed since, so restore it"
            )
    # The baseline comes first, since metrics test for significance against the first system.
    run_names = names(runs)
    chosen = choose(runs, run_names, baseline) if baseline else 0
    systems = {run_names[i]: runs[i].hypotheses for i in sorted(range(len(runs)), key=lambda i: i != chosen)}
    scores: dict[str, dict[str, Paired]] = {}
    directions: dict[str, bool] = {}
    # Every system is scored again here, by one metric and one tokenization, whatever its run once measured.
    for metric in shared_metrics(runs):
        headings = metric.headings()
        for name, paired in metric.compare(systems, references).items():
            scores[headings[name]] = paired
            directions[headings[name]] = metric.higher_is_better
    # The rows keep the order that the user gave.
    rows = [
        Row(name, run, {heading: paired[name] for heading, paired in scores.items()})
        for name, run in zip(run_names, runs, strict=True)
    ]
    return Comparison(run_names[chosen], rows, directions, measure(runs))


def shared_metrics(runs: Sequence[FinishedRun]) -> list[Metric]:
    """Returns the metrics by which runs are compared."""
    # A tokenizer that lower-cases cannot write capitals, so that all are judged without them.
    lowercase = any(Tokenizers.load(locate(run.folder, "best")).target.lowercases for run in runs)
    return metrics_of(runs[0].config.dataset, lowercase=lowercase)


def _scaled(row: Row, key: str) -> float | None:
    """Returns a number of a run's results in the unit of its column; None if the results do not hold it."""
    value = row.run.results.number(key)
    return None if value is None else value * KEYS[key].scale
