"""Searches that write while they read: greedy hypotheses with their delays. Needs no torch.

With a hard monotonic attention behind a one-way encoder, a target token depends on the source only up to where the
attention stopped (Raffel et al. 2017, section 2.2). It can be written while the rest is still being spoken. Wait-k
reads k source tokens, then writes and reads one in turn (Ma et al. 2019, section 3.1): g(t) = min(k + t - 1, |x|).
Latency is computed from these delays.

Both are simulations: sources are there as a whole. For wait-k a memory that hides from each step what has not been read
by then stands for their arrival.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mt.common.options import as_written
from mt.errors import UserError
from mt.search.beam import search
from mt.search.hypothesis import Hypothesis
from mt.search.limits import MAX_LENGTH
from mt.search.options import SearchOptions
from mt.search.processor import Processor
from mt.search.stepper import Stepper


class OnlineConfig(SearchOptions):
    """Greedy search that reports how much of the source had been read at each token; the attention reads hard."""

    name: Literal["online"] = "online"


class WaitKConfig(SearchOptions):
    """Greedy search whose target token t, counted from 1, sees the first k + t - 1 source tokens alone. It reports the
    delays (Ma et al. 2019, section 3.1)."""

    name: Literal["wait_k"] = "wait_k"
    k: Annotated[int, "tokens"] = Field(3, ge=1, le=MAX_LENGTH)
    """Source tokens read before the first target token; from then on one for each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineHypothesis(Hypothesis):
    """A hypothesis with its delays: [T] int64, the source tokens that had been read when each token was written."""

    delays: np.ndarray


def online(
    stepper: Stepper,
    *,
    source_lengths: Sequence[int],
    limits: Sequence[int],
    k: int | None = None,
    processors: Sequence[Processor] = (),
) -> list[list[OnlineHypothesis]]:
    """Returns of each sentence the greedy hypothesis with its delays; none where processors allow none.

    source_lengths: of B sentences, tokens, EOS included. limits: see `delayed`. k: of wait-k, whose stepper shows in
    step t, counted from 1, at most k + t - 1 source tokens. None: each token reads up to where the attention stops, or
    the whole source where nothing was selected. Raises UserError where the attention is to stop and does not.
    """
    found = search(stepper, [limits[length] for length in source_lengths], processors=processors)
    return [
        [delayed(hypothesis, _needed(hypothesis, length, k), limits) for hypothesis in of_sentence]
        for of_sentence, length in zip(found, source_lengths, strict=True)
    ]


def delayed(hypothesis: Hypothesis, needed: np.ndarray, limits: Sequence[int]) -> OnlineHypothesis:
    """Returns the hypothesis with its delays. A token is written when its attention has read what it needed, and not
    before the tokens in front of it. While the source goes on a hypothesis is no longer than what was read allows.

    needed: [T] int64, source tokens that the attention had to read for each token.
    limits: rising: the most tokens of a hypothesis by the number of source tokens read, 0 first.
    """
    # The fewest source tokens with which so many tokens may be written.
    allowed = np.searchsorted(limits, np.arange(1, len(needed) + 1))
    return OnlineHypothesis(**vars(hypothesis), delays=np.maximum.accumulate(np.maximum(needed, allowed)))


def _needed(hypothesis: Hypothesis, source_length: int, k: int | None) -> np.ndarray:
    """Returns [T] int64, how many source tokens must have come for each token."""
    if k is not None:
        return np.minimum(k + np.arange(len(hypothesis.tokens)), source_length)
    stops = hypothesis.windows.stops
    if stops is None:
        raise UserError(
            "online decoding needs an attention that stops at a source position, as monotonic, mocha, matcha and milk "
            f"do: choose {as_written('search', 'greedy')}, or such a model"
        )
    # To have selected nothing (-1), a step must have read the whole source.
    return np.where(stops < 0, source_length, stops + 1)
