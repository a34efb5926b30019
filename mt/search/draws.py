"""Next tokens that are drawn by their probabilities. Needs no torch."""

from typing import NamedTuple

import numpy as np

from mt.errors import UserError
from mt.search.constraints import Forbidden
from mt.search.hypothesis import NEVER_CHOSEN


class Draws(NamedTuple):
    """How the next tokens of N hypotheses are drawn."""

    numbers: np.ndarray
    """[N, D] float64, uniform in [0, 1): one for each of D tokens that are drawn to follow each hypothesis."""
    temperature: float
    """Divides log-probabilities before tokens are drawn by them: below 1 for more of what is probable."""

    def choose(self, log_probs: np.ndarray, forbidden: Forbidden | None) -> tuple[np.ndarray, np.ndarray]:
        """Returns the log-probabilities, of the model itself, of drawn tokens, [N, D] float32, and these, [N, D] int64.

        A token is where the sum of the probabilities up to it, in the order of the vocabulary, first exceeds its
        number. log_probs: [N, V] float32, of all next tokens; used up. Raises UserError where they are not finite.
        """
        log_probs[:, NEVER_CHOSEN] = -np.inf
        if forbidden is not None:
            log_probs[forbidden.pairs(log_probs.shape[1])] = -np.inf
        largest = log_probs.max(1, keepdims=True)
        if not np.isfinite(largest).all():
            raise non_finite_scores_error()
        sums = np.exp((log_probs - largest) / np.float32(self.temperature)).cumsum(1, dtype=np.float64)
        # Rounded, a number below 1 may become all of the sum, after which there are no tokens.
        limits = np.nextafter(sums[:, -1:], 0)
        thresholds = np.minimum(self.numbers * sums[:, -1:], limits)
        pairs = zip(sums, thresholds, strict=True)
        tokens = np.stack([row.searchsorted(thresholds_of_row, side="right") for row, thresholds_of_row in pairs])
        return np.take_along_axis(log_probs, tokens, 1), tokens


def non_finite_scores_error() -> UserError:
    """Returns the error for scores of next tokens that are not finite."""
    return UserError(
        "the model's scores for the next token are not finite numbers (NaN or infinity): decode with an earlier "
        "checkpoint. Its training has diverged, or its weights are damaged"
    )
