"""Lines can be told apart, also by the colour-blind."""

from itertools import combinations

import numpy as np
import pytest

from mt.common.palette import COLOURS, colour, marker

# sRGB to the tristimulus values of CIE 1931 with the white of D65 (IEC 61966-2-1).
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
# Linear RGB as full protanopia, deuteranopia and tritanopia see it (Machado et al. 2009, table 1).
SIGHT = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip


def lab(hexadecimal: str, sight: str) -> np.ndarray:
    """The colour in CIE 1976 L*a*b*."""
    value = np.array([int(hexadecimal[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ np.clip(SIGHT[sight] @ linear, 0, 1) / TO_XYZ.sum(1)
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest(colours, sight: str) -> float:
    return min(float(np.linalg.norm(lab(a, sight) - lab(b, sight))) for a, b in combinations(colours, 2))


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_are_apart_the_first_ones_most(sight: str) -> None:
    assert nearest(COLOURS[:3], sight) > 50
    assert nearest(COLOURS[:4], sight) > 24
    assert nearest(COLOURS, sight) > (25 if sight == "usual" else 15)


def test_lines_beyond_the_colours_have_other_marks() -> None:
    assert len({(colour(number), marker(number)) for number in range(42)}) == 42
