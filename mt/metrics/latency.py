"""Latency of simultaneous translation: AP, AL, LAAL, DAL and YAAL, with the definitions and lengths of the scorers that
the field uses: SimulEval 1.1.4 (facebookresearch/SimulEval, latency_scorer.py) and OmniSTEval 0.1.10 (scoring.py).

All take the delays of one sentence: delays[i], g(i+1) in the papers, is how much of the source had been read when
target word i was written. Sources count words, or milliseconds of speech; no end of sentence is counted on either side.
"""

from collections.abc import Sequence
from itertools import pairwise, takewhile
from math import isfinite
from statistics import fmean
from typing import Literal, NamedTuple

from mt.metrics.advice import is_unspaced, nearly_all
from mt.metrics.score import Score

LatencyUnit = Literal["word", "char", "subword"]
"""The unit in which a target is counted. A source of text is counted in words between blanks, whatever the unit."""
BETWEEN_BLANKS = (
    "latency counts words between blanks, and most references have none: choose the unit char (dataset.latency_unit, "
    "--latency-unit or --unit)"
)
DEGENERATE = 20.0
"""Percentage points between SWF and EFSW above which OmniSTEval calls a policy degenerate."""
_SIMULEVAL = "SimulEval.1.1.4"
_OMNISTEVAL = "OmniSTEval.0.1.10"


class Timing(NamedTuple):
    """When a hypothesis was written, and the lengths that it is compared with."""

    delays: Sequence[float]
    """The delay of each target word; an empty hypothesis has none."""
    source_length: float
    reference_length: int | None
    """The reference's words, as SimulEval counts them; None where there is no reference: the hypothesis' length
    counts."""
    stripped_length: int | None
    """The reference's words as OmniSTEval counts them, without white space at the ends."""


def average_proportion(delays: Sequence[float], source_length: float, target_length: float | None = None) -> float:
    """Computes AP, the mean share of the source that was read before a word: sum_i g(i) / (|x| |y|) (Cho & Esipova
    2016, section 3.2).

    target_length: |y|; SimulEval's is that of the reference, so that AP may exceed 1. None: of the hypothesis.

    Raises:
        ValueError: no delays, one below 0 or below the one before it, or no source.
    """
    _require_delays(delays, source_length)
    return sum(delays) / (source_length * (target_length or len(delays)))


def average_lagging(delays: Sequence[float], source_length: float, target_length: float | None = None) -> float:
    """Computes AL, how far a policy is behind an ideal one: 1/tau sum_{i <= tau} g(i) - (i-1) |x|/|y| (Ma et al. 2019,
    equation 8).

    tau is the first word that was written with the whole source read, or else the last. Where even the first delay is
    beyond the source (speech), it is the result. target_length: |y|; SimulEval's is that of the reference; None: of the
    hypothesis. Raises ValueError as `average_proportion`.
    """
    _require_delays(delays, source_length)
    if delays[0] > source_length:
        return delays[0]
    rate = (target_length or len(delays)) / source_length
    early = sum(1 for _ in takewhile(lambda delay: delay < source_length, delays))
    return fmean(delay - i / rate for i, delay in enumerate(delays[: early + 1]))


def length_adaptive_average_lagging(
    delays: Sequence[float], source_length: float, target_length: float | None = None
) -> float:
    """Computes LAAL: AL in which |y| is the length of the longer of hypothesis and reference, so that writing too much
    does not pay (Papi et al. 2022; Polák et al. 2022). For the arguments see `average_lagging`."""
    return average_lagging(delays, source_length, max(len(delays), target_length or 0))


def differentiable_average_lagging(delays: Sequence[float], source_length: float) -> float:
    """Computes DAL: AL over all words with g'(i) = max(g(i), g'(i-1) + |x|/|y|) (Cherry & Foster 2019, section 3.1).

    |y| is the length of the hypothesis, always. Raises ValueError as `average_proportion`.
    """
    _require_delays(delays, source_length)
    rate = len(delays) / source_length
    lags = []
    adjusted = -float("inf")
    for i, delay in enumerate(delays):
        adjusted = max(delay, adjusted + 1 / rate)
        lags.append(adjusted - i / rate)
    return fmean(lags)


def yet_another_average_lagging(
    delays: Sequence[float], source_length: float, target_length: float | None = None
) -> float | None:
    """Computes YAAL: LAAL over the words alone that were written before the source ended (Polák et al. 2025, arXiv
    2509.17349); None where there is no such word. Raises ValueError as `average_proportion`."""
    _require_delays(delays, source_length)
    rate = max(len(delays), target_length or 0) / source_length
    lags = [delay - i / rate for i, delay in enumerate(delays) if delay < source_length]
    return fmean(lags) if lags else None


def latency(
    timings: Sequence[Timing],
    *,
    unit: LatencyUnit = "word",
    source: Literal["word", "ms"] = "word",
    reference_length: bool = True,
) -> dict[str, Score]:
    """Computes the measures of a corpus, means over its sentences: "ap" (a share), "al", "laal", "dal", "yaal" (source
    words, or ms), and "swf" and "efsw" of the test for degenerate policies, in percent.

    An empty hypothesis has no latency and is left out: `n` of the signature counts the others. Where there is none of
    them there are no scores; YAAL and EFSW also need a word that was written before its source ended.

    unit: of the targets, source: of the sources, for the signature. reference_length: false takes the length of the
    hypothesis everywhere but in YAAL (SimulEval's --no-use-ref-len).
    """
    written = [timing for timing in timings if len(timing.delays)]
    if not written:
        return {}
    count = f"n:{len(written)}|empty:{len(timings) - len(written)}|unit:{unit}{'|source:ms' if source == 'ms' else ''}"

    def mean(length: str, values: Sequence[float], version: str = _SIMULEVAL) -> Score:
        return Score(fmean(values), f"{count}|length:{length}|average:sentence|version:{version}")

    lengths = [timing.reference_length if reference_length else None for timing in written]
    pairs = list(zip(written, lengths, strict=True))
    kind, longer = ("reference", "longer") if reference_length else ("hypothesis", "hypothesis")
    scores = {
        "ap": mean(kind, [average_proportion(t.delays, t.source_length, length) for t, length in pairs]),
        "al": mean(kind, [average_lagging(t.delays, t.source_length, length) for t, length in pairs]),
        "laal": mean(longer, [length_adaptive_average_lagging(t.delays, t.source_length, n) for t, n in pairs]),
        "dal": mean("hypothesis", [differentiable_average_lagging(t.delays, t.source_length) for t in written]),
    }
    lags = [yet_another_average_lagging(t.delays, t.source_length, t.stripped_length) for t in written]
    early = [(lag, t.source_length) for lag, t in zip(lags, written, strict=True) if lag is not None]
    corpus = f"{count}|average:corpus|version:{_OMNISTEVAL}"
    words = [delay < t.source_length for t in written for delay in t.delays]
    scores["swf"] = Score(100 * fmean(words), corpus)
    if early:
        scores["yaal"] = mean("longer", [lag for lag, _ in early], _OMNISTEVAL)
        # The share of the source after the mean delay, in which words can be written before it ends.
        left = sum(max(0.0, length - lag) for lag, length in early)
        whole = sum(length for _, length in early)
        scores["efsw"] = Score(100 * left / whole, corpus)
    return {name: scores[name] for name in ("ap", "al", "laal", "dal", "yaal", "swf", "efsw") if name in scores}


def unsuited(unit: LatencyUnit, references: Sequence[str]) -> str | None:
    """Returns why latency in this unit says little of text like this, and what to choose instead; None where it
    suits."""
    return BETWEEN_BLANKS if unit == "word" and nearly_all(references, is_unspaced) else None


def degenerate(scores: dict[str, Score]) -> bool:
    """Returns whether a policy writes much more, or less, before its sources end than its mean delay would let it, as
    one that waits for the end in half of the sentences (OmniSTEval's test: |EFSW - SWF| > 20)."""
    return "efsw" in scores and abs(scores["efsw"].score - scores["swf"].score) > DEGENERATE


def _require_delays(delays: Sequence[float], source_length: float) -> None:
    rising = len(delays) > 0 and delays[0] >= 0 and all(b >= a for a, b in pairwise(delays)) and isfinite(delays[-1])
    if not rising or source_length <= 0:
        raise ValueError(
            f"delays must be non-empty and rise from 0, of a source, not {list(delays)} of {source_length}"
        )
