"""The rows of a stepper in torch: each hypothesis has the memory of its sentence and the state of its parent."""

import numpy as np
import pytest
import torch

from mt.search.torch_stepper import TorchStepper
from mt.step import Attended, Prediction


class Told:
    """A model of 16 tokens, the best of which says the sentence of a row; its state holds all tokens so far."""

    def __init__(self) -> None:
        self.states: torch.Tensor

    def __call__(self, tokens: torch.Tensor, memory: torch.Tensor, state: torch.Tensor) -> Prediction:
        logits = torch.zeros(len(tokens), 16)
        logits[torch.arange(len(tokens)), 4 + memory[:, 0].long()] = 9.0
        return Prediction(logits, Attended(memory), torch.cat((state, tokens[:, None]), 1))


@pytest.mark.parametrize("second", [[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], [0, 2, 3]], ids=["more", "fewer"])
def test_hypotheses_keep_their_order_while_their_rows_move(second: list[int]) -> None:
    memory = torch.arange(4.0)[:, None].repeat(1, 3)
    stepper = TorchStepper(Told(), memory, torch.zeros(4, 0, dtype=torch.int64), 4, torch.device("cpu"))
    draw = np.random.default_rng(3)
    paths = [[] for _ in range(4)]
    sentences = np.arange(4)
    parents = [0, 1, 2, 3]
    places = set()
    for step in range(12):
        if step:  # at first more hypotheses than sentences, or fewer, and then ever fewer
            count = max(2, 12 - step)
            parents = second if step == 1 else sorted(draw.integers(len(sentences), size=count).tolist())
        sentences = sentences[parents]
        tokens = draw.integers(4, 12, size=len(parents)).tolist()
        paths = [[*paths[parent], token] for parent, token in zip(parents, tokens, strict=True)]
        scores, attended = stepper.step(tokens, parents)
        log_probs, best = scores.best(2)
        assert best[:, 0].tolist() == (4 + sentences).tolist()
        assert scores.at(np.arange(len(parents)), 4 + sentences).tolist() == log_probs[:, 0].tolist()
        assert attended is not None and attended.weights[:, 0].tolist() == sentences.tolist()
        assert [stepper.state[row].tolist() for row in stepper._rows] == paths
        places.add(stepper.memory.data_ptr())
    scores, _ = stepper.step(tokens, [*range(len(parents))])
    scores.forbid(np.array([1]), 4 + sentences[1:2])
    assert (scores.best(1)[1][:, 0] != 4 + sentences).tolist() == [False, True, *[False] * (len(parents) - 2)]
    assert memory[:, 0].tolist() == [0, 1, 2, 3]
    assert len(places) <= 3  # the caller's, and copies where hypotheses became more


@pytest.mark.parametrize("ended", [0, 7, 29])
def test_where_a_hypothesis_ends_little_is_copied(ended: int) -> None:
    memory = torch.arange(10.0)[:, None]
    stepper = TorchStepper(Told(), memory, torch.zeros(10, 0, dtype=torch.int64), 10, torch.device("cpu"))
    stepper.step([4] * 10, [*range(10)])
    stepper.step([4] * 30, sorted([*range(10)] * 3))
    before = stepper.memory.clone()
    scores, _ = stepper.step([4] * 29, [row for row in range(30) if row != ended])
    assert scores.best(3)[1][:, 0].tolist() == [4 + row // 3 for row in range(30) if row != ended]
    assert (stepper.memory != before[:29]).sum() <= 1
