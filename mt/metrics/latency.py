"""Latency of simultaneous translation: average proportion (AP), average lagging (AL) and differentiable AL (DAL).

All three take the delays of one sentence: delays[i], g(i) in the papers, is the number of source tokens read (READ)
when target token i is emitted (WRITE). Source and target lengths count EOS on both sides or on neither.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from mt.errors import UserError
from mt.metrics.score import Score, require_pairs


def average_proportion(delays: Sequence[int], source_length: int) -> float:
    """AP, the mean fraction of the source read per target token: sum_i g(i) / (|x| |y|) (Cho & Esipova 2016, 3.2).

    Raises:
        ValueError: delays that no translator can have; see `average_lagging`.
    """
    _require_delays(delays, source_length)
    return sum(delays) / (source_length * len(delays))


def average_lagging(delays: Sequence[int], source_length: int) -> float:
    """AL, source tokens behind an ideal policy: 1/tau sum_{i <= tau} g(i) - (i-1)/gamma (Ma et al. 2019, equation 8).

    gamma is |y| / |x|, and tau the first target token that is emitted with the whole source read, or the last one
    where the source is never read to its end.

    Raises:
        ValueError: no delays, a delay outside 0..source_length, or one smaller than the one before it.
    """
    _require_delays(delays, source_length)
    rate = len(delays) / source_length
    counted = delays.index(source_length) + 1 if source_length in delays else len(delays)
    return fmean(delay - i / rate for i, delay in enumerate(delays[:counted]))


def differentiable_average_lagging(delays: Sequence[int], source_length: int) -> float:
    """DAL: AL over all target tokens with g'(i) = max(g(i), g'(i-1) + 1/gamma) (Cherry & Foster 2019, section 3.1).

    Raises:
        ValueError: delays that no translator can have; see `average_lagging`.
    """
    _require_delays(delays, source_length)
    rate = len(delays) / source_length
    lags = []
    adjusted = -float("inf")
    for i, delay in enumerate(delays):
        adjusted = max(delay, adjusted + 1 / rate)
        lags.append(adjusted - i / rate)
    return fmean(lags)


def latency(delays: Sequence[Sequence[int]], source_lengths: Sequence[int]) -> dict[str, Score]:
    """The three measures, averaged over the sentences of a corpus: "ap" (a proportion), "al" and "dal" (tokens).

    |y| is the length of the hypothesis, not of the reference. An empty hypothesis has no latency and is left out; the
    `n` of the signature counts the others.

    Raises:
        UserError: unequal counts, or no sentence with a target token.
        ValueError: delays that no translator can have; see `average_lagging`.
    """
    require_pairs(delays, source_lengths)
    emitted = [(g, length) for g, length in zip(delays, source_lengths, strict=True) if len(g)]
    if not emitted:
        raise UserError("no hypothesis has a token, so there is no latency to measure")
    signature = f"n:{len(emitted)}|length:hypothesis|average:sentence"
    measures = {"ap": average_proportion, "al": average_lagging, "dal": differentiable_average_lagging}
    return {
        name: Score(fmean(measure(g, length) for g, length in emitted), signature) for name, measure in measures.items()
    }


def _require_delays(delays: Sequence[int], source_length: int) -> None:
    if not delays or delays[0] < 0 or delays[-1] > source_length or any(b < a for a, b in pairwise(delays)):
        raise ValueError(f"delays must be non-empty and rise within 0..{source_length}, not {list(delays)}")
