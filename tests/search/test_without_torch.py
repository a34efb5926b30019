"""The search in NumPy finds what `mt.search` finds, given the same probabilities."""

import numpy as np
import pytest
import torch

from mt.errors import UserError
from mt.onnx.search import FEW, Found, Rules, Step, search
from mt.search.beam import beam
from mt.search.config import BeamConfig, GreedyConfig
from mt.search.constraints import Constraints
from mt.search.greedy import greedy
from mt.search.hypothesis import Hypothesis


def found(toy, sentence: int, rules: Rules) -> list[Found]:
    """What the search finds of one sentence of a toy language, whose state it reorders."""
    memory = toy.memory([sentence])
    state = toy.init_state(memory)

    def advance(tokens: list[int], rows: list[int]) -> Step:
        nonlocal state, memory
        memory = toy.memory([sentence] * len(rows))
        prefix, (steps, *_) = state.prefix[rows], state.rest
        said = toy.step(torch.tensor(tokens), memory, type(state)(prefix, (steps[rows], (), None)))
        state = said.state
        stops = None if said.stops is None else said.stops.numpy()
        return Step(said.logits.log_softmax(-1).numpy(), said.weights.numpy(), stops)

    return search(advance, rules)


def same(one: Found, other: Hypothesis) -> bool:
    return (
        one.tokens == other.tokens
        and one.score == pytest.approx(other.score, abs=1e-4)
        and np.array_equal(one.windows.dense(), other.windows.dense())
    )


@pytest.mark.parametrize("beam_size", [1, 2, 5, FEW + 4])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("ending", [-1.0, 1.5])
def test_beams_are_those_of_torch(make_toy, beam_size: int, length_penalty: float, ending: float):
    toy, longest = make_toy(6, 9, seed=beam_size, sharpness=1.5, ending=ending), [9, 1, 4, 12, 2, 7]
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
        own = found(toy, sentence, Rules(longest[sentence], beam_size, length_penalty, n_best))
        assert len(own) == len(hypotheses)
        assert all(map(same, own, hypotheses))


@pytest.mark.parametrize(("min_length", "n"), [(4, 0), (0, 1), (0, 2), (6, 1), (5, 2)])
def test_constraints_are_those_of_torch(make_toy, min_length: int, n: int):
    toy = make_toy(5, 7, seed=3, ending=1.0)
    constraints, longest = Constraints(min_length, n), torch.full((5,), 9)
    narrow = greedy(toy, toy.memory(), 5, max_lengths=longest, constraints=constraints)
    wide = beam(toy, toy.memory(), 5, beam_size=4, max_lengths=longest, n_best=2, constraints=constraints)
    for sentence in range(5):
        (own,) = found(toy, sentence, Rules(9, min_length=min_length, no_repeat_ngram_size=n))
        assert same(own, narrow[sentence])
        several = found(toy, sentence, Rules(9, 4, n_best=2, min_length=min_length, no_repeat_ngram_size=n))
        assert len(several) == len(wide[sentence]) and all(map(same, several, wide[sentence]))


def test_a_language_of_few_sentences_gives_no_more(make_toy):
    toy = make_toy(1, 5, seed=0)  # two words
    own = found(toy, 0, Rules(2, 40, n_best=40))
    assert len(own) == len({hypothesis.tokens for hypothesis in own}) == len(toy.sentences(2))


def test_windows_of_a_hard_attention():
    """Two tokens: the first attends to positions 4 and 5, of a window that others made wider, the second to none."""
    log_probs = np.log(np.array([[1e-9, 1e-9, 1e-9, 1e-9, 1.0], [1e-9, 1e-9, 1e-9, 1.0, 1e-9]], np.float32))
    said = [
        Step(log_probs[:1], np.array([[0.25, 0.75, 0.0]], np.float32), np.array([5]), np.array([4])),
        Step(log_probs[1:], np.array([[0.0]], np.float32), np.array([-1]), np.array([0])),
    ]
    (own,) = search(lambda tokens, rows: said.pop(0), Rules(9))
    assert own.tokens == (4, 3) and own.stops is not None and own.stops.tolist() == [5, -1]
    assert own.windows.dense().tolist() == [[0, 0, 0, 0, 0.25, 0.75], [0, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("fault", [np.nan, -np.inf])
def test_refuses_a_model_that_diverged(fault: float):
    step = Step(np.full((1, 7), fault, np.float32), np.zeros((1, 2), np.float32))
    with pytest.raises(UserError, match=r"^the model.s scores for the next token are not finite numbers"):
        search(lambda tokens, rows: step, Rules(9))


def test_longest_is_that_of_torch():
    lengths = torch.arange(1, 3000)
    for options in (
        GreedyConfig(),
        BeamConfig(max_ratio=1.7, min_length=9),
        GreedyConfig(max_ratio=0.3, max_length=60),
    ):
        assert options.max_lengths(lengths).tolist() == [options.longest(length) for length in lengths.tolist()]
