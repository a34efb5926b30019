"""The colours of lines in every drawing."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1f2933")
"""Okabe & Ito's colours, told apart by the colour-blind; without yellow, which white paper swallows."""


def colour(number: int) -> str:
    """Returns the colour of the line of this number, from 0."""
    return COLOURS[number % len(COLOURS)]
