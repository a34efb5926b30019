"""The steps of a model in torch, as a search asks for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mt.search.stepper import Scores, Step
from mt.step import Attended, Prediction
from mt.trees import map_tensors, select_rows

Predict = Callable[[Tensor, Any, Any], Prediction]
"""A target step of a model, from the previous token of each hypothesis ([N] int64, BOS at first), memory and state."""


class TorchStepper:
    """Steps of the hypotheses of a batch of sources; see `mt.search.stepper.Stepper`.

    All hypotheses of a sentence have the same memory. Where some end, the last rows of it take their places, so that
    little is copied; hypotheses keep the order that the search gives them.
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
        self._rows = self.sentences
        """[N]: the row of memory and state that each of these has."""
        self._order: np.ndarray | slice = slice(None)
        """These rows as an index; a slice, which copies nothing, where they are in order."""
        self._owns_memory = False
        """Whether the memory is a copy, which may be written to."""

    @torch.no_grad()
    def step(self, tokens: list[int], parents: list[int]) -> Step:
        self._continue(parents)
        # The step, by rows.
        of_rows = np.empty(len(tokens), np.int64)
        of_rows[self._rows] = tokens
        prediction = self.predict(torch.from_numpy(of_rows).to(self.device), self.memory, self.state)
        self.state = prediction.state
        # Its results, by hypotheses.
        log_probs = prediction.log_probs()
        # The array shares the tensor's memory, and the search writes -inf into it: `log_probs` is nobody else's.
        scores = Scores(log_probs.numpy() if log_probs.is_cpu else log_probs, self._rows)
        return Step(scores, _on_host(prediction.attended, self._order))

    def _continue(self, parents: list[int]) -> None:
        """Selects the states, and where sentences have ended or have more hypotheses the memories, of the parents."""
        if parents == list(range(len(self.sentences))):  # each continues itself, as in most steps of greedy search
            return
        before = self._rows[parents]
        sentences = self.sentences[parents]
        if not np.array_equal(sentences, self.sentences):
            self._place(sentences)
        # By rows, not by hypotheses: the row whose state each row goes on with.
        chosen = np.empty_like(before)
        chosen[self._rows] = before
        self.state = select_rows(self.state, torch.from_numpy(chosen).to(self.device))

    def _place(self, sentences: np.ndarray) -> None:
        """Gives each hypothesis a row with the memory of its sentence. sentences: of each, rising."""
        # Each hypothesis takes a row of its sentence, another one for each as long as there are enough.
        first = np.searchsorted(self.sentences, sentences)
        same = first + np.arange(len(sentences)) - np.searchsorted(sentences, sentences)
        present = same < np.searchsorted(self.sentences, sentences, side="right")
        rows = self._rows[np.where(present, same, first)]
        count = len(rows)
        if count > len(self.sentences) or not self._owns_memory:
            self.memory = select_rows(self.memory, torch.from_numpy(rows).to(self.device))
            self._owns_memory = True
            rows = np.arange(count)
        else:
            # Rows beyond the new end, and further hypotheses of a sentence, go to rows that are free.
            moved = ~present | (rows >= count)
            free = np.setdiff1d(np.arange(count), rows[~moved])
            source, target = (torch.from_numpy(part).to(self.device) for part in (rows[moved], free))
            # In place, since the memory is a copy by now; the rows beyond `count` are cut off.
            self.memory = map_tensors(
                lambda part: part[:count].index_copy_(0, target, part.index_select(0, source)), self.memory
            )
            rows[moved] = free
        self.sentences = sentences
        self._rows = rows
        self._order = slice(None) if np.array_equal(rows, np.arange(count)) else rows


def _on_host(attended: Attended, rows: np.ndarray | slice) -> Attended:
    """Returns the record of hypotheses, which have these rows, with arrays; weights on a device stay there."""
    weights = attended.weights
    numbers = (None if part is None else part.cpu().numpy()[rows] for part in attended[1:])
    if weights.is_cpu:
        return Attended(weights.float().numpy()[rows], *numbers)
    index = rows if isinstance(rows, slice) else torch.from_numpy(rows).to(weights.device)
    return Attended(weights[index], *numbers)
