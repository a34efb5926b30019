"""The search in NumPy finds what `mt.search` finds, given the same probabilities."""

import numpy as np
import pytest
import torch

from mt.errors import UserError
from mt.onnx import top_k
from mt.search.beam import search
from mt.search.constraints import FREE, Constraints, Forbidden, Wanted
from mt.search.hypothesis import Hypothesis
from mt.search.stepper import Step
from mt.step import Attended
from tests.marks import combined
from tests.search.searches import beam


class Arrays:
    """A sentence of a toy language as a stepper in NumPy."""

    def __init__(self, toy, sentence: int) -> None:
        self.toy = toy
        self.sentence = sentence
        self.state = toy.init_state(toy.memory([sentence]))

    def step(
        self,
        tokens: list[int],
        parents: list[int],
        count: int,
        forbidden: Forbidden | None,
        wanted: Wanted | None = None,
    ) -> Step:
        prefix = self.state.prefix[parents]
        (steps, *_) = self.state.rest
        state = type(self.state)(prefix, (steps[parents], (), None))
        prediction = self.toy.step(torch.tensor(tokens), self.toy.memory([self.sentence] * len(parents)), state)
        self.state = prediction.state
        attended = Attended(*(None if part is None else part.numpy() for part in prediction.attended))
        log_probs = prediction.log_probs().numpy()
        asked = None if wanted is None else log_probs[wanted]
        return Step(*top_k(log_probs, count, forbidden), attended, asked)


def same(one: Hypothesis, other: Hypothesis) -> bool:
    return (
        one.tokens == other.tokens
        and one.score == pytest.approx(other.score, abs=1e-4)
        and np.array_equal(one.windows.dense(), other.windows.dense())
    )


@combined(beam_size=[1, 2, 5, 20], constraints=[FREE, Constraints(4, 0), Constraints(0, 1), Constraints(5, 2)])
def test_beams_are_those_of_torch(make_toy, beam_size: int, constraints: Constraints):
    toy = make_toy(6, 9, seed=beam_size, sharpness=1.5, ending=1.0)
    longest = [9, 1, 4, 12, 2, 7]
    options = {
        "beam_size": beam_size,
        "length_penalty": 0.6,
        "n_best": (beam_size + 1) // 2,
        "constraints": constraints,
    }
    expected = beam(toy, toy.memory(), 6, max_lengths=torch.tensor(longest), **options)
    for sentence, hypotheses in enumerate(expected):
        (own,) = search(Arrays(toy, sentence), [longest[sentence]], **options)
        assert len(own) == len(hypotheses)
        assert all(map(same, own, hypotheses))


def test_a_language_of_few_sentences_gives_no_more(make_toy):
    toy = make_toy(1, 5, seed=0)  # two words
    (own,) = search(Arrays(toy, 0), [2], beam_size=40, n_best=40)
    assert len(own) == len({hypothesis.tokens for hypothesis in own}) == len(toy.sentences(2))


@pytest.mark.parametrize("fault", [np.nan, -np.inf])
def test_refuses_a_model_that_diverged(fault: float):
    with pytest.raises(UserError, match=r"^the model.s scores for the next token are not finite numbers"):
        top_k(np.full((1, 7), fault, np.float32), 1)
