"""How many times as fast as another each of some systems is, over length (as Chiu & Raffel 2018, figure 3)."""

from collections.abc import Mapping, Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

_PANEL = (4.6, 3.6)  # inches
_DOTS_PER_INCH = 150
_POINTS = 9  # of letters
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_MARKERS = "osD^vP"
_INK = "#1f2933"
_AXIS = "#52606d"
_GRID = "#e4e8ee"


def speedup(
    lengths: Sequence[int], panels: Mapping[str, Mapping[str, Sequence[float]]], across: str, up: str
) -> Figure:
    """Draw ratios (upwards) over lengths (to the right), both on logarithmic axes, one panel for each title.

    Args:
        lengths: at least one, each positive.
        panels: the title of each panel, and for each of its lines the name and the ratio at each length.
        across, up: the names of the axes.
    """
    figure = Figure(figsize=(_PANEL[0] * len(panels), _PANEL[1]), dpi=_DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, lines) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.axhline(1, color=_AXIS, linewidth=1, linestyle="--")
        axes.spines[:].set_color(_GRID)
        axes.tick_params(length=0, labelsize=_POINTS, labelcolor=_AXIS)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        axes.set_title(title, loc="left", fontsize=_POINTS + 1, color=_INK)
        axes.set_xlabel(across, fontsize=_POINTS, color=_AXIS)
        axes.set_ylabel(up, fontsize=_POINTS, color=_AXIS)
        for number, (name, ratios) in enumerate(lines.items()):
            style = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)]}
            axes.plot(lengths, ratios, label=name, linewidth=1.6, markersize=5.5, markeredgecolor="white", **style)
        axes.legend(frameon=False, labelcolor=_INK, fontsize=_POINTS)
    return figure
