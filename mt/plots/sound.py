"""A spectrogram, and seconds, under the attention to a sound."""

import numpy as np
from matplotlib.axes import Axes

from mt.common.backdrop import Sound

_TALL = 1.1  # inches
_GAP = 0.06  # inches
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)  # seconds
_APART = 0.55  # inches between ticks, at least
_INK = "#52606d"
_LINE = "#e4e8ee"
_BOUNDARY = "#52606d"
BELOW = _TALL + _GAP + 0.42
"""Inches that it takes under a drawing, its labels included."""


def spectrogram(axes: Axes, sound: Sound, places: int, size: tuple[float, float], points: float) -> None:
    """Draw the energies of a sound under axes whose columns are its places, and its boundaries through both.

    size: of the axes, width and height in inches. points: of the labels.
    """
    wide, tall = size
    below = axes.inset_axes((0, -(_TALL + _GAP) / tall, 1, _TALL / tall))
    # What is louder than a floor, as silence would take most of the shades.
    low, high = np.quantile(sound.energies, (0.05, 0.999)) if sound.energies.size else (0.0, 1.0)
    edges = (-0.5, places - 0.5)
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
    below.spines[:].set_color(_LINE)
    step = next((step for step in _STEPS if wide * step >= _APART * sound.seconds), _STEPS[-1])
    times = np.arange(0, sound.seconds + step / 100, step)
    below.set_xticks(times / sound.seconds * places - 0.5, [f"{time:g}" for time in times.round(2)])
    below.tick_params(length=2, color=_INK, labelcolor=_INK, labelsize=points)
    below.set_xlabel("seconds", fontsize=points, color=_INK, labelpad=2)
    for at in np.asarray(sound.boundaries) / sound.seconds * places - 0.5:
        for part in (axes, below):
            part.axvline(at, color=_BOUNDARY, linewidth=0.5, alpha=0.6)
