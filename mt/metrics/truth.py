"""Whether captions of `dataset=scenes` are true of their picture, and whether attention was on the right object.

Captions are parsed by a small grammar:

    caption   ["there is"] clause {"and" clause}
    clause    object ["is"] (place | relation object)  |  place "is" object
    object    "a" [size] colour shape
"""

import itertools
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from mt.common.scenes import BESIDE, COLOURS, PHRASES, SHAPES, SIZES
from mt.metrics.advice import nearly_all
from mt.metrics.base import RatioMetric, References

_SIZES = {word: size for size, words in SIZES.items() for word in words}
_PLACES = {phrase: (row, column) for row, phrases in enumerate(PHRASES) for column, phrase in enumerate(phrases)}
_RELATIONS = {words: step for step, phrases in BESIDE.items() for words in phrases}


class Truth(RatioMetric):
    """The percentage of captions of `dataset=scenes` that are true of their picture and mention all of its objects. The
    objects are those of the reference that gives size and place of each; captions that equal a reference are true."""

    name = "truth"
    higher_is_better = True
    heading = "truth"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        pairs = zip(hypotheses, references, strict=True)
        true = [caption in group or bool(mentioned_objects(caption, group)) for caption, group in pairs]
        return {self.name: np.column_stack([true, np.ones(len(true))])}

    @property
    def signature_fields(self) -> str:  # type: ignore[override]
        return "by:grammar|objects:all" + ("|{case}" if self.settings.lowercase else "")

    def _objection(self, texts: Sequence[str]) -> str | None:
        if nearly_all(texts, lambda text: not parse_caption(text)):
            return "truth understands captions of dataset=scenes, and most references are none: choose accuracy or bleu"
        return None


class Mention(NamedTuple):
    """An object in a caption."""

    colour: str
    shape: str
    size: str | None
    place: tuple[int, int] | None
    """Row and column of the ninth of the picture, from 0 at the top left."""
    step: tuple[int, int] | None
    """The direction in rows and columns from the next mention to this one; None without a relation."""
    word: int
    """The position in the caption of the word for the object's shape."""


@cache
def _clauses() -> tuple[re.Pattern[str], ...]:
    """Returns the patterns of clauses. They are compiled at the first use, since most commands parse no captions."""
    sizes, places, relations = ("|".join(words) for words in (_SIZES, _PLACES, _RELATIONS))
    colours, shapes = ("|".join(words) for words in (COLOURS, SHAPES))
    one, other = (f"a (?:(?P<size{n}>{sizes}) )?(?P<colour{n}>{colours}) (?P<shape{n}>{shapes})" for n in (1, 2))
    return (
        re.compile(f"{one}(?: is)? (?P<place>{places})"),
        re.compile(f"{one}(?: is)? (?P<relation>{relations}) {other}"),
        re.compile(f"(?P<place>{places}) is {one}"),
    )


def parse_caption(caption: str) -> list[Mention]:
    """Returns the objects that a caption mentions; empty for a caption that the grammar does not cover."""
    # Places of words are those of the caption as it was written, with its "there is".
    text = " ".join(caption.lower().removesuffix(".").split()).removeprefix("there is ")
    offset = len(caption.split()) - len(text.split())
    mentions: list[Mention] = []
    begin = 0
    for clause in text.split(" and "):
        # A caption with one clause beyond the grammar says nothing certain.
        match = next(filter(None, (pattern.fullmatch(clause) for pattern in _clauses())), None)
        if match is None:
            return []
        groups = match.groupdict()
        step = _RELATIONS.get(groups.get("relation") or "")
        # The first object of a relation has the step to it, and the second one has none.
        for n in (1, 2) if step else (1,):
            word = offset + len(text[: begin + match.start(f"shape{n}")].split())
            size = _SIZES.get(groups[f"size{n}"] or "")
            place = _PLACES.get(groups.get("place") or "")
            mentions.append(Mention(groups[f"colour{n}"], groups[f"shape{n}"], size, place, step, word))
            step = None
        begin += len(clause) + len(" and ")
    return mentions


def mentioned_objects(caption: str, references: Sequence[str]) -> list[tuple[Mention, int]]:
    """Returns the mentions of a caption, each with the number of its object in `full_description`. Empty if the caption
    is not true, or leaves an object out."""
    objects = full_description(references)
    mentions = parse_caption(caption)
    # Objects of one colour and shape may be mentioned in any order.
    if len(mentions) == len(objects):
        for order in itertools.permutations(range(len(objects))):
            if _holds(mentions, [objects[i] for i in order]):
                return list(zip(mentions, order, strict=True))
    return []


def full_description(references: Sequence[str]) -> list[Mention]:
    """Returns the objects of the first reference that gives size and place of each; empty if there is none."""
    described = (parse_caption(reference) for reference in references)
    return next((objects for objects in described if objects and all(each.size and each.place for each in objects)), [])


def _holds(mentions: Sequence[Mention], objects: Sequence[Mention]) -> bool:
    """Returns whether each mention is true of the object in the same position."""
    places = [each.place or (0, 0) for each in objects]
    return all(
        (mention.colour, mention.shape) == (thing.colour, thing.shape)
        and mention.size in (None, thing.size)
        and mention.place in (None, thing.place)
        # A mention with a step is followed by the one that it is beside.
        and (mention.step is None or _lies(mention.step, places[i], places[i + 1]))
        for i, (mention, thing) in enumerate(zip(mentions, objects, strict=True))
    )


def _lies(step: tuple[int, int], place: tuple[int, int], other: tuple[int, int]) -> bool:
    """Returns whether a place lies in the direction of a step from another one."""
    return any(along * (ours - theirs) > 0 for along, ours, theirs in zip(step, place, other, strict=True))


def pointing(
    caption: str, weights: np.ndarray, picture: str, references: Sequence[str], grid: tuple[int, int]
) -> list[bool]:
    """Plays the pointing game (Zhang et al. 2016, "Top-down neural attention by excitation backprop").

    Returns for each word of a true caption that names an object whether the attention of that word is largest on the
    object's box. Empty if the caption is not true.

    weights: [words of the caption, rows * columns of the grid], by rows of the picture. picture: its description, in
    which each object has its box in percent, `large red circle 20,6,46,32; ...`, in the order of the full description.
    A cell of the grid is on a box if its centre is, or if it holds the box's centre.
    """
    boxes = [[int(side) for side in thing.split(" ")[-1].split(",")] for thing in picture.split("; ")]
    rows, columns = grid
    hits = []
    for mention, number in mentioned_objects(caption, references):
        left, top, right, bottom = boxes[number]
        row, column = divmod(int(weights[mention.word].argmax()), columns)
        within = left <= 100 * (column + 0.5) / columns <= right and top <= 100 * (row + 0.5) / rows <= bottom
        # Half of the sum is the middle, in percent.
        middle = ((top + bottom) * rows // 200, (left + right) * columns // 200)
        hits.append(within or (row, column) == middle)
    return hits
