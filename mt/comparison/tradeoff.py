"""Compares the quality and latency of runs that are decoded online, beside runs that read the whole source first.

Each online result of a run is a point: that of its training, and each evaluation of its best checkpoint on the test
split. Points that differ only in `KNOBS` form one policy, which a figure draws as a line (figures 3 and 4 of
Arivazhagan et al. 2019). Runs that differ only in their seed are one point, their mean.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from mt.common.options import as_typed, flat
from mt.comparison.columns import Column
from mt.comparison.runs import FinishedRun, distinct_names, options_of
from mt.errors import UserError
from mt.evaluation.results import LATENCIES
from mt.evaluation.scoring import metrics_of

KNOBS = (
    "attention.latency_weight",
    *(f"search.{name}" for name in ("k", "f", "share", "n", "hold", "step", "mask_k", "threshold")),
)
"""The options that make a policy wait longer or shorter."""
DRAWN = ("al", "dal")
"""The measures of latency that the figure shows, a panel each."""
# Options that do not separate policies: they change chance, speed, or how the same attention is read.
_WITHOUT_EFFECT = ("seed", "search.batch_tokens", "search.mode")


class Measurement(NamedTuple):
    """Quality and latency of one result of a run."""

    folder: str
    quality: float
    latency: Mapping[str, float]
    """By the keys of `LATENCIES`; empty if the whole source was read first."""
    unit: str | None
    """The unit of the latency; None without latency."""
    signature: str = ""
    """The settings of the metric of quality."""
    length_ratio: float | None = None
    """The words of the hypotheses for each word of the references; None in results of earlier versions."""


@dataclass(frozen=True)
class Point:
    """Measurements of runs of one setting, which differ at most in their seed."""

    setting: str
    """The values of the knobs, such as `latency_weight=0.1`; empty if the policy has no knobs."""
    measurements: Sequence[Measurement]

    @property
    def quality(self) -> float:
        return fmean(measurement.quality for measurement in self.measurements)

    @property
    def length_ratio(self) -> float | None:
        """Returns the mean; None if it is missing from any run."""
        # A mean over some of the runs would not fit scores that are means over all of them.
        ratios = [each.length_ratio for each in self.measurements if each.length_ratio is not None]
        return fmean(ratios) if len(ratios) == len(self.measurements) else None

    @property
    def latency(self) -> dict[str, float]:
        """Returns the mean of each measure that all of the runs have."""
        keys = [key for key in LATENCIES if all(key in measurement.latency for measurement in self.measurements)]
        return {key: fmean(measurement.latency[key] for measurement in self.measurements) for key in keys}


@dataclass(frozen=True)
class Policy:
    """Points that differ only in their setting, or a single point without latency, of a run that is decoded offline."""

    name: str
    points: Sequence[Point]

    @property
    def online(self) -> bool:
        """Returns whether it writes while it reads."""
        return bool(self.points[0].latency)


@dataclass(frozen=True)
class Tradeoff:
    """Policies over the same test split, online ones first."""

    quality: str
    """The heading of the score: the main one of the dataset's first metric."""
    policies: Sequence[Policy]

    def columns(self) -> list[Column]:
        """Returns the columns of a table with a row for each point."""
        rows = [(policy, point) for policy in self.policies for point in policy.points]
        measured = [key for key in LATENCIES if any(key in point.latency for _, point in rows)]
        columns = [
            Column("policy", [policy.name for policy, _ in rows]),
            Column("setting", [point.setting or "-" for _, point in rows]),
            Column(self.quality, [f"{point.quality:.1f}" for _, point in rows]),
        ]
        # Numbers that at least one point has.
        ratios = [point.length_ratio for _, point in rows]
        numbers = {"length ratio": ratios} if any(ratio is not None for ratio in ratios) else {}
        numbers |= {LATENCIES[key]: [point.latency.get(key) for _, point in rows] for key in measured}
        for heading, values in numbers.items():
            columns.append(Column(heading, ["-" if value is None else f"{value:.2f}" for value in values]))
        return [*columns, Column("runs", [str(len(point.measurements)) for _, point in rows])]

    def note(self) -> str:
        """Explains the numbers of the table."""
        points = [point for policy in self.policies for point in policy.points]
        alike = len({each.signature for point in points for each in point.measurements}) < 2
        return (
            "AL, LAAL, DAL and YAAL in source words, AP as a share: the lower, the earlier; offline: the whole "
            "source is read first; of several runs, which differ in their seed, the mean; "
            "NE: target words taken back, for each that stays; length ratio: words written, for each of the references"
            + ("" if alike else f"; {self.quality} was not measured alike: see its signatures in comparison.json")
        )

    def write(self, path: Path, plot_format: str) -> None:
        """Draws quality over AL and over DAL to <path>.png, and beside it in another format if chosen."""
        # Imported late: most comparisons need no picture, and matplotlib takes a second to load.
        from mt.plots import save_with_png
        from mt.plots.curves import Line, tradeoff

        # A line for each policy: latencies against the qualities of all seeds. Offline, a level without points.
        lines = []
        for policy in self.policies:
            points = [
                ([point.latency[key] for key in DRAWN], [measurement.quality for measurement in point.measurements])
                for point in policy.points
                if point.latency.keys() >= set(DRAWN)
            ]
            level = None if policy.online else policy.points[0].quality
            lines.append(Line(policy.name, points, level))
        delays = [f"{LATENCIES[key]} (source words)" for key in DRAWN]
        save_with_png(tradeoff(lines, delays, self.quality), path, plot_format)

    def plain(self) -> list[dict[str, Any]]:
        """Returns a record for each point as plain data."""
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
    """Returns the trade-off of runs over the same test split; None if no run was decoded online. Raises UserError if
    latency was counted in different units."""
    metric = metrics_of(runs[0].config.dataset)[0]
    # Measurements are grouped by all options but the knobs, then by the values of the knobs.
    options: dict[str, dict[str, Any]] = {}
    measured: dict[str, dict[str, list[Measurement]]] = {}  # by policy and setting
    for run in runs:
        for settings, measurement in _measurements(run, metric.main()):
            # Offline, knobs change no latency: each value is a policy.
            knobs = [key for key in KNOBS if key in settings and measurement.latency]
            shared = {key: value for key, value in settings.items() if key not in (*knobs, *_WITHOUT_EFFECT)}
            setting = " ".join(f"{key.rpartition('.')[2]}={as_typed(settings[key])}" for key in knobs)
            # As text, since options may be lists, which are no keys of a dict.
            policy = json.dumps(shared)
            options.setdefault(policy, shared)
            measured.setdefault(policy, {}).setdefault(setting, []).append(measurement)
    units = (each for group in measured.values() for measurements in group.values() for each in measurements)
    if _unit(units) is None:
        return None
    # Policies get distinct names, and their points stand in the order of latency.
    groups = [[Point(setting, measurements) for setting, measurements in group.items()] for group in measured.values()]
    bases = [_base(settings, group[0]) for settings, group in zip(options.values(), groups, strict=True)]
    names = distinct_names(bases, list(options.values()), [group[0].measurements[0].folder for group in groups])
    policies = [
        Policy(name, sorted(group, key=lambda point: point.latency.get(DRAWN[0], 0.0)))
        for name, group in zip(names, groups, strict=True)
    ]
    heading = metric.headings()[metric.main()]
    # Online policies come first; the sort keeps their order otherwise.
    return Tradeoff(heading, sorted(policies, key=lambda policy: not policy.online))


def _measurements(run: FinishedRun, quality: str) -> Iterator[tuple[dict[str, Any], Measurement]]:
    """Yields each online result of a run with the options behind it, and the run's own result if that is offline. A
    hard attention that was also decoded online stops as early offline, so its offline result is left out."""
    results = [each for each in (run.results, *run.evaluations.values()) if quality in each.scores]
    # An evaluation with the run's own search replaces the run's own result.
    online = {json.dumps(each.search.model_dump()): each for each in results if each.latency}
    offline = [each for each in results[:1] if not each.latency and not (online and each.search.mode == "hard")]
    for each in (*online.values(), *offline):
        # The options of search are those of the result, not those that the run was trained with.
        trained = {key: value for key, value in options_of(run).items() if not key.startswith("search.")}
        settings = trained | dict(flat(each.search.model_dump(exclude_none=True), "search."))
        unit = each.latency_unit if each.latency else None
        score = each.scores[quality]
        point = Measurement(str(run.folder), score.score, each.latency, unit, score.signature, each.length_ratio)
        yield settings, point


def _unit(measurements: Iterable[Measurement]) -> str | None:
    """Returns the unit in which all measurements count latency; None if no measurement has latency. Raises UserError
    if units differ."""
    units = {measurement.unit: measurement.folder for measurement in measurements if measurement.unit}
    if len(units) > 1:
        (unit, folder), (other_unit, other_folder), *_ = units.items()
        raise UserError(
            f"{folder} counts latency in {unit}s and {other_folder} in {other_unit}s: evaluate both in one unit, with "
            "mt evaluate"
        )
    return next(iter(units), None)


def _base(options: Mapping[str, Any], point: Point) -> str:
    """Returns the first part of a policy's name, which several policies may share."""
    attention = options["attention.name"]
    # Online search is the usual one of hard attentions, and needs no mention.
    search = options["search.name"]
    if not point.latency:
        return f"offline, {attention}"
    return attention if search == "online" else f"{search.replace('_', '-')}, {attention}"
