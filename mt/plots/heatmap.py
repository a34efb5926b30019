"""The heatmap of an alignment, over text or, with the spectrogram that comes first here, over a sound. Figures are
objects: no pyplot, no global settings."""

import io
import math
import textwrap
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike

from mt.common.backdrop import PlotFormat, Sound
from mt.errors import UserError
from mt.plots.style import (
    AXIS,
    DOTS_PER_INCH,
    GRID,
    LABEL_POINTS,
    draw_gold_links,
    draw_legend,
    draw_positions,
    drawable,
    font,
    shortened,
)
from mt.storage import replaced

# A spectrogram, and seconds, under the attention to a sound.

_HEIGHT = 1.1  # inches
_GAP = 0.06  # inches
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)  # seconds
_APART = 0.55  # inches between ticks, at least
SPECTROGRAM_HEIGHT = _HEIGHT + _GAP + 0.42
"""Inches that a spectrogram takes under a drawing, its labels included."""


def draw_spectrogram(axes: Axes, sound: Sound, positions: int, size: tuple[float, float]) -> None:
    """Draws the energies of a sound under axes whose columns are its positions, and its boundaries through both.

    size: the width and height of the axes in inches.
    """
    width, height = size
    # The energies stand below, in columns of the same width.
    below = axes.inset_axes((0, -(_HEIGHT + _GAP) / height, 1, _HEIGHT / height))
    low, high = shades(sound)
    edges = (-0.5, positions - 0.5)
    below.imshow(
        sound.energies.T,
        cmap="Greys",
        vmin=low,
        vmax=high,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        extent=(*edges, 0, sound.energies.shape[1]),
    )
    below.set_xlim(edges)
    below.set_yticks([])
    below.spines[:].set_color(GRID)
    # Seconds are marked as densely as labels have room.
    step = next((step for step in _STEPS if width * step >= _APART * sound.seconds), _STEPS[-1])
    times = np.arange(0, sound.seconds + step / 100, step)
    below.set_xticks(times / sound.seconds * positions - 0.5, [f"{time:g}" for time in times.round(2)])
    below.tick_params(length=2, color=AXIS, labelcolor=AXIS, labelsize=LABEL_POINTS)
    below.set_xlabel("seconds", fontsize=LABEL_POINTS, color=AXIS, labelpad=2)
    # What was spoken ends here, in both.
    for boundary in np.asarray(sound.boundaries) / sound.seconds * positions - 0.5:
        for panel in (axes, below):
            panel.axvline(boundary, color=AXIS, linewidth=0.5, alpha=0.6)


def shades(sound: Sound) -> tuple[float, float]:
    """Returns the energies of a sound that are white and black: silence would take most of the shades."""
    low, high = np.quantile(sound.energies, (0.05, 0.999)) if sound.energies.size else (0.0, 1.0)
    return float(low), float(max(high, low + 1e-6))


# The heatmap of an alignment.

# Sizes are in inches. Up to 60 tokens each has a cell as tall as its label; beyond 100 only every n-th is labelled.
_USUAL_SIDE = 6.0
_SMALLEST_CELL = 0.25
_LARGEST_CELL = 0.5
_LONGEST_SIDE = 15.0
_LABEL_HEIGHT = 0.15
LABEL_CHARACTERS = 24
_TITLE_CHARACTERS = 12  # in an inch
_TITLE_LINES = 4  # at most
FORMATS: tuple[PlotFormat, ...] = get_args(PlotFormat)


def heatmap(
    weights: ArrayLike,
    source: Sequence[str],
    target: Sequence[str],
    *,
    stops: Sequence[int] | None = None,
    chunk_size: int | None = None,
    delays: Sequence[int] | None = None,
    gold: Collection[tuple[int, int]] | None = None,
    found: Collection[tuple[int, int]] = (),
    title: str = "",
    sound: Sound | None = None,
) -> Figure:
    """Draws the attention of each target token (rows, downwards) to each source token (columns).

    Tokens are drawn literally, in the bundled fonts and else in the installed ones, cut after 24 characters. What no
    font has becomes a white square, and a warning on standard error names its script once.

    Args:
        weights: [T, S], 0 to 1.
        source: [S] token strings.
        target: [T] token strings.
        stops: [T], where a hard attention stopped, -1 where it selected nothing. Each stop is boxed.
        chunk_size: MoChA's chunk size w: the chunk [stop - w + 1, stop] is outlined, cut at the left edge.
        delays: [T], how many source tokens were read before each target token was written. The path of reads (to the
            right) and writes (downwards) is drawn as a staircase, and what is not read yet is shaded.
        gold: (source, target) links that are known to be right, counted from 0. Each is outlined.
        found: links to compare with gold ones: hits are green circles, misses orange crosses, others purple triangles.
        title: drawn literally, above, in at most four lines.
        sound: the sound that the source tokens are equal parts of. It is drawn below, in place of the tokens above.

    Raises ValueError for shapes, stops, delays or links that do not fit, and a chunk size without stops or below 1.
    """
    grid = np.asarray(weights, dtype=float)
    if grid.shape != (len(target), len(source)) or grid.size == 0:
        raise ValueError(f"weights {grid.shape} must be [T, S] = {(len(target), len(source))}, both at least 1")
    figure, axes = _page(grid.shape)
    width, height = figure.get_size_inches()
    most = max(math.ceil(20 * grid.max()) / 20, 0.05) if sound else 1  # a sound has many more parts than words
    image = axes.imshow(grid, cmap="Blues", vmin=0, vmax=most, aspect="auto", interpolation="nearest")
    _draw_scale(figure, axes, image, width, height)
    _label_tokens(axes, () if sound else source, target, width, height)
    if sound:
        draw_spectrogram(axes, sound, len(source), (width, height))
    _draw_title(axes, wrapped(title, width))
    marks = draw_positions(axes, stops, chunk_size, delays, grid.shape)
    marks += draw_gold_links(axes, gold, found, grid.shape)
    draw_legend(axes, marks, SPECTROGRAM_HEIGHT / height if sound else 0.0)
    _fit_page(figure, axes, width, height)
    return figure


def _page(shape: tuple[int, ...]) -> tuple[Figure, Axes]:
    """Makes a page for a grid of this shape, all of which its axes cover."""
    cell = min(max(_USUAL_SIDE / max(shape), _SMALLEST_CELL), _LARGEST_CELL)
    height, width = (min(cell * count, _LONGEST_SIDE) for count in shape)
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    return figure, figure.add_axes((0, 0, 1, 1))


def save(figure: Figure, path: Path) -> None:
    """Writes a PNG, PDF or SVG, as the ending of the file's name says, complete or not at all. Without an ending it is
    a PNG. Raises UserError for another ending."""
    ending = path.suffix.lower().removeprefix(".") or "png"
    if ending not in FORMATS:
        raise UserError(
            f"{path} ends in .{ending}, and pictures are written as .png, .pdf or .svg: choose one of these"
        )
    # The same picture is the same file: without the time, and without random numbers in the names within an SVG.
    date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending)
    # And words are text, which can be searched and edited, in place of outlines.
    settings: dict[Any, Any] = {"svg.hashsalt": "mt", "svg.fonttype": "none", "pdf.fonttype": 42}
    with replaced(path) as file, rc_context(settings):
        figure.savefig(file, format=ending, metadata=date)


def png(figure: Figure) -> bytes:
    """Returns the content of a PNG."""
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def save_with_png(figure: Figure, path: Path, plot_format: str) -> None:
    """Writes <path>.png, which the page of a comparison shows, and where another format is chosen the figure in that
    beside it."""
    for ending in dict.fromkeys(("png", plot_format)):
        save(figure, path.with_suffix(f".{ending}"))


def _draw_title(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", pad=10, font=font(LABEL_POINTS + 2, [title]), parse_math=False)


def _draw_scale(figure: Figure, axes: Axes, image: AxesImage, width: float, height: float) -> None:
    """Draws what weights the shades of blue stand for, on the right."""
    _, top = image.get_clim()
    bar = axes.inset_axes((1 + 0.15 / width, 0, 0.12 / width, min(1, 3 / height)))
    figure.colorbar(image, cax=bar, ticks=[0, 0.5 * top, top]).outline.set_visible(False)
    bar.tick_params(length=0, labelsize=LABEL_POINTS)


def _label_tokens(axes: Axes, source: Sequence[str], target: Sequence[str], width: float, height: float) -> None:
    """Writes source tokens along the top and target tokens down the left side, as many as have room, and draws lines
    between cells."""
    axes.xaxis.tick_top()
    columns = range(0, len(source), max(1, math.ceil(len(source) * _LABEL_HEIGHT / width)))
    rows = range(0, len(target), math.ceil(len(target) * _LABEL_HEIGHT / height))
    x_labels = [shortened(source[i], LABEL_CHARACTERS) for i in columns]
    y_labels = [shortened(target[j], LABEL_CHARACTERS) for j in rows]
    face = font(LABEL_POINTS, [*x_labels, *y_labels])
    axes.set_xticks(columns, x_labels, font=face, parse_math=False, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(rows, y_labels, font=face, parse_math=False)
    axes.tick_params(length=2, color=GRID)
    axes.spines[:].set_color(GRID)
    if len(columns) == len(source) and len(rows) == len(target):
        axes.set_xticks(np.arange(0.5, len(source) - 1), minor=True)
        axes.set_yticks(np.arange(0.5, len(target) - 1), minor=True)
        axes.grid(which="minor", color=GRID, linewidth=0.5)
        axes.tick_params(which="minor", length=0)


def _fit_page(figure: Figure, axes: Axes, width: float, height: float) -> None:
    """Grows the page around the finished drawing: the labels take what they need, the cells keep their size."""
    margin = 0.12
    drawn = figure.get_tightbbox()
    page_width = drawn.width + 2 * margin
    page_height = drawn.height + 2 * margin
    figure.set_size_inches(page_width, page_height)
    left = margin - drawn.x0
    bottom = margin - drawn.y0
    axes.set_position((left / page_width, bottom / page_height, width / page_width, height / page_height))


def wrapped(title: str, width: float) -> str:
    """Breaks a title into lines of about the drawing's width (in inches), because the page grows around what is on
    it."""
    text = drawable(title)
    letters = round(max(width, _USUAL_SIDE) * _TITLE_CHARACTERS)
    if any(unicodedata.east_asian_width(character) in "WF" for character in text):
        letters //= 2
    return textwrap.fill(text, letters, max_lines=_TITLE_LINES, placeholder=" …")
