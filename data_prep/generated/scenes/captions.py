"""Captions of a scene: a small grammar writes them."""

from random import Random

from data_prep.generated.scenes.scene import Scene, Thing
from mt.common.scenes import BESIDE, PHRASES, SIZES


def described(scene: Scene) -> str:
    """Describes every object with its size and its place."""
    return " and ".join(f"a {thing.size} {thing.colour} {thing.shape} {_place(thing)}" for thing in scene.things)


def written(scene: Scene, rng: Random) -> str:
    """Draws one of the captions of the scene, which name every object."""
    things = rng.sample(scene.things, len(scene.things))
    clauses: list[str] = []
    while things:
        first = things.pop()
        if things and rng.random() < 0.6:
            second = things.pop()
            verb = "is " if rng.random() < 0.3 else ""
            clauses.append(f"{_named(first, rng)} {verb}{_relation(first, second, rng)} {_named(second, rng)}")
        elif rng.random() < 0.3:
            clauses.append(f"{_place(first)} is {_named(first, rng)}")
        else:
            clauses.append(f"{_named(first, rng)} {_place(first)}")
    opening = "there is " if clauses[0].startswith("a ") and " is " not in clauses[0] and rng.random() < 0.3 else ""
    return opening + " and ".join(clauses)


def _named(thing: Thing, rng: Random) -> str:
    size = f"{rng.choice(SIZES[thing.size])} " if rng.random() < 0.5 else ""
    return f"a {size}{thing.colour} {thing.shape}"


def _place(thing: Thing) -> str:
    return PHRASES[thing.row][thing.column]


def _relation(first: Thing, second: Thing, rng: Random) -> str:
    """Names where the first object is, seen from the second."""
    true = []
    if first.row != second.row:
        true.append((-1, 0) if first.row < second.row else (1, 0))
    if first.column != second.column:
        true.append((0, -1) if first.column < second.column else (0, 1))
    return rng.choice(BESIDE[rng.choice(true)])
