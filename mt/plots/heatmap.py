"""Spectrograms, the heatmap of an alignment over text or a sound, attention over a picture, and backdrops for a page.
Figures are made as objects, without pyplot and global settings."""

import io
import math
import textwrap
import unicodedata
from base64 import b64encode
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from matplotlib import image as pixel_files, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from mt.common.backdrop import Backdrop, Picture, PlotFormat, Sound
from mt.errors import UserError
from mt.plots.style import (
    AXIS,
    DOTS_PER_INCH,
    GRID,
    INK,
    LABEL_POINTS,
    MARK,
    draw_gold_links,
    draw_legend,
    draw_path,
    draw_stops,
    drawable,
    font,
    shortened,
)
from mt.storage import replaced

# The spectrogram of a sound, with seconds, under the attention to it.

_HEIGHT = 1.1  # inches
_GAP = 0.06  # inches
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)  # seconds
_APART = 0.55  # inches between ticks, at least
SPECTROGRAM_HEIGHT = _HEIGHT + _GAP + 0.42
"""Inches that a spectrogram takes under a drawing, its labels included."""


def draw_spectrogram(axes: Axes, sound: Sound, positions: int, size: tuple[float, float]) -> None:
    """Draws the spectrogram of a sound under axes whose columns are the sound's positions, and its boundaries through
    both. size: width and height of the axes, in inches."""
    width, height = size
    # The spectrogram, with columns as wide as those above.
    below = axes.inset_axes((0, -(_HEIGHT + _GAP) / height, 1, _HEIGHT / height))
    low, high = shades(sound)
    # As in the heatmap above, position i goes from i - 0.5 to i + 0.5.
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
    # The smallest step between seconds whose labels have room.
    step = next((step for step in _STEPS if width * step >= _APART * sound.seconds), _STEPS[-1])
    times = np.arange(0, sound.seconds + step / 100, step)
    below.set_xticks(times / sound.seconds * positions - 0.5, [f"{time:g}" for time in times.round(2)])
    below.tick_params(length=2, color=AXIS, labelcolor=AXIS, labelsize=LABEL_POINTS)
    below.set_xlabel("seconds", fontsize=LABEL_POINTS, color=AXIS, labelpad=2)
    # Lines at the ends of spoken units, through both.
    for boundary in np.asarray(sound.boundaries) / sound.seconds * positions - 0.5:
        for panel in (axes, below):
            panel.axvline(boundary, color=AXIS, linewidth=0.5, alpha=0.6)


def shades(sound: Sound) -> tuple[float, float]:
    """Returns the energies that are drawn white and black. They leave out extremes, since silence would take most of
    the shades."""
    low, high = np.quantile(sound.energies, (0.05, 0.999)) if sound.energies.size else (0.0, 1.0)
    return float(low), float(max(high, low + 1e-6))


# The heatmap of an alignment.

# In inches. Up to 60 tokens have cells as tall as their labels; beyond 100 tokens only every n-th is labelled.
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
    backdrop: Backdrop | None = None,
) -> Figure:
    """Draws the attention of each target token (rows, downwards) to each source token (columns). Tokens and title are
    drawn literally, and shortened if they are long.

    weights: [T, S], 0 to 1. stops: [T], where a hard attention stopped, -1 if it selected nothing; stops are boxed.
    chunk_size: MoChA's w: the chunk [stop - w + 1, stop] is outlined. delays: [T], how many source tokens were read
    before each target token was written; they are drawn as a staircase, with the unread source shaded. gold: right
    links (source, target), which are outlined and compared with those in `found`. backdrop: the sound whose equal parts
    the source tokens are, drawn below in their place; or a picture, see `over_picture`.

    Raises ValueError for shapes, stops, delays or links that do not fit, and a chunk size without stops or below 1.
    """
    if isinstance(backdrop, Picture):
        return over_picture(weights, target, backdrop, stops=stops, title=title)
    sound = backdrop
    grid = np.asarray(weights, dtype=float)
    if grid.shape != (len(target), len(source)) or grid.size == 0:
        raise ValueError(f"weights {grid.shape} must be [T, S] = {(len(target), len(source))}, both at least 1")
    # The cells. A sound has many more positions than a text has words, so that its scale ends at the largest weight.
    figure, axes = _page(grid.shape)
    width, height = figure.get_size_inches()
    # Rounded up to a twentieth, so that the ends of the scale are plain numbers.
    most = max(math.ceil(20 * grid.max()) / 20, 0.05) if sound else 1
    image = axes.imshow(grid, cmap="Blues", vmin=0, vmax=most, aspect="auto", interpolation="nearest")
    # What surrounds them.
    _draw_scale(figure, axes, image, width, height)
    _label_tokens(axes, () if sound else source, target, width, height)
    if sound:
        draw_spectrogram(axes, sound, len(source), (width, height))
    heading = wrapped(title, width)
    axes.set_title(heading, loc="left", pad=10, font=font(LABEL_POINTS + 2, [heading]), parse_math=False)
    # Marks on the cells, and what they mean.
    marks = draw_stops(axes, stops, chunk_size, grid.shape) + draw_path(axes, delays, grid.shape)
    marks += draw_gold_links(axes, gold, found, grid.shape)
    draw_legend(axes, marks, SPECTROGRAM_HEIGHT / height if sound else 0.0)
    _fit_page(figure, axes, width, height)
    return figure


def _page(shape: tuple[int, ...]) -> tuple[Figure, Axes]:
    """Makes a figure for a grid of this shape, with axes that fill it."""
    cell = min(max(_USUAL_SIDE / max(shape), _SMALLEST_CELL), _LARGEST_CELL)
    height, width = (min(cell * count, _LONGEST_SIDE) for count in shape)
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    return figure, figure.add_axes((0, 0, 1, 1))


def save(figure: Figure, path: Path) -> None:
    """Writes a PNG, PDF or SVG by the ending of the file's name, or a PNG without an ending. A file is replaced only by
    a complete one."""
    ending = path.suffix.lower().removeprefix(".") or "png"
    if ending not in FORMATS:
        raise UserError(
            f"{path} ends in .{ending}, and pictures are written as .png, .pdf or .svg: choose one of these"
        )
    # Equal pictures give equal files: without the date, and without random names within an SVG.
    date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending)
    # Words stay text, which can be searched and edited, instead of outlines.
    settings: dict[Any, Any] = {"svg.hashsalt": "mt", "svg.fonttype": "none", "pdf.fonttype": 42}
    with replaced(path) as file, rc_context(settings):
        figure.savefig(file, format=ending, metadata=date)


def png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def save_with_png(figure: Figure, path: Path, plot_format: str) -> None:
    """Writes <path>.png, and beside it the figure in another format if chosen."""
    for ending in dict.fromkeys(("png", plot_format)):
        save(figure, path.with_suffix(f".{ending}"))


def _draw_scale(figure: Figure, axes: Axes, image: AxesImage, width: float, height: float) -> None:
    """Draws the colour scale of the weights on the right."""
    _, top = image.get_clim()
    bar = axes.inset_axes((1 + 0.15 / width, 0, 0.12 / width, min(1, 3 / height)))
    figure.colorbar(image, cax=bar, ticks=[0, 0.5 * top, top]).outline.set_visible(False)
    bar.tick_params(length=0, labelsize=LABEL_POINTS)


def _label_tokens(axes: Axes, source: Sequence[str], target: Sequence[str], width: float, height: float) -> None:
    """Writes as many tokens along the top and the left side as have room. Lines between cells are drawn if all tokens
    are labelled."""
    axes.xaxis.tick_top()
    # Only every n-th token is labelled where labels would overlap.
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
    """Grows the page to hold all labels; the cells keep their size."""
    # In inches, as the box of what is drawn, whose lower left corner is negative where labels stand out.
    margin = 0.12
    drawn = figure.get_tightbbox()
    page_width = drawn.width + 2 * margin
    page_height = drawn.height + 2 * margin
    figure.set_size_inches(page_width, page_height)
    left = margin - drawn.x0
    bottom = margin - drawn.y0
    axes.set_position((left / page_width, bottom / page_height, width / page_width, height / page_height))


def wrapped(title: str, width: float) -> str:
    """Breaks a title into lines about as wide as the drawing. width: in inches."""
    text = drawable(title)
    letters = round(max(width, _USUAL_SIDE) * _TITLE_CHARACTERS)
    # Chinese and Japanese characters are twice as wide.
    if any(unicodedata.east_asian_width(character) in "WF" for character in text):
        letters //= 2
    return textwrap.fill(text, letters, max_lines=_TITLE_LINES, placeholder=" …")


# Attention over a picture, word by word (Xu et al. 2015, figures 2, 3 and 5).

# Inches.
_PANEL = 1.45
_PANEL_GAP = 0.12
_MARGIN = 0.12
_LINE = 0.2
_COLUMNS = 6  # panels in a row
_MOST_PANELS = 60  # each of a word
_PANEL_PIXELS = 256  # small pictures are enlarged until their longer side has more than half of these
_SPREAD = 0.55  # standard deviation of the light of a cell of the grid, in cells
_FULL_LIGHT = 3.0  # times the mean weight, at least, so that even attention stays even
_DARK = 0.4  # brightness of the parts that get no attention
_SPACE = "▁"


def over_picture(
    weights: ArrayLike,
    target: Sequence[str],
    picture: Picture,
    *,
    stops: Sequence[int] | None = None,
    title: str = "",
) -> Figure:
    """Draws the picture, and a panel for each target token in which attended parts are in colour and the rest is grey.

    The light of a panel is proportional to the weights, smoothed over neighbours. The largest weight has full light if
    it is at least three times the mean over the grid. Only the first 60 tokens are drawn, and the title says so.
    weights: [T, rows * columns of the grid]. stops: [T], the cell that a hard attention chose, -1 for none. Raises
    ValueError if they do not fit.
    """
    table = np.asarray(weights, dtype=float)
    (rows, columns) = picture.grid
    if table.shape != (len(target), rows * columns) or table.size == 0:
        raise ValueError(
            f"weights {table.shape} must be [T, places] = {(len(target), rows * columns)}, both at least 1"
        )
    if stops is not None and not (len(stops) == len(target) and all(-1 <= stop < rows * columns for stop in stops)):
        raise ValueError(f"stops must be {len(target)} places within -1..{rows * columns - 1}")
    # The first panel is the picture; each further panel is lit by a token's attention.
    if len(target) > _MOST_PANELS:
        title = f"{title} (the first {_MOST_PANELS} of {len(target)} tokens)"
    names = [shortened(token.removeprefix(_SPACE) or token, LABEL_CHARACTERS) for token in target[:_MOST_PANELS]]
    pixels = _enlarged(picture.pixels)
    figure, panels = _page_of_panels(len(names) + 1, pixels.shape[0] / pixels.shape[1], title)
    face = font(LABEL_POINTS, names)
    for number, (axes, name) in enumerate(zip(panels, ["", *names], strict=True)):
        image = pixels if number == 0 else _illuminated(pixels, table[number - 1].reshape(rows, columns))
        axes.imshow(image, interpolation="bilinear", extent=(0, columns, rows, 0), aspect="auto")
        axes.set_title(name, pad=3, font=face, color=INK, parse_math=False)
        if number and stops is not None and stops[number - 1] >= 0:
            row, column = divmod(int(stops[number - 1]), columns)
            axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=MARK, linewidth=1.4, clip_on=False))
    return figure


def _page_of_panels(count: int, ratio: float, title: str) -> tuple[Figure, list[Axes]]:
    """Makes a page of panels, row by row, below the title. ratio: of a panel's height to its width."""
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    panel_width = _PANEL * min(1.0, 1 / ratio)
    panel_height = _PANEL * min(1.0, ratio)
    # The page is as wide as a row of panels, and as high as the title and all rows.
    width = 2 * _MARGIN + columns * (panel_width + _PANEL_GAP) - _PANEL_GAP
    heading = wrapped(title, width)
    lines = heading.count("\n") + 1 if heading else 0
    above = _MARGIN + lines * _LINE
    height = above + rows * (panel_height + _LINE + _PANEL_GAP) + _MARGIN - _PANEL_GAP
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    face = font(LABEL_POINTS + 2, [heading])
    figure.text(_MARGIN / width, 1 - _MARGIN / height, heading, va="top", font=face, color=INK, parse_math=False)
    # Panels are placed from the top, in shares of the page.
    panels = []
    for number in range(count):
        row, column = divmod(number, columns)
        left = _MARGIN + column * (panel_width + _PANEL_GAP)
        bottom = above + row * (panel_height + _LINE + _PANEL_GAP) + _LINE + panel_height
        place = (left / width, 1 - bottom / height, panel_width / width, panel_height / height)
        panels.append(figure.add_axes(place))
        panels[-1].set_axis_off()
    return figure, panels


def _enlarged(pixels: np.ndarray) -> np.ndarray:
    """Returns pixels [height, width, 3] from 0 to 1. Small pictures are enlarged, so that light can be smooth."""
    times = max(1, _PANEL_PIXELS // max(pixels.shape[:2]))
    return np.repeat(np.repeat(pixels, times, 0), times, 1) / 255


def _illuminated(pixels: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Returns the pixels [height, width, 3] lit by weights [rows, columns of the grid]."""
    # Not strict, since pixels have a third dimension, their colours.
    vertical, horizontal = (_spread(size, cells) for size, cells in zip(pixels.shape, grid.shape, strict=False))
    # [height, rows] @ [rows, columns] @ [columns, width].
    smooth = vertical @ grid @ horizontal.T
    # Lit parts keep their colours, others become dark and grey.
    full = max(float(smooth.max()), _FULL_LIGHT * grid.mean(), np.finfo(float).tiny)
    light = (smooth / full).clip(0, 1)[..., None]
    grey = pixels @ (0.299, 0.587, 0.114)  # ITU-R BT.601
    return light * pixels + (1 - light) * _DARK * grey[..., None]


def _spread(size: int, cells: int) -> np.ndarray:
    """Returns the light that each pixel of a side gets from each cell, [size, cells]; rows sum to 1."""
    # From the middle of each pixel to that of each cell, in cells; light falls off as a normal curve.
    distances = (np.arange(size) + 0.5)[:, None] / size * cells - (np.arange(cells) + 0.5)
    light = np.exp(-0.5 * (distances / _SPREAD) ** 2)
    return light / light.sum(1, keepdims=True)


# Backdrops for a page.

_QUALITY = 85
"""The quality of JPEGs, which take a tenth of the bytes of a PNG."""


def embedded(backdrop: Backdrop) -> str:
    """Returns a picture, or the spectrogram of a sound in grey, as a `data:` URL of an image."""
    content = io.BytesIO()
    if isinstance(backdrop, Picture):
        pixel_files.imsave(content, backdrop.pixels, format="jpg", pil_kwargs={"quality": _QUALITY})
        kind = "jpeg"
    else:
        low, high = shades(backdrop)
        # A picture needs a pixel, also where a sound is too short for a spectrum.
        energies = backdrop.energies if backdrop.energies.size else np.zeros((1, 1))
        # Low frequencies below.
        pixel_files.imsave(content, energies.T, format="png", origin="lower", cmap="Greys", vmin=low, vmax=high)
        kind = "png"
    return f"data:image/{kind};base64,{b64encode(content.getvalue()).decode()}"
