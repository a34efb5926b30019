"""The pictures and sounds that attention is drawn over, which fields make and plots draw; and the formats of
drawings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, divided into cells, which are the positions of attention, row by row from the upper left."""

    pixels: np.ndarray
    """[height, width, 3] uint8: red, green, blue."""
    grid: tuple[int, int]
    """Rows and columns of cells, which cover the whole picture."""


@dataclass(frozen=True, eq=False)
class Sound:
    """A sound, divided into positions of equal length."""

    energies: np.ndarray
    """[frames, bands], any logarithmic unit, low bands first."""
    seconds: float
    """The length of the sound."""
    boundaries: Sequence[float] = ()
    """The seconds at which its words or letters end, where that is known."""


Backdrop = Picture | Sound

PlotFormat = Literal["png", "pdf", "svg"]
"""The format of a drawing."""
