"""Drawings of attention: the one door to matplotlib."""

from mt.plots.heatmap import FORMATS, Figure, embedded, heatmap, over_picture, png, save, save_with_png

__all__ = ["FORMATS", "Figure", "embedded", "heatmap", "over_picture", "png", "save", "save_with_png"]
