"""The steps of a model in torch, as a search asks for them."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from mt.search.constraints import Forbidden
from mt.search.stepper import Attention, Step
from mt.search.top_k import top_k
from mt.trees import select_rows


class Prediction(Protocol):
    """What a model predicts of the next token of N hypotheses; any object with these attributes will do."""

    @property
    def logits(self) -> Tensor:
        """[N, V], unnormalised."""

    @property
    def weights(self) -> Tensor:
        """[N, W], the attention of this step to W positions from `first` on."""

    @property
    def stops(self) -> Tensor | None:
        """[N] int64, where a hard attention stopped, -1 where it selected nothing; None if it is soft."""

    @property
    def state(self) -> Any:
        """Batch-first tensors, arbitrarily nested in tuples."""

    @property
    def first(self) -> Tensor | None:
        """[N] int64, the source position of the weights' first column; None: 0, and W = S. Given with `stops` alone,
        and nothing after the stop is attended to then."""

    @property
    def energies(self) -> Tensor | None:
        """[N] int64, how many energies the step took to find its stop; None where all of the source was compared."""


class TorchStepper:
    """Steps of the hypotheses of a batch of sources; see `mt.search.stepper.Stepper`.

    Rows are what is computed: the hypotheses, and ended ones while they are less than an eighth, since dropping rows
    copies the memories of the rest. All rows of a sentence have the same memory, which is selected anew only when the
    sentences of the rows change.
    """

    def __init__(
        self,
        predict: Callable[[Tensor, Any, Any], Prediction],
        memory: Any,
        state: Any,
        sentences: int,
        device: torch.device,
    ) -> None:
        """
        Args:
            predict: one target step of a model, from the previous token of each hypothesis ([N] int64, BOS at first),
                memory and state.
            memory, state: of B = sentences >= 1 rows, on the device, before the first step; trees of batch-first
                tensors, see `mt.trees`.
        """
        self._predict = predict
        self._memory = memory
        self._state = state
        self._device = device
        self._sentences = np.arange(sentences)
        """[R]: the sentence of each row, rising."""
        self._rows = self._sentences
        """[N]: the row of each hypothesis of the last step."""
        self._tokens = np.zeros(sentences, np.int64)
        """[R]: the last token of each row."""

    @torch.no_grad()
    def step(self, tokens: list[int], parents: list[int], count: int, forbidden: Forbidden | None) -> Step:
        self._continue(tokens, parents)
        prediction = self._predict(self._on_device(self._tokens), self._memory, self._state)
        self._state = prediction.state
        logits = prediction.logits
        excluded = None
        if forbidden is not None:
            hypotheses, excluded_tokens = forbidden.pairs(logits.shape[1])
            excluded = self._rows[hypotheses], excluded_tokens
        log_probs, best = (part.cpu().numpy() for part in top_k(logits, min(count, logits.shape[1]), excluded))
        if len(self._rows) < len(best):
            log_probs = log_probs[self._rows]
            best = best[self._rows]
        weights = prediction.weights
        attention = Attention(
            None if len(self._rows) == len(self._tokens) else self._rows,
            weights.float().numpy() if weights.device.type == "cpu" else weights,
            _array(prediction.stops),
            _array(prediction.first),
            _array(prediction.energies),
        )
        return Step(log_probs, best, attention)

    def _continue(self, tokens: list[int], parents: list[int]) -> None:
        """Puts hypotheses into rows, and moves memory and states with them."""
        if parents == list(range(len(self._rows))):  # each continues itself, as in most steps of greedy search
            self._set_tokens(tokens)
            return
        count = len(self._sentences)
        parent_rows = self._rows[parents]
        sentences = self._sentences[parent_rows]
        rows = self._rows_for(sentences)
        if rows is None:
            self._memory = select_rows(self._memory, self._on_device(parent_rows))
            self._state = select_rows(self._state, self._on_device(parent_rows))
            self._sentences = sentences
            self._rows = np.arange(len(sentences))
            self._tokens = np.array(tokens, np.int64)
            return
        self._rows = rows
        self._set_tokens(tokens)
        if not np.array_equal(parent_rows, rows):
            # What is in further rows goes on where it is, and nobody looks at it.
            selected = np.arange(count)
            selected[rows] = parent_rows
            self._state = select_rows(self._state, self._on_device(selected))

    def _rows_for(self, sentences: np.ndarray) -> np.ndarray | None:
        """Returns rows for hypotheses of these sentences, among those that there are; None where there are too few, or
        far too many."""
        count = len(self._sentences)
        if len(sentences) == count:
            return np.arange(count) if np.array_equal(sentences, self._sentences) else None
        if not 7 * count < 8 * len(sentences) < 8 * count:
            return None
        begins = np.searchsorted(self._sentences, sentences)
        rows = begins + np.arange(len(sentences)) - np.searchsorted(sentences, sentences)
        fits = rows[-1] < count and np.array_equal(self._sentences[rows], sentences)
        return rows if fits else None

    def _set_tokens(self, tokens: list[int]) -> None:
        """Sets the last token of the row of each hypothesis; rows that no hypothesis has keep theirs."""
        if len(tokens) == len(self._tokens):
            self._tokens = np.array(tokens, np.int64)
        else:
            self._tokens = self._tokens.copy()
            self._tokens[self._rows] = tokens

    def _on_device(self, numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(numbers).to(self._device)


def _array(part: Tensor | None) -> np.ndarray | None:
    return None if part is None else part.cpu().numpy()
