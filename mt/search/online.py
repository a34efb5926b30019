"""Online decoding: greedy search that reports how much of the source it had read at each token.

With a hard monotonic attention behind a one-way encoder, a target token depends on the source only up to where the
attention stopped (Raffel et al. 2017, section 2.2): it can be written while the rest is still being spoken. Latency is
computed from these delays (g(t) in Ma et al. 2019, section 3.1).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mt.errors import UserError
from mt.search.constraints import FREE, Constraints
from mt.search.greedy import greedy
from mt.search.hypothesis import Decoder, Hypothesis


@dataclass(frozen=True)
class OnlineHypothesis(Hypothesis):
    """A hypothesis with its delays: [T] int64, the source tokens that had been read when each token was written."""

    delays: Tensor


def online(
    decoder: Decoder,
    memory: Any,
    batch_size: int,
    *,
    source_lengths: Tensor,
    max_lengths: Tensor,
    constraints: Constraints = FREE,
) -> list[OnlineHypothesis]:
    """Greedy hypotheses with delays g_i = max over k <= i of stop_k + 1; the whole source where nothing was selected.

    source_lengths: [B] int64, tokens, EOS included. The rest as in `greedy`.
    Raises UserError where the attention does not stop.
    """
    hypotheses = greedy(decoder, memory, batch_size, max_lengths=max_lengths, constraints=constraints)
    return [_delayed(h, length) for h, length in zip(hypotheses, source_lengths.tolist(), strict=True)]


def _delayed(hypothesis: Hypothesis, source_length: int) -> OnlineHypothesis:
    if hypothesis.stops is None:
        raise UserError(
            "online decoding needs an attention that stops at a source position, but this one reads the whole source "
            "at each step; use a model with attention=monotonic, mocha, matcha or milk, decoded hard, or search=greedy"
        )
    # To have selected nothing (-1), a step must have read the whole source.
    read = torch.where(hypothesis.stops < 0, source_length, hypothesis.stops + 1)
    delays = torch.cummax(read, 0).values
    return OnlineHypothesis(**vars(hypothesis), delays=delays)
