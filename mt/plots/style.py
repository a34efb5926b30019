"""The look that all drawings share."""

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK = "#1f2933"
AXIS = "#52606d"
GRID = "#e4e8ee"
LABEL_POINTS = 9
DOTS_PER_INCH = 110

_PANEL = (4.6, 3.6)  # inches
_PANEL_DOTS_PER_INCH = 150


def chart(panels: int, *, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Makes a figure with panels side by side, each with a grid, for lines to be drawn in."""
    figure = Figure(figsize=(_PANEL[0] * panels, _PANEL[1]), dpi=_PANEL_DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    row = [*figure.subplots(1, panels, sharey=sharey, squeeze=False)[0]]
    for axes in row:
        axes.grid(color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[:].set_color(GRID)
        axes.tick_params(length=0, labelsize=LABEL_POINTS, labelcolor=AXIS, labelleft=True)
    return figure, row


def name_axes(axes: Axes, x: str, y: str) -> None:
    """Writes the names of the two axes of a panel."""
    axes.set_xlabel(x, fontsize=LABEL_POINTS, color=AXIS)
    axes.set_ylabel(y, fontsize=LABEL_POINTS, color=AXIS)
