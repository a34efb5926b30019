"""Drawings of attention and of curves. matplotlib is used only in this package."""

from mt.plots.heatmap import FORMATS, Figure, embedded, heatmap, over_picture, png, save, save_with_png
