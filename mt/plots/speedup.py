"""How many times as fast as another each of some systems is, over length (as Chiu & Raffel 2018, figure 3)."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from mt.common.palette import colour
from mt.plots.style import AXIS, INK, LABEL_POINTS, chart, name_axes

_MARKERS = "osD^vP"


def speedup(
    lengths: Sequence[int], panels: Mapping[str, Mapping[str, Sequence[float]]], x_name: str, y_name: str
) -> Figure:
    """Draws ratios (upwards) over lengths (to the right), both on logarithmic axes, one panel for each title.

    Args:
        lengths: at least one, each positive.
        panels: the title of each panel, and for each of its lines the name and the ratio at each length.
        x_name, y_name: the names of the axes.
    """
    figure, row = chart(len(panels))
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(1, color=AXIS, linewidth=1, linestyle="--")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        axes.set_title(title, loc="left", fontsize=LABEL_POINTS + 1, color=INK)
        name_axes(axes, x_name, y_name)
        for number, (name, ratios) in enumerate(lines.items()):
            [line] = axes.plot(lengths, ratios, label=name, linewidth=1.6, markersize=5.5, markeredgecolor="white")
            line.set_color(colour(number))
            line.set_marker(_MARKERS[number % len(_MARKERS)])
        axes.legend(frameon=False, labelcolor=INK, fontsize=LABEL_POINTS)
    return figure
