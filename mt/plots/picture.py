"""Attention over a picture, word by word (Xu et al. 2015, figures 2, 3 and 5). The page of panels comes first, then how
a panel is lit, and last a backdrop for a page in the browser."""

import io
from base64 import b64encode
from collections.abc import Sequence

import numpy as np
from matplotlib import image as pixel_files
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from mt.common.backdrop import Backdrop, Picture
from mt.plots.heatmap import LABEL_CHARACTERS, shades, wrapped
from mt.plots.style import DOTS_PER_INCH, INK, LABEL_POINTS, MARK, font, shortened

# Inches.
_PANEL = 1.45
_GAP = 0.12
_MARGIN = 0.12
_LINE = 0.2
_COLUMNS = 6  # panels in a row
_MOST_PANELS = 60  # each of a word
_PANEL_PIXELS = 256  # of the longer side, at least half of it
_SPREAD = 0.55  # standard deviation of the light of a cell of the grid, in cells
_FULL_LIGHT = 3.0  # times the mean weight, at least, so that even attention stays even
_DARK = 0.4  # brightness of what is not attended to
_SPACE = "▁"


def over_picture(
    weights: ArrayLike,
    target: Sequence[str],
    picture: Picture,
    *,
    stops: Sequence[int] | None = None,
    title: str = "",
) -> Figure:
    """Draws the picture, and a panel for each target token: what the token attended to is in colour, the rest is grey.

    The light of a panel is in proportion to the weights, smoothed over neighbours. The largest weight, if it is three
    times the mean over the grid or more, is full light. After 60 tokens no more are drawn, which the title says.

    Args:
        weights: [T, rows * columns of the grid], 0 to 1.
        target: [T] token strings.
        stops: [T], the cell of the grid that a hard attention chose, -1 for none. It is boxed.
        title: drawn literally, above, in at most four lines.

    Raises:
        ValueError: shapes do not fit, or a stop lies outside the grid.
    """
    table = np.asarray(weights, dtype=float)
    (rows, columns) = picture.grid
    if table.shape != (len(target), rows * columns) or table.size == 0:
        raise ValueError(
            f"weights {table.shape} must be [T, places] = {(len(target), rows * columns)}, both at least 1"
        )
    if stops is not None and not (len(stops) == len(target) and all(-1 <= stop < rows * columns for stop in stops)):
        raise ValueError(f"stops must be {len(target)} places within -1..{rows * columns - 1}")
    # The first panel is the picture; each further one has the light of a token.
    if len(target) > _MOST_PANELS:
        title = f"{title} (the first {_MOST_PANELS} of {len(target)} tokens)"
    names = [shortened(token.removeprefix(_SPACE) or token, LABEL_CHARACTERS) for token in target[:_MOST_PANELS]]
    pixels = _enlarged(picture.pixels)
    figure, panels = _page(len(names) + 1, pixels.shape[0] / pixels.shape[1], title)
    face = font(LABEL_POINTS, names)
    for number, (axes, name) in enumerate(zip(panels, ["", *names], strict=True)):
        image = pixels if number == 0 else _illuminated(pixels, table[number - 1].reshape(rows, columns))
        axes.imshow(image, interpolation="bilinear", extent=(0, columns, rows, 0), aspect="auto")
        axes.set_title(name, pad=3, font=face, color=INK, parse_math=False)
        if number and stops is not None and stops[number - 1] >= 0:
            row, column = divmod(int(stops[number - 1]), columns)
            axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=MARK, linewidth=1.4, clip_on=False))
    return figure


def _page(count: int, ratio: float, title: str) -> tuple[Figure, list[Axes]]:
    """Makes a page of panels, row by row, below the title. ratio: of a panel's height to its width."""
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    panel_width = _PANEL * min(1.0, 1 / ratio)
    panel_height = _PANEL * min(1.0, ratio)
    # The page is as wide as a row of panels, and as high as the title and all rows.
    width = 2 * _MARGIN + columns * (panel_width + _GAP) - _GAP
    heading = wrapped(title, width)
    lines = heading.count("\n") + 1 if heading else 0
    above = _MARGIN + lines * _LINE
    height = above + rows * (panel_height + _LINE + _GAP) + _MARGIN - _GAP
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    face = font(LABEL_POINTS + 2, [heading])
    figure.text(_MARGIN / width, 1 - _MARGIN / height, heading, va="top", font=face, color=INK, parse_math=False)
    # Panels are placed from the top, in shares of the page.
    panels = []
    for number in range(count):
        row, column = divmod(number, columns)
        left = _MARGIN + column * (panel_width + _GAP)
        bottom = above + row * (panel_height + _LINE + _GAP) + _LINE + panel_height
        place = (left / width, 1 - bottom / height, panel_width / width, panel_height / height)
        panels.append(figure.add_axes(place))
        panels[-1].set_axis_off()
    return figure, panels


def _enlarged(pixels: np.ndarray) -> np.ndarray:
    """Returns [height, width, 3] from 0 to 1, enlarged where it is too small for soft light."""
    times = max(1, _PANEL_PIXELS // max(pixels.shape[:2]))
    return np.repeat(np.repeat(pixels, times, 0), times, 1) / 255


def _illuminated(pixels: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Returns the pixels in the light of the weights, [rows, columns of the grid]."""
    vertical, horizontal = (_spread(size, cells) for size, cells in zip(pixels.shape, grid.shape, strict=False))
    smooth = vertical @ grid @ horizontal.T
    full = max(float(smooth.max()), _FULL_LIGHT * grid.mean(), np.finfo(float).tiny)
    light = (smooth / full).clip(0, 1)[..., None]
    grey = pixels @ (0.299, 0.587, 0.114)  # ITU-R BT.601
    return light * pixels + (1 - light) * _DARK * grey[..., None]


def _spread(size: int, cells: int) -> np.ndarray:
    """Returns [size, cells]: how much of each cell's light falls on each pixel of a side; rows sum to 1."""
    distances = (np.arange(size) + 0.5)[:, None] / size * cells - (np.arange(cells) + 0.5)
    light = np.exp(-0.5 * (distances / _SPREAD) ** 2)
    return light / light.sum(1, keepdims=True)


# A backdrop for a page.

_QUALITY = 85
"""Of a JPEG: a tenth of the bytes of a PNG."""


def embedded(backdrop: Backdrop) -> str:
    """Returns the pixels of a picture, or the energies of a sound as shades of grey, as the address of an image."""
    content = io.BytesIO()
    if isinstance(backdrop, Picture):
        pixel_files.imsave(content, backdrop.pixels, format="jpg", pil_kwargs={"quality": _QUALITY})
        kind = "jpeg"
    else:
        low, high = shades(backdrop)
        energies = backdrop.energies if backdrop.energies.size else np.zeros((1, 1))
        pixel_files.imsave(content, energies.T, format="png", origin="lower", cmap="Greys", vmin=low, vmax=high)
        kind = "png"
    return f"data:image/{kind};base64,{b64encode(content.getvalue()).decode()}"
