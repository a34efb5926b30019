"""The search in NumPy finds what `mt.search` finds, given the same probabilities."""

import numpy as np
import pytest
import torch

from mt.errors import UserError
from mt.onnx import FEW, top_k
from mt.search.beam import search
from mt.search.constraints import Constraints, Forbidden, Wanted
from mt.search.hypothesis import Hypothesis
from mt.search.stepper import Step
from mt.step import Attended
from tests.search.searches import beam, greedy


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


@pytest.mark.parametrize("beam_size", [1, 2, 5, FEW + 4])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("ending", [-1.0, 1.5])
def test_beams_are_those_of_torch(make_toy, beam_size: int, length_penalty: float, ending: float):
    toy = make_toy(6, 9, seed=beam_size, sharpness=1.5, ending=ending)
    longest = [9, 1, 4, 12, 2, 7]
    n_best = (beam_size + 1) // 2
    wanted = beam(
        toy,
        toy.memory(),
        6,
        beam_size=beam_size,
        max_lengths=torch.tensor(longest),
        length_penalty=length_penalty,
        n_best=n_best,
    )
    for sentence, hypotheses in enumerate(wanted):
        (own,) = search(
            Arrays(toy, sentence),
            [longest[sentence]],
            beam_size=beam_size,
            length_penalty=length_penalty,
            n_best=n_best,
        )
        assert len(own) == len(hypotheses)
        assert all(map(same, own, hypotheses))


@pytest.mark.parametrize(("min_length", "n"), [(4, 0), (0, 1), (0, 2), (6, 1), (5, 2)])
def test_constraints_are_those_of_torch(make_toy, min_length: int, n: int):
    toy = make_toy(5, 7, seed=3, ending=1.0)
    constraints = Constraints(min_length, n)
    longest = torch.full((5,), 9)
    narrow = greedy(toy, toy.memory(), 5, max_lengths=longest, constraints=constraints)
    wide = beam(toy, toy.memory(), 5, beam_size=4, max_lengths=longest, n_best=2, constraints=constraints)
    for sentence in range(5):
        ((own,),) = search(Arrays(toy, sentence), [9], constraints=constraints)
        assert same(own, narrow[sentence])
        (several,) = search(Arrays(toy, sentence), [9], beam_size=4, n_best=2, constraints=constraints)
        assert len(several) == len(wide[sentence]) and all(map(same, several, wide[sentence]))


def test_a_language_of_few_sentences_gives_no_more(make_toy):
    toy = make_toy(1, 5, seed=0)  # two words
    (own,) = search(Arrays(toy, 0), [2], beam_size=40, n_best=40)
    assert len(own) == len({hypothesis.tokens for hypothesis in own}) == len(toy.sentences(2))


@pytest.mark.parametrize("fault", [np.nan, -np.inf])
def test_refuses_a_model_that_diverged(fault: float):
    with pytest.raises(UserError, match=r"^the model.s scores for the next token are not finite numbers"):
        top_k(np.full((1, 7), fault, np.float32), 1)
