"""The interface between a search and what it decodes with. Needs no torch and knows no model."""

from typing import NamedTuple, Protocol

from mt.search.scores import Scores
from mt.step import Attended


class Step(NamedTuple):
    """A target step of N hypotheses."""

    scores: Scores
    """The scores of the tokens that may follow each hypothesis, before any is forbidden."""
    attended: Attended | None
    """On the host, but for weights, which may be a tensor on a device, from which rows are copied when hypotheses are
    collected. None where it is not recorded, as in a stream, which keeps nothing of what it has written."""


class Stepper(Protocol):
    """A model that decodes a batch of sources. It holds their memory and the states of hypotheses."""

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        """Returns the next step of N hypotheses, those of one sentence side by side, sentences in the order of the
        batch.

        tokens: the last token of each, BOS at first. parents: the hypothesis of the step before that each continues;
        at first the sentences, each once.
        """
