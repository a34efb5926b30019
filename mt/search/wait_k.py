"""Wait-k: read k source tokens, then write and read one in turn (Ma et al. 2019, section 3.1).

    g(t) = min(k + t - 1, |x|)

A simulation: sources are there as a whole, and a memory that hides from each step what has not been read by then stands
for their arrival.
"""

from typing import Any

import torch
from torch import Tensor

from mt.search.constraints import FREE, Constraints
from mt.search.greedy import greedy
from mt.search.hypothesis import Decoder
from mt.search.online import OnlineHypothesis, delayed


def wait_k(
    decoder: Decoder,
    memory: Any,
    k: int,
    *,
    source_lengths: Tensor,
    limits: Tensor,
    constraints: Constraints = FREE,
) -> list[OnlineHypothesis]:
    """Greedy hypotheses with their delays.

    memory: as in `greedy`; in step t, counted from 1, it shows no more than the first k + t - 1 source tokens.
    source_lengths: [B] int64, tokens, EOS included. limits: see `delayed`.
    """
    hypotheses = greedy(
        decoder, memory, len(source_lengths), max_lengths=limits[source_lengths], constraints=constraints
    )
    return [
        delayed(hypothesis, (k + torch.arange(len(hypothesis.tokens))).clamp(max=length), limits)
        for hypothesis, length in zip(hypotheses, source_lengths.tolist(), strict=True)
    ]
