"""Greedy hypotheses of policies that extend, with their delays. Needs no torch.

With a hard monotonic attention behind a one-way encoder, a target token depends on the source only up to where the
attention stopped (Raffel et al. 2017, section 2.2). It can be written while the rest is still being spoken. Wait-k
reads k source tokens, then writes and reads one in turn (Ma et al. 2019, section 3.1): g(t) = min(k + t - 1, |x|).
Latency is computed from these delays.

Both are simulations: sources are there as a whole. For wait-k a memory that hides from each step what has not been read
by then stands for their arrival.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mt.search.beam import search
from mt.search.hypothesis import Hypothesis
from mt.search.policies import ExtendingOptions
from mt.search.processor import Processor
from mt.search.stepper import Stepper


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineHypothesis(Hypothesis):
    """A hypothesis with its delays: [T] int64, the source tokens that had been read when each token was written."""

    delays: np.ndarray


def online(
    stepper: Stepper,
    policy: ExtendingOptions,
    source_lengths: Sequence[int],
    processors: Sequence[Processor] = (),
) -> list[list[OnlineHypothesis]]:
    """Returns of each sentence the greedy hypothesis with its delays; none where processors allow none.

    stepper: of wait-k one that hides from each step what has not been read by then. source_lengths: of B sentences,
    tokens, EOS included. Raises UserError where the attention is to stop and does not.
    """
    # By the source tokens that have been read, from none to all of the longest source.
    limits = [policy.longest(length) for length in range(max(source_lengths) + 1)]
    found = search(stepper, [limits[length] for length in source_lengths], processors=processors)
    hypotheses: list[list[OnlineHypothesis]] = []
    for of_sentence, length in zip(found, source_lengths, strict=True):
        needed = [policy.needed(np.arange(len(one.tokens)), one.windows.stops, length) for one in of_sentence]
        hypotheses.append([delayed(one, counts, limits) for one, counts in zip(of_sentence, needed, strict=True)])
    return hypotheses


def delayed(hypothesis: Hypothesis, needed: np.ndarray, limits: Sequence[int]) -> OnlineHypothesis:
    """Returns the hypothesis with its delays. A token is written when its attention has read what it needed, and not
    before the tokens in front of it. While the source goes on a hypothesis is no longer than what was read allows.

    needed: [T] int64, source tokens that the attention had to read for each token.
    limits: rising: the most tokens of a hypothesis by the number of source tokens read, 0 first.
    """
    # The fewest source tokens with which so many tokens may be written.
    allowed = np.searchsorted(limits, np.arange(1, len(needed) + 1))
    return OnlineHypothesis(**vars(hypothesis), delays=np.maximum.accumulate(np.maximum(needed, allowed)))
