"""What attention is drawn on where that is no table of words, which fields know and plots draw; and as what files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, eq=False)
class Picture:
    """Places of a picture, row by row from the upper left."""

    pixels: np.ndarray
    """[height, width, 3] uint8: red, green, blue."""
    grid: tuple[int, int]
    """Rows and columns of places, which cover the whole picture."""


@dataclass(frozen=True, eq=False)
class Sound:
    """Places of a sound, of equal length."""

    energies: np.ndarray
    """[frames, bands], any logarithmic unit, low bands first."""
    seconds: float
    """How long it is."""
    boundaries: Sequence[float] = ()
    """Seconds at which its words or letters end, where that is known."""


Backdrop = Picture | Sound

PlotFormat = Literal["png", "pdf", "svg"]
"""What drawings are written as."""
