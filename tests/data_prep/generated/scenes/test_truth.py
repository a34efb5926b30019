import numpy as np
import pytest

from data_prep.generated.scenes.truth import full_description, match_objects, parse_caption, pointing
from mt.metrics.captions import Truth

PICTURE = "large red circle 5,5,31,31; small blue star 75,74,89,88; small red star 45,10,59,24"
FULL = "a large red circle in the top left and a small blue star in the bottom right and a small red star at the top"
REFERENCES = ["a red circle in the top left and a red star above a blue star", FULL]


def true(caption: str) -> bool:
    return Truth().score([caption], [REFERENCES])["truth"].score == 100


@pytest.mark.parametrize(
    "caption",
    [
        FULL,
        "A large red circle in the top left and a red star above a blue star.",
        "there is a little blue star in the bottom right and a red circle is left of a small red star",
        "a red circle is above a blue star and at the top is a red star",
        "a blue star to the right of a big red circle and a red star at the top",
        "a blue star under a red star and in the top left is a red circle",
    ],
)
def test_true_captions(caption: str):
    assert true(caption)


@pytest.mark.parametrize(
    "caption",
    [
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
    ],
)
def test_captions_that_are_not(caption: str):
    assert not true(caption)


def test_without_a_full_description_only_a_reference_is_true():
    assert Truth().score(["a b", "b"], [["a b"], ["a b"]])["truth"].score == 50
    assert full_description(REFERENCES[:1]) is None


def test_words_that_name_objects():
    caption = "There is a red circle in the top left and a small red star above a blue star."
    statement = parse_caption(caption)
    things = full_description(REFERENCES)
    words = caption.strip(".").split()
    assert [words[mention.word] for mention in statement.mentions] == ["circle", "star", "star"]
    assert [mention.word for mention in statement.mentions] == [4, 13, 17]
    assert match_objects(statement, things) == (0, 2, 1)


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
