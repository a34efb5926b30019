"""How far an online translator lags behind its source, counted in source tokens.

All three measures take the delays of one sentence: delays[i] (g in the papers) is the number of source tokens read
when target token i is written. Lengths are the caller's to define: count EOS on both sides or on neither.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from mt.errors import UserError
from mt.metrics.score import Score, require_pairs


def average_proportion(delays: Sequence[int], source_length: int) -> float:
    """AP, the mean share of the source read per target token, in (0, 1] (Cho & Esipova 2016, section 3.2).

    Raises:
        ValueError: delays that no translator can have; see `average_lagging`.
    """
    _require_delays(delays, source_length)
    return sum(delays) / (source_length * len(delays))


def average_lagging(delays: Sequence[int], source_length: int) -> float:
    """AL, source tokens behind an ideal translator that keeps pace (Ma et al. 2019, equation 8).

    Only the target tokens up to the first that was written with the whole source read are counted, or all of them
    where the end was never read.

    Raises:
        ValueError: no delays, a delay outside 0..source_length, or one smaller than the one before it.
    """
    _require_delays(delays, source_length)
    rate = len(delays) / source_length
    counted = delays.index(source_length) + 1 if source_length in delays else len(delays)
    return fmean(delay - i / rate for i, delay in enumerate(delays[:counted]))


def differentiable_average_lagging(delays: Sequence[int], source_length: int) -> float:
    """DAL: like AL over all target tokens, each of which takes at least 1/rate to write (Cherry & Foster 2019, 3.1).

    Raises:
        ValueError: delays that no translator can have; see `average_lagging`.
    """
    _require_delays(delays, source_length)
    rate = len(delays) / source_length
    lags = []
    written = -float("inf")
    for i, delay in enumerate(delays):
        written = max(delay, written + 1 / rate)
        lags.append(written - i / rate)
    return fmean(lags)


def latency(delays: Sequence[Sequence[int]], source_lengths: Sequence[int]) -> dict[str, Score]:
    """The three measures, averaged over the sentences of a corpus: "ap" (a proportion), "al" and "dal" (tokens).

    The target's length is the hypothesis', not the reference's. A sentence for which nothing was written has no lag
    and is left out; the `n` of the signature counts the others.

    Raises:
        UserError: unequal counts, or no sentence with a target token.
        ValueError: delays that no translator can have; see `average_lagging`.
    """
    require_pairs(delays, source_lengths)
    written = [(g, length) for g, length in zip(delays, source_lengths, strict=True) if len(g)]
    if not written:
        raise UserError("no hypothesis has a token, so there is no latency to measure")
    signature = f"n:{len(written)}|length:hypothesis|average:sentence"
    measures = {"ap": average_proportion, "al": average_lagging, "dal": differentiable_average_lagging}
    return {
        name: Score(fmean(measure(g, length) for g, length in written), signature) for name, measure in measures.items()
    }


def _require_delays(delays: Sequence[int], source_length: int) -> None:
    if not delays or delays[0] < 0 or delays[-1] > source_length or any(b < a for a, b in pairwise(delays)):
        raise ValueError(f"delays must be non-empty and rise within 0..{source_length}, not {list(delays)}")
