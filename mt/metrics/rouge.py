"""ROUGE (Lin 2004), as Google's rouge-score computes it, and the lead baseline. The one door to rouge-score."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import fmean
from typing import Literal

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from mt.metrics.score import Score, reference_count, require_pairs
from mt.metrics.significance import SAMPLES, SEED, Paired, paired_bootstrap

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")

_DIGIT = re.compile("[0-9]")
_UNK = re.compile(r"(?<!\S)(<unk>|unk|UNK)(?!\S)")


@dataclass(frozen=True)
class Protocol:
    """What a benchmark agrees on. All of it stands in the signature."""

    measure: Literal["f1", "recall"] = "f1"
    limit_bytes: int | None = None
    """Bytes of UTF-8 that each hypothesis is cut to, in the midst of a word too; references are never cut."""
    mask_digits: bool = False
    """Digits become `#` on both sides, of which rouge-score's tokenizer makes a blank: numbers do not count."""
    keep_unk: bool = True
    """Whether the tokens `<unk>`, `unk` and `UNK` count as words, or are taken out of both sides."""
    multi: Literal["max", "mean"] = "max"
    """Of several references: the one with the highest measure, for each kind by itself (Lin 2004, 2.1), or the mean
    over all. Figures published on DUC are means: ROUGE-1.5.5 averages unless it is told otherwise."""
    stem: bool = True
    """Compare Porter stems of words longer than three letters."""


PLAIN = Protocol()
PROTOCOLS = {
    "plain": PLAIN,
    # Rush et al. 2015: lower case, digits as `#`. Which test set it is (their sample of 1,951 pairs, or the 2,000 that
    # it was filtered from) is the data's business.
    "gigaword": Protocol(mask_digits=True),
    # DUC 2003 and 2004, task 1: recall at 75 bytes, four references.
    "duc": Protocol(measure="recall", limit_bytes=75),
}


def rouge(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], protocol: Protocol = PLAIN
) -> dict[str, Score]:
    """ROUGE-1, -2, -L and -Lsum in percent, averaged over the examples.

    ROUGE-Lsum takes a summary for a list of sentences, separated by newlines and by nothing else: without newlines
    it equals ROUGE-L.

    This is a metric for English. Its tokenizer lower-cases the text and keeps a-z and 0-9: every other character
    separates words. German "Größe" is counted as the words "gr" and "e", and Japanese has no words at all and
    scores 0. The stemmer (Porter) is English too. Use chrF or BLEU for other languages.

    Args:
        hypotheses: one summary per example.
        references: references[i] holds all references of example i.

    Raises:
        UserError: unequal counts, nothing to score, or an example without reference.
    """
    examples = _by_example(hypotheses, references, protocol)
    signature = _signature(references, protocol)
    return {kind: Score(float(values.mean()), signature) for kind, values in examples.items()}


def paired_rouge(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], protocol: Protocol = PLAIN
) -> dict[str, dict[str, Paired]]:
    """ROUGE of several systems, each beside the first: for each kind, the result of each system.

    Raises UserError as `rouge` does.
    """
    examples = {name: _by_example(hypotheses, references, protocol) for name, hypotheses in systems.items()}
    signature = _signature(references, protocol, f"bs:{SAMPLES}|seed:{SEED}|")
    return {
        kind: paired_bootstrap({name: values[kind] for name, values in examples.items()}, signature) for kind in KINDS
    }


def lead(text: str, words: int) -> str:
    """The baseline that reads only the beginning: the first words of a source, split at blanks."""
    return " ".join(text.split()[:words])


def _by_example(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], protocol: Protocol
) -> dict[str, np.ndarray]:
    """For each kind the values of all examples, [N], in percent."""
    require_pairs(hypotheses, references)
    reference_count(references)
    scorer = RougeScorer(KINDS, use_stemmer=protocol.stem)
    choose = max if protocol.multi == "max" else fmean
    measure = "fmeasure" if protocol.measure == "f1" else "recall"
    values: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for hypothesis, group in zip(hypotheses, references, strict=True):
        cut = hypothesis.encode()[: protocol.limit_bytes].decode(errors="ignore")
        summary = _normalized(cut, protocol)
        scores = [scorer.score(_normalized(reference, protocol), summary) for reference in group]
        for kind in KINDS:
            values[kind].append(100 * choose(getattr(score[kind], measure) for score in scores))
    return {kind: np.array(column) for kind, column in values.items()}


def _normalized(text: str, protocol: Protocol) -> str:
    if protocol.mask_digits:
        text = _DIGIT.sub("#", text)
    return text if protocol.keep_unk else _UNK.sub("", text)


def _signature(references: Sequence[Sequence[str]], protocol: Protocol, resampling: str = "") -> str:
    """What a reader needs to compute the score again, in the manner of sacreBLEU's."""
    return (
        f"nrefs:{reference_count(references)}|{resampling}measure:{protocol.measure}|multi:{protocol.multi}"
        f"|case:lower|tok:a-z0-9|stem:{'yes' if protocol.stem else 'no'}|lsum:newline"
        f"|bytes:{protocol.limit_bytes or 'all'}|digits:{'#' if protocol.mask_digits else 'kept'}"
        f"|unk:{'kept' if protocol.keep_unk else 'removed'}|n:{len(references)}"
        f"|version:rouge-score.{version('rouge-score')}"
    )
