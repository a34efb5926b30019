from itertools import chain

import numpy as np
import pytest

from data_prep.generated.scenes import Example, generate, render
from data_prep.generated.scenes.scene import Scene, Thing
from mt.common.scenes import COLOURS, SHAPES
from mt.metrics.truth import Truth, full_description, mentioned_objects, pointing

SMALL = {"train": 600, "dev": 50, "test": 50}


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [*chain(*generate(3, SMALL).values())]


def test_every_caption_is_true_of_its_picture(examples: list[Example]):
    for example in examples:
        references = [example.target, *example.more_references]
        for caption in references:
            assert mentioned_objects(caption, references), caption


def test_objects_are_within_their_boxes_and_fill_them(examples: list[Example]):
    """What differs from the background, against the boxes."""
    for example in examples[:150]:
        picture = render(example.source, 100).astype(float)
        background = np.median(picture, (0, 1))
        coloured = np.abs(picture - background).max(-1) > 45
        boxes = np.zeros_like(coloured)
        for thing in Scene.of(example.source).things:
            box = slice(thing.top, thing.bottom), slice(thing.left, thing.right)
            assert 0 <= thing.left < thing.right <= 100 and 0 <= thing.top < thing.bottom <= 100
            assert not boxes[box].any(), "objects do not overlap"
            boxes[box] = True
            assert 0.25 < coloured[box].mean() < 0.9
            rows = np.flatnonzero(coloured[box].any(1))
            columns = np.flatnonzero(coloured[box].any(0))
            assert rows[-1] - rows[0] > 0.5 * (thing.bottom - thing.top)
            assert columns[-1] - columns[0] > 0.5 * (thing.right - thing.left)
        assert not coloured[~boxes].any()


@pytest.mark.parametrize("colour", COLOURS)
def test_an_object_has_its_colour(colour: str):
    picture = render(f"large {colour} square 36,36,64,64", 100)[45:55, 45:55].mean((0, 1))
    strongest = {"red": (0,), "green": (1,), "blue": (2,), "yellow": (0, 1), "purple": (0, 2), "black": ()}[colour]
    assert [bool(level > 120) for level in picture] == [channel in strongest for channel in range(3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_told_apart_by_how_much_they_cover(shape: str):
    """Edges are smoothed: some pixels are in between."""
    share = {"circle": np.pi / 4, "square": 0.64, "triangle": 3 * 3**0.5 / 16, "cross": 0.48, "star": 0.294}[shape]
    thing = Thing("large", "black", shape, 20, 20, 80, 80)
    picture = render(str(Scene((thing,))), 200)[..., 0].astype(float)
    dark = picture[40:160, 40:160] < 115
    assert dark.mean() == pytest.approx(share, abs=0.02)
    between = (picture > 60) & (picture < 170)
    assert 100 < between.sum() < 2500


# The truth of captions

PICTURE = "large red circle 5,5,31,31; small blue star 75,74,89,88; small red star 45,10,59,24"
FULL = "a large red circle in the top left and a small blue star in the bottom right and a small red star at the top"
REFERENCES = ["a red circle in the top left and a red star above a blue star", FULL]


TRUE = [
    FULL,
    "A large red circle in the top left and a red star above a blue star.",
    "there is a little blue star in the bottom right and a red circle is left of a small red star",
    "a red circle is above a blue star and at the top is a red star",
    "a blue star to the right of a big red circle and a red star at the top",
    "a blue star under a red star and in the top left is a red circle",
]
UNTRUE = [
    "a red circle in the top left and a blue star in the bottom right",  # leaves one out
    "a small red circle in the top left and a red star above a blue star",  # size
    "a green circle in the top left and a red star above a blue star",  # colour
    "a red square in the top left and a red star above a blue star",  # shape
    "a red circle at the top and a red star above a blue star",  # place
    "a red circle in the top left and a red star below a blue star",  # relation
    "a red circle in the top left and a red star right of a blue star",
    "a red circle above a red star and a blue star in the bottom right",  # neither is higher
    "a red circle in the top left and a red star above a blue star and a red star at the top",  # twice
    "a red circle in the top left and a red circle in the top left and a red star above a blue star",
    "a red circle in the top left and a red star above",
    "a red circle and a red star and a blue star",
    "",
]


@pytest.mark.parametrize("caption", [*TRUE, *UNTRUE])
def test_captions_are_true_or_not(caption: str):
    assert Truth().score([caption], [REFERENCES])["truth"].score == (100 if caption in TRUE else 0)


def test_without_a_full_description_only_a_reference_is_true():
    assert Truth().score(["a b", "b"], [["a b"], ["a b"]])["truth"].score == 50
    assert full_description(REFERENCES[:1]) == []


def test_words_that_name_objects():
    caption = "There is a red circle in the top left and a small red star above a blue star."
    words = caption.strip(".").split()
    found = [(words[each.word], each.word, number) for each, number in mentioned_objects(caption, REFERENCES)]
    assert found == [("circle", 4, 0), ("star", 13, 2), ("star", 17, 1)]


def test_the_pointing_game():
    caption = "a red circle in the top left and a red star above a blue star"
    grid = (8, 10)
    places = {2: (1, 1), 10: (1, 5), 14: (6, 8)}  # word: row and column of the grid within its object's box
    weights = np.full((15, 80), 0.001)
    for word, (row, column) in places.items():
        weights[word, row * 10 + column] = 0.5
    assert pointing(caption, weights, PICTURE, REFERENCES, grid) == [True, True, True]
    weights[2, 0 * 10 + 4] = 0.6
    weights[14, 8 * 10 - 1] = 0.6
    assert pointing(caption, weights, PICTURE, REFERENCES, grid) == [False, True, False]
    assert pointing("a red circle in the middle", weights, PICTURE, REFERENCES, grid) == []


def test_a_place_that_holds_the_middle_of_a_small_box_is_on_it():
    """In a coarse grid no place may have its centre within a box."""
    picture = "small red star 36,36,44,44"
    references = ["a small red star in the middle"]
    for place, hit in ((0, True), (1, False), (2, False), (3, False)):
        weights = np.eye(4)[[place] * 7]
        assert pointing(references[0], weights, picture, references, (2, 2)) == [hit]
