"""The consensus caption, against CIDEr-D itself where nothing is clipped."""

import numpy as np
import pytest

from mt.metrics.captions import Cider
from mt.metrics.consensus import Consensus

CAPTIONS = [
    ["many planes are parked near a building .", "some planes stand at the airport ."],
    ["many planes are parked at the airport .", "a white building ."],
    ["there is a forest .", "dense green trees form a forest ."],
    ["a river crosses the green forest .", "many green trees ."],
]


def test_it_is_the_caption_that_is_most_like_the_others():
    consensus = Consensus(CAPTIONS)
    assert consensus.choose([0, 1]) == "many planes are parked at the airport ."
    assert consensus.choose([2]) == "there is a forest ."  # a tie
    with pytest.raises(ValueError, match="no caption"):
        consensus.choose([])


def test_it_is_the_one_of_the_largest_mean_cider():
    consensus = Consensus(CAPTIONS)
    own = [text for group in CAPTIONS for text in group]
    # Each caption against the others as references, in a corpus whose rarities are those of the training set.
    means = [
        Cider().counts([own[i], *(group[0] for group in CAPTIONS)], [own[:i] + own[i + 1 :], *CAPTIONS])["cider"][0, 0]
        for i in range(len(own))
    ]
    assert consensus.choose(range(4)) in [own[i] for i in np.argsort(means)[-2:]]
