"""Drawings of attention: the one door to matplotlib."""

from collections.abc import Collection, Sequence

from numpy.typing import ArrayLike

from mt.common.backdrop import Backdrop, Picture
from mt.plots.heatmap import FORMATS, Figure, heatmap, png, save, save_with_png
from mt.plots.picture import embedded, over_picture

__all__ = ["FORMATS", "Figure", "draw", "embedded", "heatmap", "over_picture", "png", "save", "save_with_png"]


def draw(
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
    """Draws attention over its source: see `over_picture` for a picture, `heatmap` for all others."""
    if isinstance(backdrop, Picture):
        return over_picture(weights, target, backdrop, stops=stops, title=title)
    return heatmap(
        weights,
        source,
        target,
        stops=stops,
        chunk_size=chunk_size,
        delays=delays,
        gold=gold,
        found=found,
        title=title,
        sound=backdrop,
    )
