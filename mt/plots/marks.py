"""Draws marks upon an alignment: where a hard attention stopped, what had been read when, and known links."""

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle

from mt.plots.style import GRID, INK, LABEL_POINTS

MARK = "#e6550d"
_UNREAD = "#1f293312"
_GOLD = "#2ca02c"


def draw_positions(
    axes: Axes,
    stops: Sequence[int] | None,
    chunk_size: int | None,
    delays: Sequence[int] | None,
    shape: tuple[int, int],
) -> list[Artist]:
    """Draws stops and delays, where they are known; returns the entries of a legend."""
    marks: list[Artist] = []
    if stops is not None:
        marks += _draw_stops(axes, stops, chunk_size, shape)
    elif chunk_size is not None:
        raise ValueError("a chunk needs the stop that it ends at")
    if delays is not None:
        marks += _draw_path(axes, delays, shape)
    return marks


def draw_gold_links(axes: Axes, gold: Collection[tuple[int, int]] | None, shape: tuple[int, int]) -> list[Artist]:
    """Draws a circle on each (source, target) link that is known to be right; returns the entry of a legend."""
    if not gold:
        return []
    steps, length = shape
    if not all(0 <= source < length and 0 <= target < steps for source, target in gold):
        raise ValueError(f"gold links must lie within {length} source and {steps} target tokens")
    circles = Line2D(
        [source for source, _ in gold],
        [target for _, target in gold],
        linestyle="none",
        marker="o",
        markersize=7,
        markerfacecolor="none",
        color=_GOLD,
        zorder=5,
        label="gold link",
    )
    axes.add_line(circles)
    return [circles]


def draw_legend(axes: Axes, marks: Sequence[Artist], below: float) -> None:
    """Writes what the marks mean. below: how far under the axes, as a share of their height."""
    if marks:
        axes.legend(
            handles=marks, loc="upper left", bbox_to_anchor=(0, -below), ncols=2, frameon=False, fontsize=LABEL_POINTS
        )


def _draw_stops(axes: Axes, stops: Sequence[int], chunk_size: int | None, shape: tuple[int, int]) -> list[Artist]:
    """Draws a box around each stop, and a thin one around the window that ends there; returns the entries of a
    legend."""
    steps, length = shape
    ends = [int(stop) for stop in stops]
    if (
        len(ends) != steps
        or not all(-1 <= stop < length for stop in ends)
        or (chunk_size is not None and chunk_size < 1)
    ):
        raise ValueError(f"stops must be {steps} positions within -1..{length - 1}, and a chunk size at least 1")
    chosen = [(row, stop) for row, stop in enumerate(ends) if stop >= 0]
    marks = (
        [("stop", 1.6, 1)]
        if chunk_size in (None, 1)
        else [("stop", 1.6, 1), (f"chunk of {chunk_size}", 0.8, chunk_size)]
    )
    entries: list[Artist] = []
    for name, line, span in marks:
        lefts = [(row, stop, max(0, stop - span + 1)) for row, stop in chosen]
        boxes = [Rectangle((left - 0.5, row - 0.5), stop - left + 1, 1) for row, stop, left in lefts]
        # Above the lines of the grid, and whole at the edges of the axes.
        outlines = PatchCollection(boxes, facecolor="none", edgecolor=MARK, linewidth=line, zorder=3, clip_on=False)
        axes.add_collection(outlines)
        entries.append(Patch(facecolor="none", edgecolor=MARK, linewidth=line, label=name))
    return entries


def _draw_path(axes: Axes, delays: Sequence[int], shape: tuple[int, int]) -> list[Artist]:
    """Draws the staircase between what was read and what was not; returns the entries of a legend."""
    steps, length = shape
    read = [int(delay) for delay in delays]
    if len(read) != steps or sorted(read) != read or not 0 <= read[0] <= read[-1] <= length:
        raise ValueError(f"delays must be {steps} numbers that rise within 0..{length}")
    # Along the lines between cells, from above the first target token to below the last.
    corners = np.stack([np.repeat(read, 2), np.repeat(np.arange(steps + 1), 2)[1:-1]], axis=1) - 0.5
    unread = [*corners, (length - 0.5, steps - 0.5), (length - 0.5, -0.5)]
    axes.add_patch(Polygon(unread, facecolor=_UNREAD, linewidth=0))
    xs, ys = zip((-0.5, -0.5), *corners, strict=True)
    line = Line2D(xs, ys, color=INK, linewidth=2, solid_joinstyle="miter", zorder=4, clip_on=False)
    axes.add_line(line)
    line.set_label("reads and writes")
    return [line, Patch(facecolor=_UNREAD, edgecolor=GRID, linewidth=0.8, label="not read yet")]
