"""Quality against latency: what runs reach that are decoded online, beside those that read the whole source first.

Each online result of a run is a point: its own, and each evaluation of its best checkpoint on the test split. Points
that differ only in what trades the one for the other (`KNOBS`) are one policy, which a figure draws as a line (figures
3 and 4 of Arivazhagan et al. 2019). Runs that differ only in their seed are one point, their mean.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from mt.comparison.columns import Column
from mt.comparison.curves import colour
from mt.comparison.results import LATENCIES
from mt.comparison.runs import FinishedRun, flat, options_of, shown, told_apart
from mt.errors import UserError
from mt.evaluation.scoring import metrics_of

KNOBS = ("attention.latency_weight", "search.k")
"""The options by which a policy waits longer or shorter."""
DRAWN = ("al", "dal")
# How a search is run, and not what it finds.
_ASIDE = ("seed", "search.batch_tokens", "search.mode")


class Measurement(NamedTuple):
    """One result of a run."""

    folder: str
    quality: float
    latency: Mapping[str, float]
    """By the keys of `LATENCIES`; empty where the whole source was read first."""
    unit: str | None
    """What it is counted in; None where it is empty."""
    signature: str = ""
    """Of the quality."""


@dataclass(frozen=True)
class Point:
    """What runs of one setting reached, which differ at most in their seed."""

    setting: str
    """The knobs: `latency_weight=0.1`; empty where there are none."""
    measurements: Sequence[Measurement]

    @property
    def quality(self) -> float:
        return fmean(measurement.quality for measurement in self.measurements)

    @property
    def latency(self) -> dict[str, float]:
        """The mean of each measure that all of the runs have."""
        keys = [key for key in LATENCIES if all(key in measurement.latency for measurement in self.measurements)]
        return {key: fmean(measurement.latency[key] for measurement in self.measurements) for key in keys}


@dataclass(frozen=True)
class Policy:
    """Points that differ in their setting alone; one point without latency, where the whole source is read first."""

    name: str
    points: Sequence[Point]

    @property
    def online(self) -> bool:
        return bool(self.points[0].latency)


@dataclass(frozen=True)
class Tradeoff:
    """Policies over the same test split, those first that write while they read."""

    quality: str
    """The heading of the metric: the first of the dataset."""
    unit: str
    """What delays count of the source: words, or tokens."""
    policies: Sequence[Policy]

    def columns(self) -> list[Column]:
        """A row for each point."""
        rows = [(policy, point) for policy in self.policies for point in policy.points]
        measured = [key for key in LATENCIES if any(key in point.latency for _, point in rows)]
        texts = [("policy", [policy.name for policy, _ in rows]), ("setting", [point.setting for _, point in rows])]
        columns = [Column(heading, [text or "-" for text in cells]) for heading, cells in texts]
        columns.append(Column(self.quality, [f"{point.quality:.1f}" for _, point in rows]))
        for key in measured:
            values = [point.latency.get(key) for _, point in rows]
            columns.append(Column(LATENCIES[key], ["-" if value is None else f"{value:.2f}" for value in values]))
        return [*columns, Column("runs", [str(len(point.measurements)) for _, point in rows])]

    def note(self) -> str:
        points = [point for policy in self.policies for point in policy.points]
        alike = len({each.signature for point in points for each in point.measurements}) < 2
        return (
            f"AL, LAAL, DAL and YAAL in source {self.unit}, AP as a share: the lower, the earlier; offline: the whole "
            "source is read first; of several runs, which differ in their seed, the mean"
            + ("" if alike else f"; {self.quality} was not measured alike: see its signatures in comparison.json")
        )

    def draw(self, path: Path) -> None:
        """Draws quality over AL and over DAL; the ending of the file's name says how."""
        from mt.plots import save  # Not above: most comparisons need no picture, and matplotlib takes a second.
        from mt.plots.tradeoff import Line, tradeoff

        lines = []
        for number, policy in enumerate(self.policies):
            points = [
                ([point.latency[key] for key in DRAWN], [measurement.quality for measurement in point.measurements])
                for point in policy.points
                if point.latency.keys() >= set(DRAWN)
            ]
            level = None if policy.online else policy.points[0].quality
            lines.append(Line(policy.name, colour(number), points, level))
        delays = [f"{LATENCIES[key]} (source {self.unit})" for key in DRAWN]
        save(tradeoff(lines, delays, self.quality), path)

    def plain(self) -> list[dict[str, Any]]:
        """All of it as plain data."""
        return [
            {
                "policy": policy.name,
                "setting": point.setting,
                "quality": point.quality,
                "latency": point.latency,
                "runs": [measurement._asdict() for measurement in point.measurements],
            }
            for policy in self.policies
            for point in policy.points
        ]


def measure(runs: Sequence[FinishedRun]) -> Tradeoff | None:
    """The trade-off of runs over the same test split; None where none was decoded online.

    Raises UserError where latency was counted in different units.
    """
    metric = metrics_of(runs[0].config.dataset)[0]
    options: dict[str, dict[str, Any]] = {}
    found: dict[str, dict[str, list[Measurement]]] = {}
    for run in runs:
        for own, measurement in _measurements(run, metric.main()):
            # Offline, no knob trades anything: each value is a line of its own.
            knobs = [key for key in KNOBS if key in own and measurement.latency]
            shared = {key: value for key, value in own.items() if key not in (*knobs, *_ASIDE)}
            setting = " ".join(f"{key.rpartition('.')[2]}={shown(own[key])}" for key in knobs)
            policy = json.dumps(shared)
            options.setdefault(policy, shared)
            found.setdefault(policy, {}).setdefault(setting, []).append(measurement)
    unit = _unit(
        measurement for group in found.values() for measurements in group.values() for measurement in measurements
    )
    if unit is None:
        return None
    groups = [[Point(setting, measurements) for setting, measurements in group.items()] for group in found.values()]
    bases = [_base(own, group[0]) for own, group in zip(options.values(), groups, strict=True)]
    names = told_apart(bases, list(options.values()), [group[0].measurements[0].folder for group in groups])
    policies = [Policy(name, sorted(group, key=_by_delay)) for name, group in zip(names, groups, strict=True)]
    heading = metric.headings()[metric.main()]
    # What is not counted in tokens of both sides is counted in words of the source, whatever the unit of the target.
    counted = "tokens" if unit == "token" else "words"
    return Tradeoff(heading, counted, sorted(policies, key=lambda policy: not policy.online))


def _measurements(run: FinishedRun, quality: str) -> Iterator[tuple[dict[str, Any], Measurement]]:
    """Yields each online result of a run with the options behind it, and its own where that is offline. A hard
    attention that was also decoded online stops as early offline, so that only online its result says something."""
    results = [each for each in (run.results, *run.evaluations) if quality in each.scores]
    # An evaluation repeats the run's own result where it has the same search.
    online = {json.dumps(each.search.model_dump()): each for each in results if each.latency}
    offline = [each for each in results[:1] if not each.latency and not (online and each.search.mode == "hard")]
    for each in (*online.values(), *offline):
        trained = {key: value for key, value in options_of(run).items() if not key.startswith("search.")}
        own = trained | dict(flat(each.search.model_dump(exclude_none=True), "search."))
        unit = each.latency_unit if each.latency else None
        score = each.scores[quality]
        yield own, Measurement(str(run.folder), score.score, each.latency, unit, score.signature)


def _unit(measurements: Iterable[Measurement]) -> str | None:
    """Returns what all of them count latency in; None where none has any."""
    units = {measurement.unit: measurement.folder for measurement in measurements if measurement.unit}
    if len(units) > 1:
        (first, one), (second, other), *_ = units.items()
        raise UserError(
            f"{one} counts latency in {first}s and {other} in {second}s: evaluate both in one unit, with "
            "scripts/evaluate.py"
        )
    return next(iter(units), None)


def _base(options: Mapping[str, Any], point: Point) -> str:
    """Returns what a policy is called, but for what tells it from another."""
    attention = options["attention.name"]
    search = options["search.name"]
    if not point.latency:
        return f"offline, {attention}"
    return attention if search == "online" else f"{search.replace('_', '-')}, {attention}"


def _by_delay(point: Point) -> float:
    return point.latency.get(DRAWN[0], 0.0)
