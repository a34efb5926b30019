"""The probability of a token that is in part a softmax's, and in part something else, as that of a copy."""

from typing import NamedTuple

import torch
from torch import Tensor

LEAST = 80.0
"""Nats: a mixed probability below exp(-LEAST) has the gradient of one of that size."""


class Mixture(NamedTuple):
    """The probability of each target token as a part of the softmax's and something else:
    p = share * softmax(logits)[target] + other."""

    share: Tensor
    """[B, T], greater than 0."""
    other: Tensor
    """[B, T], not negative."""
    parts: Tensor | None = None
    """[B, T, S]: the probability of each of S places that the other may be from, whatever the target; for `agreement`
    alone."""


def mixed(
    predicted: Tensor, mixture: Tensor, smoothing: float, counts: Tensor | None, share: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the logarithms of mixed probabilities [N, 1], the softmax's part in each, and the gradient of (1 -
    smoothing) * -log p with respect to the mixture, [2, N].

    predicted: [N, 1], the logarithms of the softmax's probabilities. mixture: [2, N], share and other. counts: [N, 1],
    1 or 0, whether each row counts; share: [N, 1], how much, in the gradient; None: 1.
    """
    log_share, log_other = mixture.log()[..., None]
    by_softmax = log_share + predicted
    log_prob = torch.logaddexp(by_softmax, log_other)
    # The gradient of what is nearly impossible is cut, so that it stays a number where it is multiplied by 0.
    grad = torch.cat((-(predicted - log_prob).exp(), -(-log_prob.clamp(min=-LEAST)).exp()), 1)
    generated = (by_softmax - log_prob).exp()
    grad *= 1 - smoothing
    log_prob = log_prob if counts is None else log_prob * counts
    return log_prob, generated, (grad if share is None else grad * share).T
