"""The search in NumPy finds what `mt.search` finds, given the same probabilities."""

import numpy as np
import pytest
import torch

from mt.search.beam import search
from mt.search.hypothesis import Hypothesis
from mt.search.processor import Rules
from mt.search.stepper import Scores, Step
from mt.step import Attended
from tests.marks import combined
from tests.search.searches import beam


class Arrays:
    """A sentence of a toy language as a stepper in NumPy."""

    def __init__(self, toy, sentence: int) -> None:
        self.toy = toy
        self.sentence = sentence
        self.state = toy.init_state(toy.memory([sentence]))

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        prefix = self.state.prefix[parents]
        (steps, *_) = self.state.rest
        state = type(self.state)(prefix, (steps[parents], (), None))
        prediction = self.toy.step(torch.tensor(tokens), self.toy.memory([self.sentence] * len(parents)), state)
        self.state = prediction.state
        attended = Attended(*(None if part is None else part.numpy() for part in prediction.attended))
        return Step(Scores(prediction.log_probs().numpy()), attended)


def same(one: Hypothesis, other: Hypothesis) -> bool:
    return (
        one.tokens == other.tokens
        and one.score == pytest.approx(other.score, abs=1e-4)
        and np.array_equal(one.windows.dense(), other.windows.dense())
    )


@combined(beam_size=[1, 2, 5, 20], rules=[(0, 0), (4, 0), (0, 1), (5, 2)])
def test_beams_are_those_of_torch(make_toy, beam_size: int, rules: tuple[int, int]):
    toy = make_toy(6, 9, seed=beam_size, sharpness=1.5, ending=1.0)
    longest = [9, 1, 4, 12, 2, 7]
    options = {"beam_size": beam_size, "length_penalty": 0.6, "n_best": (beam_size + 1) // 2}
    lengths = torch.tensor(longest)
    expected = beam(toy, toy.memory(), 6, max_lengths=lengths, processors=[Rules(6, *rules)], **options)
    for sentence, hypotheses in enumerate(expected):
        (own,) = search(Arrays(toy, sentence), [longest[sentence]], processors=[Rules(1, *rules)], **options)
        assert len(own) == len(hypotheses)
        assert all(map(same, own, hypotheses))
