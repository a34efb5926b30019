"""Captions of a scene, by a small grammar."""

from random import Random

from data_prep.generated.scenes.scene import PLACES, Scene, Thing

_PREPOSITIONS = {"left": "on", "right": "on", "top": "at", "bottom": "at"}
_SIZES = {"large": ("large", "big"), "small": ("small", "little")}
_BESIDE = {
    "above": ("above", "over"),
    "below": ("below", "under"),
    "left": ("to the left of", "left of"),
    "right": ("to the right of", "right of"),
}


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
    size = f"{rng.choice(_SIZES[thing.size])} " if rng.random() < 0.5 else ""
    return f"a {size}{thing.colour} {thing.shape}"


def _place(thing: Thing) -> str:
    place = PLACES[thing.row][thing.column]
    return f"{_PREPOSITIONS.get(place, 'in')} the {place}"


def _relation(first: Thing, second: Thing, rng: Random) -> str:
    """Names where the first object is, seen from the second."""
    true = []
    if first.row != second.row:
        true.append("above" if first.row < second.row else "below")
    if first.column != second.column:
        true.append("left" if first.column < second.column else "right")
    return rng.choice(_BESIDE[rng.choice(true)])
