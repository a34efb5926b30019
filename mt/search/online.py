"""Greedy hypotheses of policies that extend, with their delays. Needs no torch.

With a hard monotonic attention behind a one-way encoder, a target token depends on the source only up to where the
attention stopped (Raffel et al. 2017, section 2.2). It can be written while the rest is still being spoken. Wait-k
reads k source tokens, then writes and reads one in turn (Ma et al. 2019, section 3.1): g(t) = min(k + t - 1, |x|).
Latency is computed from these delays.

Both are simulations: sources are there as a whole. For wait-k a memory that hides from each step what has not been read
by then stands for their arrival.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mt.search.beam import search
from mt.search.hypothesis import Hypothesis
from mt.search.policies import ExtendingOptions
from mt.search.processor import Processor
from mt.search.stepper import Stepper


def online(
    stepper: Stepper, policy: ExtendingOptions, source_lengths: Sequence[int], processors: Sequence[Processor] = ()
) -> list[list[Hypothesis]]:
    """Returns of each sentence the greedy hypothesis with its delays; none where processors allow none. A token is
    written when what it needs has come, and not before the tokens in front of it. While the source goes on a hypothesis
    is no longer than what was read allows.

    stepper: of wait-k one that hides from each step what has not been read by then. source_lengths: of B sentences,
    tokens, EOS included. Raises UserError where the attention is to stop and does not.
    """
    # By the source tokens that have been read, from none to all of the longest source: rising.
    limits = [policy.longest(length) for length in range(max(source_lengths) + 1)]
    found = search(stepper, [limits[length] for length in source_lengths], processors=processors)

    def delayed(one: Hypothesis, length: int) -> Hypothesis:
        places = np.arange(len(one.tokens))
        needed = policy.needed(places, one.windows.stops, length)
        # The fewest source tokens with which so many tokens may be written.
        allowed = np.searchsorted(limits, places + 1)
        return replace(one, delays=np.maximum.accumulate(np.maximum(needed, allowed)))

    pairs = zip(found, source_lengths, strict=True)
    return [[delayed(one, length) for one in of_sentence] for of_sentence, length in pairs]
