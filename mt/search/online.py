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
    *,
    source_lengths: Tensor,
    limits: Tensor,
    read_for: Tensor | None = None,
    constraints: Constraints = FREE,
) -> list[OnlineHypothesis]:
    """Greedy hypotheses that read up to where the attention stops; the whole source where nothing was selected.

    memory: as in `greedy`. source_lengths: [B] int64, tokens, EOS included. limits: see `delayed`. read_for: [B, S]
    int64, source tokens that must have come before a stop at each position; None: those up to it.
    Raises UserError where the attention does not stop.
    """
    hypotheses = greedy(
        decoder, memory, len(source_lengths), max_lengths=limits[source_lengths], constraints=constraints
    )
    if read_for is None:
        read_for = torch.arange(1, len(limits)).expand(len(hypotheses), -1)
    rows = zip(hypotheses, read_for.cpu(), source_lengths.tolist(), strict=True)
    return [delayed(hypothesis, _read(hypothesis, row, length), limits) for hypothesis, row, length in rows]


def delayed(hypothesis: Hypothesis, needed: Tensor, limits: Tensor) -> OnlineHypothesis:
    """The hypothesis with its delays: a token is written when its attention has read what it needed, and not before the
    tokens in front of it. While the source goes on a hypothesis is no longer than what has been read allows, and waits.

    needed: [T] int64, source tokens that the attention had to read for each token.
    limits: [S + 1] int64, rising: the most tokens of a hypothesis by the number of source tokens read, 0 first.
    """
    count = torch.arange(1, len(needed) + 1)
    allowed = torch.searchsorted(limits.cpu(), count)  # the fewest source tokens with which so many may be written
    return OnlineHypothesis(**vars(hypothesis), delays=torch.maximum(needed, allowed).cummax(0).values)


def _read(hypothesis: Hypothesis, read_for: Tensor, source_length: int) -> Tensor:
    if hypothesis.stops is None:
        raise UserError(
            "online decoding needs an attention that stops at a source position, but this one reads the whole source "
            "at each step; use a model with attention=monotonic, mocha, matcha or milk, decoded hard, or search=greedy"
        )
    # To have selected nothing (-1), a step must have read the whole source.
    return torch.where(hypothesis.stops < 0, source_length, read_for[hypothesis.stops.clamp(min=0)])
