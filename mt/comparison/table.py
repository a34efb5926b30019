"""Runs side by side: scores with their intervals and significance, and what they cost, as one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from mt.comparison.runs import FinishedRun, choose, names
from mt.errors import UserError
from mt.metrics.bleu import paired_bleu, paired_chrf
from mt.metrics.rouge import paired_rouge
from mt.metrics.significance import LEVEL, SAMPLES, Paired

Systems = Mapping[str, Sequence[str]]
References = Sequence[Sequence[str]]


def _rouge(systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
    found = paired_rouge(systems, references)
    # Without newlines, ROUGE-Lsum is ROUGE-L again.
    return {"ROUGE-1": found["rouge1"], "ROUGE-2": found["rouge2"], "ROUGE-L": found["rougeL"]}


SCORERS: dict[str, Callable[[Systems, References], dict[str, dict[str, Paired]]]] = {
    "bleu": lambda systems, references: {"BLEU": paired_bleu(systems, references)},
    "chrf": lambda systems, references: {"chrF": paired_chrf(systems, references)},
    "rouge": _rouge,
}


class Fact(NamedTuple):
    """A number that `results.json` may hold, and how it is shown."""

    heading: str
    path: tuple[str, ...]
    form: str = ".1f"
    scale: float = 1.0

    def of(self, results: Mapping[str, Any]) -> float | None:
        found: Any = results
        for key in self.path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return None if found is None else found * self.scale


FACTS = (
    Fact("perplexity", ("perplexity",), ".2f"),
    Fact("AER", ("aer", "score")),
    Fact("training tokens/s", ("training_tokens_per_second",), ",.0f"),
    Fact("decoding tokens/s", ("tokens_per_second",), ",.0f"),
    Fact("peak memory, MB", ("peak_memory_mb",), ",.0f"),
    Fact("parameters, M", ("parameters",), ".2f", 1e-6),
    Fact("training, min", ("training_seconds",), ".1f", 1 / 60),
)


@dataclass(frozen=True)
class Row:
    name: str
    run: FinishedRun
    scores: Mapping[str, Paired]

    @property
    def decoding(self) -> str:
        """How the test split was decoded: `soft, beam 5`."""
        search = self.run.results["search"]
        return f"{search['mode']}, {search['name']}" + (f" {search['beam']}" if search["name"] == "beam" else "")


@dataclass(frozen=True)
class Comparison:
    """Runs over the same test split. baseline: the name of one of them."""

    baseline: str
    rows: Sequence[Row]

    def header(self) -> list[str]:
        return ["run", "decoding", *self.rows[0].scores, *(fact.heading for fact in self._facts())]

    def cells(self, row: Row) -> list[str]:
        """What stands under the header; `-` where the run does not say."""
        name = f"{row.name} (baseline)" if row.name == self.baseline else row.name
        values = [(fact, fact.of(row.run.results)) for fact in self._facts()]
        facts = ["-" if value is None else f"{value:{fact.form}}" for fact, value in values]
        return [name, row.decoding, *(_score(score) for score in row.scores.values()), *facts]

    def notes(self) -> list[str]:
        """What the marks mean, and the signature of each score."""
        count = len(self.rows[0].run.hypotheses)
        headings: dict[str, list[str]] = {}
        for heading, score in self.rows[0].scores.items():
            headings.setdefault(score.signature, []).append(heading)
        return [
            f"± half the width of the 95 % interval; * differs from {self.baseline} with p < {LEVEL} "
            f"(paired bootstrap, {SAMPLES} samples of the {count} test sentences)",
            *(f"{', '.join(group)}: {signature}" for signature, group in headings.items()),
        ]

    def markdown(self) -> str:
        lines = [[cell.replace("|", "\\|") for cell in line] for line in [self.header(), *map(self.cells, self.rows)]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines.insert(1, ["-" * widths[0], "-" * widths[1], *("-" * (width - 1) + ":" for width in widths[2:])])
        padded = [[*map(str.ljust, line[:2], widths[:2]), *map(str.rjust, line[2:], widths[2:])] for line in lines]
        notes = [note.replace("*", "\\*") for note in self.notes()]
        return "\n".join([*(f"| {' | '.join(line)} |" for line in padded), "", *(f"{note}  " for note in notes)])

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        rows = [
            {
                "name": row.name,
                "folder": str(row.run.folder),
                "decoding": row.decoding,
                "scores": {heading: asdict(score) for heading, score in row.scores.items()},
                "facts": {fact.heading: fact.of(row.run.results) for fact in FACTS},
            }
            for row in self.rows
        ]
        return {"baseline": self.baseline, "rows": rows}

    def _facts(self) -> list[Fact]:
        """Those that any of the runs states."""
        return [fact for fact in FACTS if any(fact.of(row.run.results) is not None for row in self.rows)]


def compare(runs: Sequence[FinishedRun], references: References, baseline: str | None = None) -> Comparison:
    """Scores runs over the same test split by the metrics of its dataset.

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
    for metric in runs[0].config.dataset.metrics:
        scores |= SCORERS[metric](systems, references)
    rows = [
        Row(name, run, {heading: found[name] for heading, found in scores.items()})
        for name, run in zip(known, runs, strict=True)
    ]
    return Comparison(known[chosen], rows)


def _score(score: Paired) -> str:
    return f"{score.score:.1f} ± {score.ci:.1f}{' *' if score.significant else ''}"
