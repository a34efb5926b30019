"""The steps of a model in torch, as a search asks for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mt.search.best_tokens import top_k, values_of
from mt.search.constraints import Forbidden, Wanted
from mt.search.draws import Draws
from mt.search.stepper import Step
from mt.step import Attended, Prediction
from mt.trees import select_rows

Predict = Callable[[Tensor, Any, Any], Prediction]
"""A target step of a model, from the previous token of each hypothesis ([N] int64, BOS at first), memory and state."""


class TorchStepper:
    """Steps of the hypotheses of a batch of sources; see `mt.search.stepper.Stepper`.

    All hypotheses of a sentence have the same memory, which is copied only when the sentences of the rows change.
    """

    def __init__(
        self,
        predict: Predict,
        memory: Any,
        state: Any,
        sentences: int,
        device: torch.device,
    ) -> None:
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
    def step(
        self,
        tokens: list[int],
        parents: list[int],
        count: int | Draws,
        forbidden: Forbidden | None,
        wanted: Wanted | None = None,
    ) -> Step:
        self._continue(parents)
        prediction = self.predict(torch.tensor(tokens, device=self.device), self.memory, self.state)
        self.state = prediction.state
        predicted = prediction.log_probs()
        asked = values_of(predicted, wanted)  # before anything is forbidden
        if isinstance(count, Draws):
            log_probs, chosen = count.choose(predicted.cpu().numpy(), forbidden)
        else:
            excluded = None if forbidden is None else forbidden.pairs(predicted.shape[1])
            log_probs, chosen = top_k(predicted, count, excluded)
        return Step(log_probs, chosen, _on_host(prediction.attended), asked)

    def _continue(self, parents: list[int]) -> None:
        """Selects the states, and where sentences have ended or have more hypotheses the memories, of the parents."""
        if parents == list(range(len(self.sentences))):  # each continues itself, as in most steps of greedy search
            return
        rows = torch.tensor(parents, device=self.device)
        self.state = select_rows(self.state, rows)
        sentences = self.sentences[parents]
        if not np.array_equal(sentences, self.sentences):
            self.memory = select_rows(self.memory, rows)
            self.sentences = sentences


def _on_host(attended: Attended) -> Attended:
    """Returns the record with arrays; weights on a device stay there."""
    weights = attended.weights
    numbers = (None if part is None else part.cpu().numpy() for part in attended[1:])
    return Attended(weights.float().numpy() if weights.is_cpu else weights, *numbers)
