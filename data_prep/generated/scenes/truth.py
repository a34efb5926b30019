"""Whether captions of `scenes` are true of their picture, and whether the right object was looked at.

Captions are parsed by a small grammar of their own, which shares its words with the one that writes them:

    caption   ["there is"] clause {"and" clause}
    clause    object ["is"] (place | relation object)  |  place "is" object
    object    "a" [size] colour shape
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from data_prep.generated.scenes.captions import BESIDE, PHRASES, SIZES
from data_prep.generated.scenes.scene import COLOURS, SHAPES, Scene

_SIZES = {word: size for size, words in SIZES.items() for word in words}
_PLACES = {phrase: (row, column) for row, phrases in enumerate(PHRASES) for column, phrase in enumerate(phrases)}
_RELATIONS = {words: step for step, phrases in BESIDE.items() for words in phrases}


@cache
def _clauses() -> tuple[re.Pattern[str], ...]:
    """Returns the patterns of clauses, compiled here, since most commands parse no captions."""
    sizes, places, relations = ("|".join(words) for words in (_SIZES, _PLACES, _RELATIONS))
    colours, shapes = ("|".join(words) for words in (COLOURS, SHAPES))
    one, other = (f"a (?:(?P<size{n}>{sizes}) )?(?P<colour{n}>{colours}) (?P<shape{n}>{shapes})" for n in (1, 2))
    return (
        re.compile(f"{one}(?: is)? (?P<place>{places})"),
        re.compile(f"{one}(?: is)? (?P<relation>{relations}) {other}"),
        re.compile(f"(?P<place>{places}) is {one}"),
    )


class Mention(NamedTuple):
    """An object as a caption has it."""

    colour: str
    shape: str
    size: str | None
    place: tuple[int, int] | None
    """Row and column of the ninth of the picture, from 0 at the top left."""
    word: int
    """Which word of the caption names it: that of its shape."""


class Statement(NamedTuple):
    """What a caption says."""

    mentions: list[Mention]
    relations: list[tuple[int, tuple[int, int], int]]
    """Two mentions each, with the step from the second to the first."""


def parse_caption(caption: str) -> Statement | None:
    """Returns what a caption says, None where it is not in the grammar."""
    text = " ".join(caption.lower().removesuffix(".").split()).removeprefix("there is ")
    offset = len(caption.split()) - len(text.split()) if text else 0
    statement = Statement([], [])
    begin = 0
    for clause in text.split(" and "):
        match = next(filter(None, (pattern.fullmatch(clause) for pattern in _clauses())), None)
        if match is None:
            return None
        groups = match.groupdict()
        for n in (1, 2) if groups.get("relation") else (1,):
            word = offset + len(text[: begin + match.start(f"shape{n}")].split())
            size = _SIZES.get(groups[f"size{n}"] or "")
            place = _PLACES.get(groups.get("place") or "")
            statement.mentions.append(Mention(groups[f"colour{n}"], groups[f"shape{n}"], size, place, word))
        if groups.get("relation"):
            last = len(statement.mentions) - 1
            statement.relations.append((last - 1, _RELATIONS[groups["relation"]], last))
        begin += len(clause) + len(" and ")
    return statement


def match_objects(statement: Statement, objects: Sequence[Mention]) -> tuple[int, ...] | None:
    """Returns which object each mention means, if the statement is true of these objects and leaves none out, else
    None.

    objects: a full description's mentions, with sizes and places.
    """
    for order in itertools.permutations(range(len(objects))):
        if len(order) == len(statement.mentions) and _holds(statement, [objects[i] for i in order]):
            return order
    return None


def _holds(statement: Statement, things: Sequence[Mention]) -> bool:
    pairs = zip(statement.mentions, things, strict=True)
    places = [thing.place or (0, 0) for thing in things]
    return all(
        (mention.colour, mention.shape) == (thing.colour, thing.shape)
        and mention.size in (None, thing.size)
        and mention.place in (None, thing.place)
        for mention, thing in pairs
    ) and all(
        any(step * (ours - theirs) > 0 for step, ours, theirs in zip(steps, places[i], places[j], strict=True))
        for i, steps, j in statement.relations
    )


def full_description(references: Sequence[str]) -> list[Mention] | None:
    """Returns the objects of the first reference that tells size and place of all, None where there is none."""
    for reference in references:
        statement = parse_caption(reference)
        if statement and all(mention.size and mention.place for mention in statement.mentions):
            return statement.mentions
    return None


def is_true(caption: str, references: Sequence[str]) -> bool:
    """Returns whether a caption is true of the picture that the references describe, and leaves none of its objects
    out. The text of a reference always is."""
    if caption in references:
        return True
    statement = parse_caption(caption)
    objects = full_description(references)
    return bool(statement and objects and match_objects(statement, objects) is not None)


def pointing(
    caption: str, weights: np.ndarray, picture: str, references: Sequence[str], grid: tuple[int, int]
) -> list[bool]:
    """Plays the pointing game (Zhang et al. 2016, "Top-down neural attention by excitation backprop").

    Returns for each word of a true caption that names an object whether the attention of that step is largest on the
    object's box.

    weights: [words of the caption, rows * columns of the grid], rows of the picture first. picture: what it was drawn
    from, whose objects end in their boxes in percent, `large red circle 20,6,46,32; ...`, in the order of the full
    description. A place of the grid is on a box when its centre is, or when it is the one that holds the box's centre.
    Nothing where the caption is not true.
    """
    statement = parse_caption(caption)
    objects = full_description(references)
    order = match_objects(statement, objects) if statement and objects else None
    if statement is None or order is None:
        return []
    boxes = [(thing.left, thing.top, thing.right, thing.bottom) for thing in Scene.of(picture).things]
    return [
        int(weights[mention.word].argmax()) in set(_places_on(boxes[i], grid))
        for mention, i in zip(statement.mentions, order, strict=True)
    ]


def _places_on(box: Sequence[int], grid: tuple[int, int]) -> Iterator[int]:
    left, top, right, bottom = box
    rows, columns = grid
    middle = ((top + bottom) * rows // 200, (left + right) * columns // 200)
    for row, column in itertools.product(range(rows), range(columns)):
        y = 100 * (row + 0.5) / rows
        x = 100 * (column + 0.5) / columns
        if (left <= x <= right and top <= y <= bottom) or (row, column) == middle:
            yield row * columns + column
