"""Alignment heatmaps: the one door to matplotlib."""

from mt.plots.heatmap import Figure, heatmap, save

__all__ = ["Figure", "heatmap", "save"]
