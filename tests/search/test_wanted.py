"""The log-probabilities that a search asks for are the model's own, whatever is forbidden, by every stepper."""

import numpy as np
import pytest
import torch

from mt.search.constraints import Forbidden, Wanted
from mt.search.draws import Draws
from mt.search.torch_stepper import TorchStepper
from mt.step import BOS

WANTED = Wanted(np.array([0, 0, 2]), np.array([4, 6, 5]))
FORBIDDEN = Forbidden(np.array([0]), np.array([4]), np.array([False, False, True]))


@pytest.mark.parametrize("forbidden", [None, FORBIDDEN], ids=["free", "forbidden"])
@pytest.mark.parametrize("count", [3, Draws(np.full((3, 2), 0.5), 1.0)], ids=["best", "drawn"])
def test_wanted_tokens_have_the_log_probabilities_of_the_model(make_toy, forbidden, count):
    toy = make_toy(3, 7, seed=0)
    expected = [toy.replay(row, (token,))[0] for row, token in zip(*WANTED, strict=True)]
    step = TorchStepper(toy.step, toy.memory(), toy.init_state(toy.memory()), 3, torch.device("cpu")).step
    with_wanted = step([BOS] * 3, [0, 1, 2], count, forbidden, WANTED)
    step = TorchStepper(toy.step, toy.memory(), toy.init_state(toy.memory()), 3, torch.device("cpu")).step
    without = step([BOS] * 3, [0, 1, 2], count, forbidden)
    assert with_wanted.wanted == pytest.approx(np.array(expected), abs=1e-6)
    assert without.wanted is None
    assert np.array_equal(with_wanted.log_probs, without.log_probs)
    assert np.array_equal(with_wanted.tokens, without.tokens)
