"""The words for what is in a picture of `dataset=scenes`: one list for what writes captions and what judges them."""

SHAPES = ("circle", "square", "triangle", "star", "cross")
COLOURS = ("red", "green", "blue", "yellow", "purple", "black")
SIZES = {"large": ("large", "big"), "small": ("small", "little")}
"""What captions call the two sizes."""
PHRASES = (
    ("in the top left", "at the top", "in the top right"),
    ("on the left", "in the middle", "on the right"),
    ("in the bottom left", "at the bottom", "in the bottom right"),
)
"""What they call the ninths of a picture, by row and column. Each has at most one object."""
BESIDE = {
    (-1, 0): ("above", "over"),
    (1, 0): ("below", "under"),
    (0, -1): ("to the left of", "left of"),
    (0, 1): ("to the right of", "right of"),
}
"""What they call a step in rows and columns, from the second object to the first."""
