"""A spectrogram, and seconds, under the attention to a sound."""

import numpy as np
from matplotlib.axes import Axes

from mt.common.backdrop import Sound
from mt.plots.style import AXIS, GRID, LABEL_POINTS

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
    below = axes.inset_axes((0, -(_HEIGHT + _GAP) / height, 1, _HEIGHT / height))
    # What is louder than a floor, as silence would take most of the shades.
    low, high = np.quantile(sound.energies, (0.05, 0.999)) if sound.energies.size else (0.0, 1.0)
    edges = (-0.5, positions - 0.5)
    below.imshow(
        sound.energies.T,
        cmap="Greys",
        vmin=low,
        vmax=max(high, low + 1e-6),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        extent=(*edges, 0, sound.energies.shape[1]),
    )
    below.set_xlim(edges)
    below.set_yticks([])
    below.spines[:].set_color(GRID)
    step = next((step for step in _STEPS if width * step >= _APART * sound.seconds), _STEPS[-1])
    times = np.arange(0, sound.seconds + step / 100, step)
    below.set_xticks(times / sound.seconds * positions - 0.5, [f"{time:g}" for time in times.round(2)])
    below.tick_params(length=2, color=AXIS, labelcolor=AXIS, labelsize=LABEL_POINTS)
    below.set_xlabel("seconds", fontsize=LABEL_POINTS, color=AXIS, labelpad=2)
    for boundary in np.asarray(sound.boundaries) / sound.seconds * positions - 0.5:
        for part in (axes, below):
            part.axvline(boundary, color=AXIS, linewidth=0.5, alpha=0.6)
