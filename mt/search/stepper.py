"""What a search asks of a model: the next tokens of some hypotheses. It needs no torch and knows no model."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from mt.search.constraints import Forbidden

READ = -1
"""In place of a token: what has come of the source decides no next one. The hypothesis ends here, as with EOS, and a
search that begins after more was read goes on with it."""


class Attention(NamedTuple):
    """The attention of one step, of N' computed rows."""

    rows: np.ndarray | None
    """[N] int64: the computed row of each hypothesis; None where these are the hypotheses."""
    weights: Any
    """[N', W] float32, of W positions from `first` on: an array, or a tensor of a device from which rows are copied
    when a hypothesis is read out."""
    stops: np.ndarray | None = None
    """[N'] int64: where a hard attention stopped, -1 where it selected nothing; None if it is soft."""
    first: np.ndarray | None = None
    """[N'] int64: the source position of the weights' first column; None: 0, and W = S. Given with `stops` alone, after
    which nothing is attended to."""
    energies: np.ndarray | None = None
    """[N'] int64: how many energies the step took to find its stop; None where all of the source was compared."""


class Step(NamedTuple):
    """What a model says of the next token of N hypotheses."""

    log_probs: np.ndarray
    """[N, count] float32: natural logarithms of the probabilities of the most probable tokens, largest first; -inf
    where fewer may follow."""
    tokens: np.ndarray
    """[N, count] int64: these tokens; READ alone where the source is still arriving, and the model must read first."""
    attention: Attention | None
    """None where nobody looks at it, as of a stream, which keeps no record of what it has written."""


class Stepper(Protocol):
    """A model that decodes a batch of sources. It owns their memory and the states of hypotheses."""

    def step(self, tokens: list[int], parents: list[int], count: int, forbidden: Forbidden | None) -> Step:
        """The next step of N hypotheses, those of one sentence side by side, sentences in the order of the batch.

        tokens: the last token of each, BOS at first. parents: the hypothesis of the step before that each continues;
        at first the sentences, each once. count: next tokens wanted of each; fewer where the vocabulary has fewer.
        forbidden: tokens that may not follow. Raises UserError where the model's scores are not finite.
        """
