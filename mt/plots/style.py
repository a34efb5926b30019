"""The style of all drawings, fonts for as many scripts as possible, and marks on an alignment."""

import functools
import sys
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from importlib.metadata import distribution

import numpy as np
import regex
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle

INK = "#1f2933"
AXIS = "#52606d"
GRID = "#e4e8ee"
LABEL_POINTS = 9
DOTS_PER_INCH = 110

_PANEL = (4.6, 3.6)  # inches
_PANEL_DOTS_PER_INCH = 150


def chart(panels: int, *, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Makes a figure with panels side by side, each with a grid, for line charts."""
    figure = Figure(figsize=(_PANEL[0] * panels, _PANEL[1]), dpi=_PANEL_DOTS_PER_INCH, layout="constrained")
    all_axes = [*figure.subplots(1, panels, sharey=sharey, squeeze=False)[0]]
    for axes in all_axes:
        axes.grid(color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[:].set_color(GRID)
        axes.tick_params(length=0, labelsize=LABEL_POINTS, labelcolor=AXIS, labelleft=True)
    return figure, all_axes


def name_axes(axes: Axes, x: str, y: str) -> None:
    """Writes the names of the two axes of a panel."""
    axes.set_xlabel(x, fontsize=LABEL_POINTS, color=AXIS)
    axes.set_ylabel(y, fontsize=LABEL_POINTS, color=AXIS)


# Fonts: the bundled ones, then installed ones for the characters that these lack.

SQUARE = "□"
"""Drawn for a character that no font has."""

# Fonts that have a box for every character, and would hide that a glyph is missing.
_PLACEHOLDERS = (".", "last resort", "adobe blank")
_warned: set[str] = set()


def characters(text: str) -> list[str]:
    """Cuts a text into characters as a reader sees them (extended grapheme clusters)."""
    return regex.findall(r"\X", unicodedata.normalize("NFC", text))


def drawable(text: str) -> str:
    """Replaces characters that no font has by squares, and drops combining marks that no font has. Prints one warning
    for each script without a font."""
    return "".join(
        "".join(code for code in cluster if family_of(code) or unicodedata.category(code)[0] != "M")
        if family_of(cluster[0])
        else _missing(cluster[0])
        for cluster in characters(text)
    )


def shortened(text: str, limit: int) -> str:
    """Returns a drawable text of at most `limit` characters; a longer text ends in an ellipsis."""
    drawn = characters(drawable(text))
    return "".join(drawn if len(drawn) <= limit else [*drawn[: limit - 1], "…"])


def font(points: float, texts: Iterable[str]) -> FontProperties:
    """Returns a font with the fallbacks that these `drawable` texts need. points: its size."""
    needed = {family_of(code) for text in texts for code in text}
    others = sorted(family for family in needed if family and family not in _bundled())
    return FontProperties(family=[*_bundled(), *others], size=points)


@functools.cache
def family_of(character: str) -> str | None:
    """Returns the first family that has a glyph for a character; None if there is none."""
    if not character.isprintable():
        return None
    for families in (_bundled, _installed):  # installed fonts are searched only if the bundled ones lack the glyph
        for family in families():
            if ord(character) in _charmap(family):
                return family
    return None


@functools.cache
def _bundled() -> tuple[str, ...]:
    # matplotlib-fontja brings a Japanese font. It is located, since importing it would change matplotlib's settings.
    japanese = str(distribution("matplotlib-fontja").locate_file("matplotlib_fontja/fonts/ipaexg.ttf"))
    font_manager.fontManager.addfont(japanese)
    return "DejaVu Sans", font_manager.get_font(japanese).family_name


@functools.cache
def _installed() -> tuple[str, ...]:
    """Returns the installed families, those for running text first."""
    # Only families with a regular face: matplotlib would log that others have none.
    entries = (entry for entry in font_manager.fontManager.ttflist if (entry.style, entry.weight) == ("normal", 400))
    names = {entry.name for entry in entries if not entry.name.lower().startswith(_PLACEHOLDERS)} - set(_bundled())
    # Simplified Chinese comes first among fonts of a kind, since the bundled Japanese font lacks its characters.
    return tuple(sorted(names, key=lambda n: ("Sans" not in n, "Mono" in n, "Noto" not in n, not n.endswith(" SC"), n)))


@functools.cache
def _charmap(family: str) -> frozenset[int]:
    """Returns the code points that a family can draw; empty if its file cannot be used, as coloured bitmaps cannot."""
    try:
        face = font_manager.get_font(font_manager.findfont(FontProperties(family=family), fallback_to_default=False))
        return frozenset(face.get_charmap()) if face.scalable else frozenset()
    except (OSError, RuntimeError, ValueError):
        return frozenset()


def _missing(character: str) -> str:
    script = _script(character)
    if script and script not in _warned:
        _warned.add(script)
        print(
            f"warning: no installed font has {script}, so that heatmaps show {SQUARE} in their place: install one, for "
            "example of the Noto family",
            file=sys.stderr,
        )
    return SQUARE


def _script(character: str) -> str | None:
    kind = unicodedata.category(character)[0]
    name = unicodedata.name(character, "")
    if kind == "S":
        return "some of the symbols"
    script = name.partition(" ")[0]
    return f"some {script if script == 'CJK' else script.capitalize()} characters" if kind in "LMN" and name else None


# Marks on an alignment: the stops of a hard attention, reads and writes, and gold links.

MARK = "#e6550d"
_UNREAD = "#1f293312"
_GOLD = "#e69f00"
_KINDS = {"hit": ("o", "#009e73"), "miss": ("X", "#d55e00"), "false link": ("^", "#cc79a7")}
"""The shapes and colours of links; the colours are of Okabe and Ito's palette."""


def draw_stops(axes: Axes, stops: Sequence[int] | None, chunk_size: int | None, shape: tuple[int, int]) -> list[Artist]:
    """Draws a box around each stop, and a thin one around the chunk that ends there; returns the legend's entries."""
    # Stops must lie within the source.
    if stops is None:
        if chunk_size is not None:
            raise ValueError("a chunk needs the stop that it ends at")
        return []
    steps, length = shape
    ends = [int(stop) for stop in stops]
    if (
        len(ends) != steps
        or not all(-1 <= stop < length for stop in ends)
        or (chunk_size is not None and chunk_size < 1)
    ):
        raise ValueError(f"stops must be {steps} positions within -1..{length - 1}, and a chunk size at least 1")
    # Boxes of one cell, and of a chunk.
    chosen = [(row, stop) for row, stop in enumerate(ends) if stop >= 0]
    marks = [("stop", 1.6, 1)]
    if chunk_size is not None and chunk_size > 1:
        marks.append((f"chunk of {chunk_size}", 0.8, chunk_size))
    entries: list[Artist] = []
    for name, line, span in marks:
        lefts = [(row, stop, max(0, stop - span + 1)) for row, stop in chosen]
        boxes = [Rectangle((left - 0.5, row - 0.5), stop - left + 1, 1) for row, stop, left in lefts]
        # Drawn above the grid, and not clipped at the edges of the axes.
        outlines = PatchCollection(boxes, facecolor="none", edgecolor=MARK, linewidth=line, zorder=3, clip_on=False)
        axes.add_collection(outlines)
        entries.append(Patch(facecolor="none", edgecolor=MARK, linewidth=line, label=name))
    return entries


def draw_path(axes: Axes, delays: Sequence[int] | None, shape: tuple[int, int]) -> list[Artist]:
    """Draws the staircase of reads and writes, and shades the unread source; returns the legend's entries."""
    if delays is None:
        return []
    steps, length = shape
    read = [int(delay) for delay in delays]
    if len(read) != steps or sorted(read) != read or not 0 <= read[0] <= read[-1] <= length:
        raise ValueError(f"delays must be {steps} numbers that rise within 0..{length}")
    # The staircase follows the lines between cells, from above the first target token to below the last.
    # Row j is crossed at `read[j]`, from its upper edge to its lower one: the points (read[j], j) and (read[j], j + 1).
    corners = np.stack([np.repeat(read, 2), np.repeat(np.arange(steps + 1), 2)[1:-1]], axis=1) - 0.5
    unread = [*corners, (length - 0.5, steps - 0.5), (length - 0.5, -0.5)]
    axes.add_patch(Polygon(unread, facecolor=_UNREAD, linewidth=0))
    xs, ys = zip((-0.5, -0.5), *corners, strict=True)
    line = Line2D(xs, ys, color=INK, linewidth=2, solid_joinstyle="miter", zorder=4, clip_on=False)
    axes.add_line(line)
    line.set_label("reads and writes")
    return [line, Patch(facecolor=_UNREAD, edgecolor=GRID, linewidth=0.8, label="not read yet")]


def draw_gold_links(
    axes: Axes,
    gold: Collection[tuple[int, int]] | None,
    found: Collection[tuple[int, int]],
    shape: tuple[int, int],
) -> list[Artist]:
    """Outlines each gold link (source, target), and marks hits, misses and false links. Returns the legend's
    entries."""
    if gold is None:
        return []
    steps, length = shape
    if not all(0 <= source < length and 0 <= target < steps for source, target in [*gold, *found]):
        raise ValueError(f"gold links must lie within {length} source and {steps} target tokens")
    # Outlines are smaller than cells, so that the boxes of stops stay visible.
    boxes = [Rectangle((source - 0.42, target - 0.42), 0.84, 0.84) for source, target in gold]
    axes.add_collection(PatchCollection(boxes, facecolor="none", edgecolor=_GOLD, linewidth=1.2, zorder=4))
    entries: list[Artist] = [Patch(facecolor="none", edgecolor=_GOLD, linewidth=1.2, label="gold link")]
    kinds = {"hit": {*gold} & {*found}, "miss": {*gold} - {*found}, "false link": {*found} - {*gold}}
    for name, links in kinds.items():
        mark, filling = _KINDS[name]
        points = Line2D(
            [source for source, _ in links],
            [target for _, target in links],
            linestyle="none",
            marker=mark,
            markersize=7,
            markerfacecolor=filling,
            markeredgecolor="white",
            markeredgewidth=0.7,
            zorder=5,
            label=name,
        )
        axes.add_line(points)
        entries.append(points)
    return entries


def draw_legend(axes: Axes, marks: Sequence[Artist], below: float) -> None:
    """Draws the legend of the marks. below: its distance under the axes, as a share of their height."""
    if marks:
        axes.legend(
            handles=marks, loc="upper left", bbox_to_anchor=(0, -below), ncols=2, frameon=False, fontsize=LABEL_POINTS
        )
