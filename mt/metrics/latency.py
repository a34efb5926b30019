"""Latency of simultaneous translation (AP, AL, LAAL, DAL, YAAL), erasure, and SimulEval's log, in which results are
exchanged. Measures of one sentence come first, then the log, and last the scores of a log."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, starmap, takewhile
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from mt.common.options import first_fault
from mt.errors import UserError
from mt.metrics.advice import is_unspaced, nearly_all
from mt.metrics.base import Score
from mt.storage import write_text
from mt.text_io import file_lines

# Definitions and lengths follow the scorers in general use: SimulEval 1.1.4 (latency_scorer.py) and OmniSTEval 0.1.10
# (scoring.py). `delays[i]`, g(i+1) in the papers, is how much of the source had been read when target word i was
# written: words, or milliseconds of speech. The end of a sentence is counted on neither side.

LatencyUnit = Literal["word", "char", "subword"]
"""The unit in which a target is counted. A source of text is counted in words between blanks, whatever the unit."""
BETWEEN_BLANKS = (
    "latency counts words between blanks, and most references have none: choose the unit char (dataset.latency_unit, "
    "--latency-unit)"
)
DEGENERATE = 20.0
"""Percentage points between SWF and EFSW above which OmniSTEval calls a policy degenerate."""
_SIMULEVAL = "SimulEval.1.1.4"
_OMNISTEVAL = "OmniSTEval.0.1.10"


def erased(before: Sequence[str], after: Sequence[str]) -> int:
    """Returns how many words an update of a re-translation takes back: all from the first difference on (Arivazhagan et
    al. 2020, "Re-translation versus streaming for simultaneous translation", section 3)."""
    return len(before) - _common(before, after)


def finalised(updates: Sequence[Sequence[str]]) -> list[int]:
    """Returns for each word of the last update the number of the update, from 1, after which no word up to it changes
    (the same section). If each source word brings an update, these numbers are delays."""
    *earlier, last = updates
    stable = len(last)
    delays = [len(updates)] * stable
    # From the last update backwards, the common beginning can only become shorter.
    for number in range(len(earlier), 0, -1):
        stable = min(stable, _common(earlier[number - 1], last))
        delays[:stable] = [number] * stable
    return delays


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns the length of the common beginning of two updates."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def average_proportion(delays: Sequence[float], source_length: float, target_length: float | None = None) -> float:
    """Computes AP, the mean share of the source that was read before a word: sum_i g(i) / (|x| |y|) (Cho & Esipova
    2016, section 3.2). target_length: |y|; SimulEval takes the reference's, so that AP may exceed 1; None takes the
    hypothesis's."""
    return sum(delays) / (source_length * (target_length or len(delays)))


def average_lagging(delays: Sequence[float], source_length: float, target_length: float | None = None) -> float:
    """Computes AL, how far a policy is behind an ideal one: 1/tau sum_{i <= tau} g(i) - (i-1) |x|/|y| (Ma et al. 2019,
    equation 8). Word tau is the first that was written after the whole source was read, or the last. If the first delay
    is beyond the source, as may be in speech, that delay is the result. target_length: see `average_proportion`."""
    if delays[0] > source_length:
        return delays[0]
    rate = (target_length or len(delays)) / source_length
    # Words before tau, then the mean over all words up to tau.
    early = sum(1 for _ in takewhile(lambda delay: delay < source_length, delays))
    return fmean(delay - i / rate for i, delay in enumerate(delays[: early + 1]))


def length_adaptive_average_lagging(
    delays: Sequence[float], source_length: float, target_length: float | None = None
) -> float:
    """Computes LAAL: AL where |y| is the greater length of hypothesis and reference (Papi et al. 2022; Polák et al.
    2022)."""
    return average_lagging(delays, source_length, max(len(delays), target_length or 0))


def differentiable_average_lagging(delays: Sequence[float], source_length: float) -> float:
    """Computes DAL: AL over all words with g'(i) = max(g(i), g'(i-1) + |x|/|y|) (Cherry & Foster 2019, section 3.1).
    |y| is always the length of the hypothesis."""
    rate = len(delays) / source_length
    lags = []
    adjusted = -float("inf")
    for i, delay in enumerate(delays):
        # Words that are written at once still take 1 / rate of the source each.
        adjusted = max(delay, adjusted + 1 / rate)
        lags.append(adjusted - i / rate)
    return fmean(lags)


def yet_another_average_lagging(
    delays: Sequence[float], source_length: float, target_length: float | None = None
) -> float | None:
    """Computes YAAL: LAAL over only the words that were written before the source ended (Polák et al. 2025, arXiv
    2509.17349); None without such words."""
    rate = max(len(delays), target_length or 0) / source_length
    lags = [delay - i / rate for i, delay in enumerate(delays) if delay < source_length]
    return fmean(lags) if lags else None


# The log is SimulEval 1.1.4's `instances.log`, a JSON object for each sentence, with `config.yaml` beside it.
# `simuleval --score-only` and OmniSTEval read these files.

LOG = "instances.log"

Measure = Callable[[str], int]


class Instance(BaseModel, frozen=True, strict=True):
    """A line of the log."""

    index: int = Field(ge=0)
    prediction: str
    """The hypothesis, detokenised."""
    delays: tuple[int | float, ...]
    """How much of the source had been read before each target word, character or subword."""
    reference: str | None
    """The raw line, with its newline, as in SimulEval."""
    source: str | list[str] = ""
    source_length: int | float = Field(ge=0, allow_inf_nan=False)
    """The length of the source in the unit of the delays: words between blanks, or ms."""
    prediction_spm: tuple[str, ...] | None = None
    """The subwords of the prediction, if subwords are counted."""
    speech: bool = False
    """Whether the source is known to be speech."""
    erased: int = Field(0, ge=0)
    """How many words, characters or subwords were taken back. Logs of SimulEval lack the key: it takes back nothing."""

    def units(self, unit: LatencyUnit) -> int:
        """Returns the length of the prediction; -1 if it is not known."""
        if unit == "subword":
            return -1 if self.prediction_spm is None else len(self.prediction_spm)
        return len(self.prediction.split()) if unit == "word" else len("".join(self.prediction.split()))

    def line(self) -> str:
        """Returns the line as SimulEval writes it if computing takes no time: `elapsed` is 0 for text, and the delays
        for speech."""
        # The keys are SimulEval's, in its order.
        plain = {
            "index": self.index,
            "prediction": self.prediction,
            "delays": self.delays,
            "elapsed": self.delays if self.speech else [0] * len(self.delays),
            "prediction_length": len(self.delays),
            "reference": self.reference,
            "source": self.source,
            "source_length": self.source_length,
        }
        plain |= {"erased": self.erased} if self.erased else {}
        return json.dumps(plain if self.prediction_spm is None else plain | {"prediction_spm": self.prediction_spm})


def write_log(folder: Path, instances: Sequence[Instance]) -> None:
    """Writes `instances.log` and `config.yaml`."""
    source = "speech" if any(instance.speech for instance in instances) else "text"
    write_text(folder / LOG, [instance.line() for instance in instances])
    write_text(folder / "config.yaml", [f"source_type: {source}", "target_type: text"])


def read_log(path: Path, unit: LatencyUnit = "word") -> list[Instance]:
    """Reads the sentences of a log, one of ours or of SimulEval's, in the order of the lines. Raises UserError with the
    number of a line that is not valid."""
    instances: dict[int, Instance] = {}
    for number, line in enumerate(file_lines(path, pipes=True), start=1):
        # A line may be no JSON of this form, or contradict itself or an earlier line.
        try:
            instance = Instance.model_validate_json(line)
            wrong = _fault(instance, unit) or (instance.index in instances and f"index {instance.index} is there twice")
        except ValidationError as error:
            wrong = first_fault(error, depth=2)
        if wrong:
            raise UserError(
                f"{path}, line {number} is no line of an {LOG} ({wrong}): give a log as SimulEval writes it"
            )
        instances[instance.index] = instance
    if not instances:
        raise UserError(f"{path} is empty: give a log as SimulEval writes it, one sentence a line")
    return [*instances.values()]


def _fault(instance: Instance, unit: LatencyUnit) -> str | None:
    """Describes what is wrong with a line whose types are right; None if nothing is."""
    delays = instance.delays
    units = instance.units(unit)
    if units < 0:
        return "it has no prediction_spm: it counts words or characters, not subwords"
    if len(delays) != units:
        return f"its {unit}s are {units}, and its delays are {len(delays)}: it is damaged, or counts in another unit"
    finite = all(0 <= delay < float("inf") for delay in delays)
    if not finite or any(later < earlier for earlier, later in pairwise(delays)):
        return "its delays do not rise from 0"
    return "its source is empty, but its prediction is not" if delays and not instance.source_length else None


def score_latency(
    instances: Sequence[Instance], unit: LatencyUnit = "word", *, subwords: Measure = len, reference_length: bool = True
) -> dict[str, Score]:
    """Computes the measures of a corpus: means over its sentences of "ap" (a share), "al", "laal", "dal", "yaal"
    (words, or ms); "erasure" (target words taken back, for each that stays); "swf" and "efsw" (percent, for the test of
    degenerate policies). Sentences with empty hypotheses are left out; YAAL and EFSW also need a word that was written
    before its source ended.

    subwords: counts the subwords of a reference. reference_length: false takes the length of the hypothesis except in
    YAAL (SimulEval's --no-use-ref-len); so it is for sentences without references."""
    written = [instance for instance in instances if instance.delays]
    if not written:
        return {}
    # As SimulEval and OmniSTEval count: a second blank in a row is another word, and blanks count as characters.
    measures: dict[LatencyUnit, Measure]
    measures = {"word": lambda text: len(text.split(" ")), "char": lambda text: len(text.strip()), "subword": subwords}
    length = measures[unit]
    speech = any(instance.speech for instance in instances)
    count = f"n:{len(written)}|empty:{len(instances) - len(written)}|unit:{unit}{'|source:ms' if speech else ''}"

    def mean(length: str, values: Iterable[float], version: str = _SIMULEVAL) -> Score:
        return Score(fmean(values), f"{count}|length:{length}|average:sentence|version:{version}")

    # SimulEval's measures, from delays, length of the source, and length of the reference with its newline.
    references = [each.reference for each in written]
    lengths = [length(text) if reference_length and text is not None else None for text in references]
    timings = [(each.delays, each.source_length, size) for each, size in zip(written, lengths, strict=True)]
    kind, longer = ("reference", "longer") if reference_length else ("hypothesis", "hypothesis")
    scores = {
        "ap": mean(kind, starmap(average_proportion, timings)),
        "al": mean(kind, starmap(average_lagging, timings)),
        "laal": mean(longer, starmap(length_adaptive_average_lagging, timings)),
        "dal": mean("hypothesis", (differentiable_average_lagging(*timing[:2]) for timing in timings)),
    }
    # OmniSTEval's measures. It strips white space from references before it counts them.
    stripped = [None if text is None else length(text.strip()) for text in references]
    lags = [yet_another_average_lagging(*timing[:2], size) for timing, size in zip(timings, stripped, strict=True)]
    early = [(lag, each.source_length) for lag, each in zip(lags, written, strict=True) if lag is not None]
    if early:
        scores["yaal"] = mean("longer", (lag for lag, _ in early), _OMNISTEVAL)
    words = [delay < each.source_length for each in written for delay in each.delays]
    taken_back = sum(instance.erased for instance in instances)
    scores["erasure"] = Score(taken_back / len(words), f"{count}|erased:{taken_back}|average:corpus")
    corpus = f"{count}|average:corpus|version:{_OMNISTEVAL}"
    scores["swf"] = Score(100 * fmean(words), corpus)
    if early:
        # The share of the source after the mean delay, during which words can be written before the source ends.
        left = sum(source_length - lag for lag, source_length in early)
        scores["efsw"] = Score(100 * left / sum(source_length for _, source_length in early), corpus)
    return scores


def unsuited(unit: LatencyUnit, references: Sequence[str]) -> str | None:
    """Explains why this unit of latency does not suit such text, and what to choose instead; None if it does."""
    return BETWEEN_BLANKS if unit == "word" and nearly_all(references, is_unspaced) else None


def degenerate(scores: dict[str, Score]) -> bool:
    """Returns whether a policy is degenerate by OmniSTEval's test, |EFSW - SWF| > 20: before its sources end it writes
    far more or less than its mean delay lets one expect."""
    return "efsw" in scores and abs(scores["efsw"].score - scores["swf"].score) > DEGENERATE
