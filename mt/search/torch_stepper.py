"""The steps of a model in torch, as a search asks for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mt.search.stepper import Scores, Step
from mt.step import Attended, Prediction
from mt.trees import select_rows

Predict = Callable[[Tensor, Any, Any], Prediction]
"""A target step of a model, from the previous token of each hypothesis ([N] int64, BOS at first), memory and state."""


class TorchStepper:
    """Steps of the hypotheses of a batch of sources; see `mt.search.stepper.Stepper`.

    Memory and state have a row for each hypothesis, in the order of the search.
    """

    def __init__(self, predict: Predict, memory: Any, state: Any, sentences: int, device: torch.device) -> None:
        """
        Args:
            memory, state: of B = sentences >= 1 rows, on the device, before the first step; trees of batch-first
                tensors, see `mt.trees`.
        """
        self.predict = predict
        self.memory = memory
        self.state = state
        self.device = device
        self.sentences = np.arange(sentences)
        """[N]: the sentence of each hypothesis of the last step, rising."""

    @torch.no_grad()
    def step(self, tokens: list[int], parents: list[int]) -> Step:
        if parents != list(range(len(self.sentences))):  # else each continues itself, as in greedy search
            rows = torch.tensor(parents, device=self.device)
            self.state = select_rows(self.state, rows)
            # All hypotheses of a sentence have the same memory, so it moves only where their number has changed.
            sentences = self.sentences[parents]
            if not np.array_equal(sentences, self.sentences):
                self.memory = select_rows(self.memory, rows)
            self.sentences = sentences
        prediction = self.predict(torch.tensor(tokens, device=self.device), self.memory, self.state)
        self.state = prediction.state
        log_probs = prediction.log_probs()
        # The array shares the tensor's memory, and the search writes -inf into it: `log_probs` is nobody else's.
        scores = Scores(log_probs.numpy() if log_probs.is_cpu else log_probs)
        return Step(scores, _on_host(prediction.attended))


def _on_host(attended: Attended) -> Attended:
    """Returns the record of a step with arrays; weights on a device stay there."""
    weights, *numbers = attended
    arrays = (None if part is None else part.cpu().numpy() for part in numbers)
    return Attended(weights.float().numpy() if weights.is_cpu else weights, *arrays)
