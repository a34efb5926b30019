"""Attention over a picture, word by word (Xu et al. 2015, figures 2, 3 and 5)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from mt.common.backdrop import Picture
from mt.plots.fonts import font
from mt.plots.heatmap import DOTS_PER_INCH, LABEL_POINTS, shown, wrapped
from mt.plots.marks import MARK

# Inches.
_PANEL = 1.45
_GAP = 0.12
_MARGIN = 0.12
_LINE = 0.2
_COLUMNS = 6  # panels in a row
_PANELS = 60  # at most, each of a word
_FINEST = 256  # pixels of the longer side in a panel
_SPREAD = 0.55  # standard deviation of the light of a place, in places
_FAINT = 3.0  # times the mean weight: what is at least full light, so that even attention stays even
_DARK = 0.4  # how much is seen of what is not attended to
_SPACE = "▁"
_INK = "#1f2933"


def over_picture(
    weights: ArrayLike,
    target: Sequence[str],
    picture: Picture,
    *,
    stops: Sequence[int] | None = None,
    title: str = "",
) -> Figure:
    """Draw the picture, and a panel for each target token: what the token attended to is in colour, the rest is grey.

    The light of a panel is in proportion to the weights, smoothed over neighbours; the largest weight, if it is three
    times the mean of all places or more, is full light. After 60 tokens no more are drawn, which the title says.

    Args:
        weights: [T, rows * columns of the grid], 0 to 1.
        target: [T] token strings.
        stops: [T], the place that a hard attention chose, -1 for none. It is boxed.
        title: drawn literally, above, in at most four lines.

    Raises:
        ValueError: shapes do not fit, or a stop is no place.
    """
    table = np.asarray(weights, dtype=float)
    (rows, columns) = picture.grid
    if table.shape != (len(target), rows * columns) or table.size == 0:
        raise ValueError(
            f"weights {table.shape} must be [T, places] = {(len(target), rows * columns)}, both at least 1"
        )
    if stops is not None and not (len(stops) == len(target) and all(-1 <= stop < rows * columns for stop in stops)):
        raise ValueError(f"stops must be {len(target)} places within -1..{rows * columns - 1}")
    if len(target) > _PANELS:
        title = f"{title} (the first {_PANELS} of {len(target)} tokens)"
    names = [shown(token.removeprefix(_SPACE) or token) for token in target[:_PANELS]]
    pixels = _enlarged(picture.pixels)
    figure, panels = _page(len(names) + 1, pixels.shape[0] / pixels.shape[1], title)
    face = font(LABEL_POINTS, names)
    for number, (axes, name) in enumerate(zip(panels, ["", *names], strict=True)):
        lit = pixels if number == 0 else _lit(pixels, table[number - 1].reshape(rows, columns))
        axes.imshow(lit, interpolation="bilinear", extent=(0, columns, rows, 0), aspect="auto")
        axes.set_title(name, pad=3, font=face, color=_INK, parse_math=False)
        if number and stops is not None and stops[number - 1] >= 0:
            row, column = divmod(int(stops[number - 1]), columns)
            axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=MARK, linewidth=1.4, clip_on=False))
    return figure


def _page(count: int, ratio: float, title: str) -> tuple[Figure, list[Axes]]:
    """Panels row by row, below the title. ratio: of a panel's height to its width."""
    across = min(count, _COLUMNS)
    down = -(-count // across)
    wide = _PANEL * min(1.0, 1 / ratio)
    tall = _PANEL * min(1.0, ratio)
    width = 2 * _MARGIN + across * (wide + _GAP) - _GAP
    heading = wrapped(title, width)
    lines = heading.count("\n") + 1 if heading else 0
    above = _MARGIN + lines * _LINE
    height = above + down * (tall + _LINE + _GAP) + _MARGIN - _GAP
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    face = font(LABEL_POINTS + 2, [heading])
    figure.text(_MARGIN / width, 1 - _MARGIN / height, heading, va="top", font=face, color=_INK, parse_math=False)
    panels = []
    for number in range(count):
        row, column = divmod(number, across)
        left = _MARGIN + column * (wide + _GAP)
        top = above + row * (tall + _LINE + _GAP) + _LINE
        panels.append(figure.add_axes((left / width, 1 - (top + tall) / height, wide / width, tall / height)))
        panels[-1].set_axis_off()
    return figure, panels


def _enlarged(pixels: np.ndarray) -> np.ndarray:
    """[height, width, 3] from 0 to 1, at least so fine that light falls softly."""
    times = max(1, _FINEST // max(pixels.shape[:2]))
    return np.repeat(np.repeat(pixels, times, 0), times, 1) / 255


def _lit(pixels: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The pixels in the light of the weights."""
    across, down = (_light(size, places) for size, places in zip(pixels.shape[1::-1], grid.shape[::-1], strict=True))
    smooth = down @ grid @ across.T
    full = max(float(smooth.max()), _FAINT * grid.mean(), np.finfo(float).tiny)
    light = (smooth / full).clip(0, 1)[..., None]
    grey = pixels @ (0.299, 0.587, 0.114)  # ITU-R BT.601
    return light * pixels + (1 - light) * _DARK * grey[..., None]


def _light(size: int, places: int) -> np.ndarray:
    """[size, places]: how much of each place's light falls on each pixel of a side; rows sum to 1."""
    distances = (np.arange(size) + 0.5)[:, None] / size * places - (np.arange(places) + 0.5)
    found = np.exp(-0.5 * (distances / _SPREAD) ** 2)
    return found / found.sum(1, keepdims=True)
