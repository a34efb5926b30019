"""The record of one target step, which goes from the loop that computes it up to the hypothesis.

Its parts are tensors of a model or arrays of a search, so that this file needs neither torch nor numpy. The ids of the
special tokens are here, too, since all code that takes a step needs them.
"""

from typing import Any, NamedTuple

# The ids of the special tokens, which every vocabulary has in these places.
PAD = 0
UNK = 1
BOS = 2
EOS = 3
SELECTED_NONE = -1
"""A stop of a hard attention that selected no position of a complete source."""
NEEDS_MORE_SOURCE = -2
"""A stop of a hard attention that selected no position of an incomplete source. The step is repeated with more source,
and continues from its last position."""
Part = Any
"""A tensor of a model, or an array of a search."""


class Attended(NamedTuple):
    """The attention of one step of N rows. Positions count from the beginning of the source."""

    weights: Part
    """[N, W] float32: of W positions from `first` on, 0 on padding; the sum is 1, or less if it may select none."""
    stops: Part | None = None
    """[N] int64: the position that a hard step selected, SELECTED_NONE or NEEDS_MORE_SOURCE; None of a soft step."""
    first: Part | None = None
    """[N] int64: the source position of column 0 of the weights; None: 0, and W = S. Only where there are `stops`,
    after which nothing is attended to."""
    looked_at: Part | None = None
    """[N] int64: the number of positions that a hard monotonic step looked at; None of other steps."""


class Prediction(NamedTuple):
    """The prediction of the next token by one step of N rows."""

    logits: Any
    """[N, vocabulary], a tensor."""
    attended: Attended
    state: Any
    """The state after the step: nested tuples of batch-first tensors."""
    normalized: bool = False
    """Whether the logits are the logarithms of the probabilities already."""

    def log_probs(self) -> Any:
        """Returns the logarithms of the probabilities, [N, vocabulary] in float32, which may be written to."""
        logits = self.logits.float()
        # Never normalised twice: each sum over thousands of small probabilities has an error of about 1e-6.
        return logits if self.normalized else logits.log_softmax(-1)
