"""The colours and marks of lines in every drawing."""

COLOURS = ("#0072b2", "#d55e00", "#000000", "#56b4e9", "#009e73", "#cc79a7", "#e69f00")
"""Okabe & Ito's colours, told apart by the colour-blind; without yellow, which white paper swallows. The first ones are
the furthest apart."""
MARKERS = {"o": "●", "s": "■", "D": "◆", "^": "▲", "v": "▼", "P": "✚"}
"""The marks of points, by matplotlib's names. Six marks and seven colours: only the 43rd line looks like the first."""


def colour(number: int) -> str:
    """Returns the colour of the line of this number, from 0."""
    return COLOURS[number % len(COLOURS)]


def marker(number: int) -> str:
    """Returns the name of the mark for the points of the line of this number."""
    return [*MARKERS][number % len(MARKERS)]
