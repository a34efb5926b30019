"""The interface between a search and a model: the next tokens of some hypotheses. Needs no torch and knows no model."""

from typing import NamedTuple, Protocol

import numpy as np

from mt.search.constraints import Forbidden, Wanted
from mt.search.draws import Draws
from mt.step import Attended

READ = -1
"""Stands in place of a token where more of the source must be read to predict the next one. The hypothesis ends here,
as with EOS, and a later search, after more was read, goes on with it."""


class Step(NamedTuple):
    """The most probable next tokens of N hypotheses."""

    log_probs: np.ndarray
    """[N, count] float32: natural logarithms of the probabilities of the most probable tokens, largest first; -inf
    where fewer may follow."""
    tokens: np.ndarray
    """[N, count] int64: these tokens; READ where the source is still arriving and the model must read first."""
    attended: Attended | None
    """On the host, but for weights, which may be a tensor on a device, from which rows are copied when hypotheses are
    collected. None where it is not recorded, as in a stream, which keeps nothing of what it has written."""
    wanted: np.ndarray | None = None
    """[W] float32: the log-probabilities of the tokens that were `wanted`, also of forbidden ones; None without any."""


class Stepper(Protocol):
    """A model that decodes a batch of sources. It holds their memory and the states of hypotheses."""

    def step(
        self,
        tokens: list[int],
        parents: list[int],
        count: int | Draws,
        forbidden: Forbidden | None,
        wanted: Wanted | None = None,
    ) -> Step:
        """Returns the next step of N hypotheses, those of one sentence side by side, sentences in the order of the
        batch.

        tokens: the last token of each, BOS at first. parents: the hypothesis of the step before that each continues;
        at first the sentences, each once. count: how many next tokens to return for each, fewer where the vocabulary
        has fewer; or how to draw them. forbidden: tokens that may not follow. wanted: tokens whose
        log-probabilities are returned beside these. Raises UserError where the model's scores are not finite.
        """
