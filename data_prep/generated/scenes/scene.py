"""What is in a picture."""

from random import Random
from typing import NamedTuple, Self

from mt.common.scenes import COLOURS, SHAPES

RADII = {"large": (12, 13), "small": (8, 9)}
"""The least and the largest radius of each size, in percent of the picture's side."""
_CENTRES = (18, 50, 82)
_JITTER = 3


class Thing(NamedTuple):
    """An object, whose box is in percent of the picture's side."""

    size: str
    colour: str
    shape: str
    left: int
    top: int
    right: int
    bottom: int

    def __str__(self) -> str:
        return f"{self.size} {self.colour} {self.shape} {self.left},{self.top},{self.right},{self.bottom}"

    @property
    def row(self) -> int:
        """Returns the row, from 0, of the ninth that its centre lies in."""
        return (self.top + self.bottom) * 3 // 200

    @property
    def column(self) -> int:
        """Returns the column, likewise."""
        return (self.left + self.right) * 3 // 200


class Scene(NamedTuple):
    things: tuple[Thing, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.things))

    @classmethod
    def of(cls, text: str) -> Self:
        """Parses what `str` gives."""
        things = []
        for part in text.split("; "):
            size, colour, shape, box = part.split()
            left, top, right, bottom = map(int, box.split(","))
            things.append(Thing(size, colour, shape, left, top, right, bottom))
        return cls(tuple(things))


def draw_scene(rng: Random) -> Scene:
    """Draws one to three objects that differ in colour or shape, in different ninths."""
    looks: set[tuple[str, str]] = set()
    count = rng.choice((1, 2, 2, 3, 3))
    places = rng.sample([(row, column) for row in range(3) for column in range(3)], count)
    things = []
    for row, column in places:
        while (look := (rng.choice(COLOURS), rng.choice(SHAPES))) in looks:
            pass
        looks.add(look)
        size = rng.choice(tuple(RADII))
        radius = rng.randint(*RADII[size])
        x, y = (_CENTRES[place] + rng.randint(-_JITTER, _JITTER) for place in (column, row))
        things.append(Thing(size, *look, x - radius, y - radius, x + radius, y + radius))
    return Scene(tuple(things))
