"""A model in torch as a search sees it."""

import math
from functools import cache
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from mt.search.constraints import Forbidden
from mt.search.faults import not_finite
from mt.search.hypothesis import NEVER_CHOSEN
from mt.search.stepper import Attention, Step
from mt.trees import select_rows

BLOCK = 64
MANY = 1 << 16
"""Logits of which the largest is found first, and those from which on that is worth its calls; see `_largest`."""


class Prediction(Protocol):
    """What a decoder says about the next token of N hypotheses; any object with these attributes will do."""

    @property
    def logits(self) -> Tensor:
        """[N, V], unnormalised."""

    @property
    def weights(self) -> Tensor:
        """[N, W], the attention of this step: of W positions from `first` on."""

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


class Decoder(Protocol):
    """A model, or an ensemble. `memory` and states are trees of batch-first tensors, see `mt.trees`."""

    def init_state(self, memory: Any) -> Any:
        """The state before the first step."""

    def step(self, tokens: Tensor, memory: Any, state: Any) -> Prediction:
        """One target step; tokens: [N] int64, the previous token of each hypothesis (BOS at first)."""


class TorchStepper:
    """Steps of the hypotheses of a batch of sources; see `mt.search.stepper.Stepper`.

    Rows are what is computed: the hypotheses, and ended ones while they are less than an eighth, since dropping rows
    copies the memories of the rest. All rows of a sentence have the same memory, which is selected anew only when the
    sentences of the rows change.
    """

    @torch.no_grad()
    def __init__(self, decoder: Decoder, memory: Any, sentences: int, device: torch.device) -> None:
        """memory: of B = sentences >= 1 rows, on the device."""
        self._decoder = decoder
        self._memory = memory
        self._state = decoder.init_state(memory)
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
        given = torch.from_numpy(self._tokens)
        given = given if self._device.type == "cpu" else given.to(self._device)
        prediction = self._decoder.step(given, self._memory, self._state)
        self._state = prediction.state
        logits = prediction.logits
        pairs = None if forbidden is None else forbidden.pairs(logits.shape[1])
        pairs = None if pairs is None else (self._rows[pairs[0]], pairs[1])
        best, chosen = (part.cpu().numpy() for part in top_k(logits, min(count, logits.shape[1]), pairs))
        if len(self._rows) < len(best):
            best, chosen = best[self._rows], chosen[self._rows]
        weights = prediction.weights
        attention = Attention(
            None if len(self._rows) == len(self._tokens) else self._rows,
            weights.float().numpy() if weights.device.type == "cpu" else weights,
            _array(prediction.stops),
            _array(prediction.first),
            _array(prediction.energies),
        )
        return Step(best, chosen, attention)

    def _continue(self, tokens: list[int], parents: list[int]) -> None:
        """Puts hypotheses into rows, and memory and states with them."""
        if parents == list(range(len(self._rows))):  # each continues itself, as in most steps of greedy search
            self._put(tokens)
            return
        count = len(self._sentences)
        before = self._rows[parents]
        sentences = self._sentences[before]
        rows = self._places(sentences)
        if rows is None:
            self._memory = select_rows(self._memory, self._index(before))
            self._sentences = sentences
            self._rows = np.arange(len(before))
            self._tokens = np.array(tokens, np.int64)
            self._state = select_rows(self._state, self._index(before))
            return
        self._rows = rows
        self._put(tokens)
        if not np.array_equal(before, rows):
            # What is in further rows goes on where it is, and nobody looks at it.
            selected = np.arange(count)
            selected[rows] = before
            self._state = select_rows(self._state, self._index(selected))

    def _places(self, sentences: np.ndarray) -> np.ndarray | None:
        """The rows for hypotheses of these sentences; None where there are too few, or far too many."""
        count = len(self._sentences)
        if len(sentences) == count:
            return np.arange(count) if np.array_equal(sentences, self._sentences) else None
        if not 7 * count < 8 * len(sentences) < 8 * count:
            return None
        begins = np.searchsorted(self._sentences, sentences)
        rows = begins + np.arange(len(sentences)) - np.searchsorted(sentences, sentences)
        fits = rows[-1] < count and np.array_equal(self._sentences[rows], sentences)
        return rows if fits else None

    def _put(self, tokens: list[int]) -> None:
        if len(tokens) == len(self._tokens):
            self._tokens = np.array(tokens, np.int64)
        else:
            self._tokens = self._tokens.copy()
            self._tokens[self._rows] = tokens

    def _index(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(rows).to(self._device)


def _array(part: Tensor | None) -> np.ndarray | None:
    return None if part is None else part.cpu().numpy()


def top_k(logits: Tensor, count: int, forbidden: tuple[np.ndarray, np.ndarray] | None = None) -> tuple[Tensor, Tensor]:
    """The `count` most probable next tokens of each row and their log-probabilities, both [N, count], best first.

    PAD, BOS and what is `forbidden` (rows and tokens) are never chosen, but keep their share of the probability:
    log-probabilities are the model's own.
    Computed in float32 whatever the type of `logits` [N, V]. Raises UserError where they are not finite.
    """
    # One pass, where logsumexp takes three; what it gives is new, and may be written to.
    log_probs = logits.float().log_softmax(-1).index_fill_(1, _never_chosen(logits.device), -torch.inf)
    if forbidden is not None:
        rows, tokens = (torch.from_numpy(part).to(logits.device) for part in forbidden)
        log_probs[rows, tokens] = -torch.inf
    best, tokens = _largest(log_probs, count)
    # topk ranks NaN highest, so that the first column shows whatever is wrong with a row.
    if not math.isfinite(best[:, 0].sum()):
        raise not_finite()
    return best, tokens


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row of [N, V], and where they are, largest first. NaN is larger than any number.

    Of many, the largest of blocks are found first, since that is vectorised on a CPU, and the others looked at in their
    blocks alone.
    """
    whole = values.shape[1] // BLOCK
    if values.numel() < MANY or whole < 4 * count:
        return _top(values, count)
    rest = whole * BLOCK
    blocks = values[:, :rest].unflatten(1, (whole, BLOCK))
    best, chosen = _top(blocks.amax(-1), count)
    if count == 1 and rest == values.shape[1]:
        rows = torch.arange(len(values), device=values.device)
        return best, BLOCK * chosen + blocks[rows, chosen[:, 0]].argmax(1, keepdim=True)
    inside, others = _places(rest, values.shape[1], values.device)
    ids = torch.cat(((chosen[:, :, None] * BLOCK + inside).flatten(1), others.expand(len(values), -1)), 1)
    best, order = _top(values.gather(1, ids), count)
    return best, ids.gather(1, order)


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk`, whose time for a single one is more than twice that of `max`."""
    return values.max(1, keepdim=True) if count == 1 else values.topk(count)


@cache
def _never_chosen(device: torch.device) -> Tensor:
    return torch.tensor(NEVER_CHOSEN, device=device)


@cache
def _places(rest: int, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The numbers of the first block, and those after all blocks."""
    return torch.arange(BLOCK, device=device), torch.arange(rest, size, device=device)
