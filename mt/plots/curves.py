"""Curves: quality against latency, scores over updates, and risk over coverage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from mt.common.palette import colour, marker
from mt.plots.style import INK, LABEL_POINTS, chart, font, name_axes, shortened

# Quality against latency, one panel for each measure of latency.

_NAME_CHARACTERS = 80  # at most
_LEGEND_CHARACTERS = 56  # in the width of a panel
_LEGEND_ROWS = 6  # for which the usual height leaves room below the panels
_ROW_INCHES = 0.19
_DASHES = ("--", ":", "-.")


@dataclass(frozen=True)
class Line:
    """A policy in several settings, or a system that reads the whole source first."""

    name: str
    points: Sequence[tuple[Sequence[float], Sequence[float]]] = ()
    """For each setting its delay in each panel, and the quality of each of its runs."""
    level: float | None = None
    """The quality of a system without delays, drawn as a horizontal line; None for a policy."""


def tradeoff(lines: Sequence[Line], delays: Sequence[str], quality: str) -> Figure:
    """Draws quality (upwards) over measures of delay (to the right), one panel each, with a legend below. The point of
    several runs is their mean, with a bar from the worst to the best. delays: the names of the measures."""
    figure, panels = chart(len(delays), sharey=True)
    for number, (axes, name) in enumerate(zip(panels, delays, strict=True)):
        name_axes(axes, name, quality)
        for index, line in enumerate(lines):
            _draw(axes, line, number, index)
    # The legend has as many columns as fit beside each other, and the figure grows with its rows.
    names = [shortened(line.name, _NAME_CHARACTERS) for line in lines]
    columns = max(1, min(3, _LEGEND_CHARACTERS * len(delays) // max(len(name) + 8 for name in names)))
    rows = -(-len(names) // columns)
    figure.set_figheight(figure.get_figheight() + _ROW_INCHES * max(0, rows - _LEGEND_ROWS))
    legend = figure.legend(
        panels[0].get_lines(),
        names,
        loc="outside lower left",
        ncols=columns,
        frameon=False,
        labelcolor=INK,
        prop=font(LABEL_POINTS, names),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _draw(axes: Axes, line: Line, panel: int, index: int) -> None:
    # A system without delays.
    if line.level is not None:
        axes.axhline(line.level, color=colour(index), linewidth=1.4, linestyle=_DASHES[index % len(_DASHES)])
        return
    # A line through the means of its points, with bars of their ranges.
    points = sorted((delays[panel], fmean(qualities), qualities) for delays, qualities in line.points)
    across = [x for x, *_ in points]
    up = [y for _, y, _ in points]
    axes.plot(across, up, markersize=6.5, **look(index))
    axes.vlines(across, [min(q) for *_, q in points], [max(q) for *_, q in points], color=colour(index), linewidth=1)


# A score over updates, a line for each run.


def learning_curves(title: str, curves: Sequence[Mapping[int, float]]) -> Figure:
    """Draws the values of a score (upwards) over updates (to the right), a line for each run. An empty curve is not
    drawn, but its colour stays reserved."""
    figure, [axes] = chart(1)
    # Margins keep even a single point away from the edges.
    axes.margins(0.08, 0.1)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_title(title, loc="left", fontsize=LABEL_POINTS + 1, color=INK)
    name_axes(axes, "updates", "")
    for number, curve in enumerate(curves):
        updates = sorted(curve)
        axes.plot(updates, [curve[update] for update in updates], **look(number))
    return figure


def look(number: int) -> dict[str, Any]:
    """Returns the colour and marker that distinguish line `number` from others."""
    return {"color": colour(number), "marker": marker(number), "linewidth": 1.6, "markeredgecolor": "white"}


# Risk over coverage.


def risk(curve: Mapping[float, float]) -> Figure:
    """Draws the share of wrong words among the surest words (upwards), over the share of all words that these are (to
    the right)."""
    figure, [axes] = chart(1)
    coverage = sorted(curve)
    axes.plot(coverage, [curve[share] for share in coverage], linewidth=1.6, color=colour(0))
    axes.set_xlim(0, 1)
    axes.set_ylim(0, None)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    name_axes(axes, "words, the surest first", "wrong words among them")
    return figure
