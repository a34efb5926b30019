"""The base of every metric, in the order in which it is used.

Settings make a metric; a score is its result, with a signature;
significance compares two systems by paired bootstrap resampling; `Metric` brings them together."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain
from typing import ClassVar, Literal, TypeVar

import numpy as np

from mt.errors import UserError
from mt.metrics.advice import is_unspaced, nearly_all
from mt.text_io import COMPOSED, are_composed, comparable, with_field

# The settings of metrics. Every metric is made with all of them and uses those that concern it.


@dataclass(frozen=True)
class RougeProtocol:
    """The settings of ROUGE that a benchmark agrees on. All of them stand in the signature."""

    measure: Literal["f1", "recall"] = "f1"
    limit_bytes: int | None = None
    """The bytes of UTF-8 to which each hypothesis is cut, within a word too; None: all."""
    mask_digits: bool = False
    """Whether digits become `#` on both sides, of which rouge-score's tokenizer makes a blank: numbers do not count."""
    keep_unk: bool = True
    """Whether the tokens `<unk>`, `unk` and `UNK` count as words, or are taken out of both sides."""
    multi: Literal["max", "mean"] = "max"
    """Which of several references counts: the one with the highest score (Lin 2004, 2.1), or the mean over all. Figures
    published on DUC are means, as ROUGE-1.5.5 averages by default."""
    stem: bool = True
    """Whether Porter stems of words longer than three letters are compared; with rouge-score's tokenizer alone."""
    tokenizer: str = "a-z0-9"
    """The name of rouge-score's tokenizer, which knows these letters alone, or of one of BLEU's."""


PLAIN = RougeProtocol()
ROUGE_PROTOCOLS = {
    "plain": PLAIN,
    # Rush et al. 2015: lower case, digits as `#`. Which test set it is (their sample of 1,951 pairs, or the 2,000 that
    # it was filtered from) is the data's business.
    "gigaword": RougeProtocol(mask_digits=True),
    # DUC 2003 and 2004, task 1: recall at 75 bytes, four references.
    "duc": RougeProtocol(measure="recall", limit_bytes=75),
}


@dataclass(frozen=True)
class Settings:
    """What a metric is made with."""

    target_language: str | None = None
    """The code of the language that is scored (`de`, `zh-CN`, `jpn`), or the ending of its files."""
    bleu_tokenizer: str | None = None
    """The name of BLEU's tokenizer; None: that of the target language."""
    rouge: RougeProtocol = PLAIN
    lowercase: bool = False
    """Whether capitals are compared as small letters, as for a model whose tokenizer writes no others."""


DEFAULT = Settings()


# The result of every metric, and the checks that every corpus metric makes before it counts.


@dataclass(frozen=True)
class Score:
    """A corpus score, with all that a reader needs to compute it again (Post 2018, "A Call for Clarity")."""

    score: float
    signature: str


def require_pairs(hypotheses: Sized, references: Sized) -> None:
    """Raises UserError where there are not as many hypotheses as references, or none."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"there are {len(hypotheses)} hypotheses but {len(references)} references: "
            "give one entry per sentence on both sides, in the same order"
        )
    if len(hypotheses) == 0:
        raise UserError("there is nothing to score: give at least one hypothesis and its reference")


def reference_count(references: Sequence[Sequence[str]]) -> str:
    """Returns the `nrefs` field of a signature, as sacreBLEU writes it: a number, or "var" where sentences differ.

    Raises TypeError for a string instead of a list of strings, and UserError for a sentence without a reference."""
    for number, group in enumerate(references, start=1):
        if isinstance(group, str):
            raise TypeError("references[i] is the list of all references of sentence i, not a string")
        if not group:
            raise UserError(f"sentence {number} has no reference: give each sentence at least one")
    counts = {len(group) for group in references}
    return str(counts.pop()) if len(counts) == 1 else "var"


def without_mode(name: str) -> str:
    """Returns the name of a score without the mode of decoding: `bleu` for `bleu_soft` and `bleu_hard`."""
    return name.removesuffix("_soft").removesuffix("_hard")


# Tests whether a system is better than another by paired bootstrap resampling (Koehn 2004).

SAMPLES = 1000
"""How many test sets are drawn, with replacement, from the one there is."""
SEED = 12345
"""The seed of the draws; that of sacreBLEU, so that all metrics see the same test sets."""
LEVEL = 0.05
"""A p-value below it is called significant."""


@dataclass(frozen=True)
class Paired(Score):
    """A corpus score, how far it depends on the test set, and how it stands beside a baseline's."""

    mean: float
    """The mean of the score over the samples."""
    ci: float
    """Half the width of the interval that 95 % of the samples fall into."""
    p_value: float | None
    """The probability of a difference from the baseline as large as this one by chance; None for the baseline."""

    @property
    def significant(self) -> bool:
        """Returns whether the score differs significantly from the baseline's."""
        return self.p_value is not None and self.p_value < LEVEL


def percentage(sums: np.ndarray) -> np.ndarray:
    """Computes 100 * numerator / denominator of [..., 2]; a denominator of 0 (references without a word) counts as
    1."""
    return 100 * sums[..., 0] / np.where(sums[..., 1] == 0, 1, sums[..., 1])


def paired_bootstrap(
    counts: Mapping[str, np.ndarray], signature: str, score_of_sums: Callable[[np.ndarray], np.ndarray] = percentage
) -> dict[str, Paired]:
    """Compares systems, by name, whose score is computed from sums over the sentences; the first is the baseline.

    Interval and p-value are as sacreBLEU has them for BLEU (`significance.py`), on the same samples. counts: [N, K] of
    each system, of the same N sentences. score_of_sums: computes the score [...] of sums [..., K]."""
    stacked = np.stack([np.asarray(rows, dtype=float) for rows in counts.values()], axis=1)  # [N, systems, K]
    scores = score_of_sums(stacked.sum(0))
    samples = score_of_sums(_resampled(stacked))
    results = {}
    for i, name in enumerate(counts):
        sample = samples[:, i]
        p_value = None
        if i > 0:
            differences = np.abs(sample - samples[:, 0])
            as_large = int((differences - differences.mean() > abs(scores[i] - scores[0])).sum())
            p_value = p_value_unless_equal((as_large + 1) / (SAMPLES + 1), scores[i], scores[0])
        results[name] = Paired(float(scores[i]), signature, float(sample.mean()), _half_width(sample), p_value)
    return results


def p_value_unless_equal(p_value: float, score: float, baseline: float) -> float:
    """Returns the p-value of sacreBLEU's test, or 1 for equal scores, of which that test makes its smallest value."""
    return p_value if score != baseline else 1.0


def _resampled(counts: np.ndarray) -> np.ndarray:
    """Returns the sums [SAMPLES, systems, K] of [N, systems, K] over each test set that is drawn."""
    draw = np.random.default_rng(SEED)
    size = len(counts)
    flat = counts.reshape(size, -1)
    # How often each sentence was drawn, one sample after the other: all of them at once would take SAMPLES * N numbers.
    sums = [np.bincount(draw.integers(size, size=size), minlength=size) @ flat for _ in range(SAMPLES)]
    return np.array(sums).reshape(SAMPLES, *counts.shape[1:])


def _half_width(sample: np.ndarray) -> float:
    ordered = np.sort(sample)
    cut = len(sample) // 40
    return float(ordered[-1 - cut] - ordered[cut]) / 2


# The base of every metric.

Systems = Mapping[str, Sequence[str]]
"""Hypotheses of each system, by its name."""
References = Sequence[Sequence[str]]
"""references[i] holds all references of sentence i; sentences may have different numbers of them."""
AnyScore = TypeVar("AnyScore", bound=Score)


class Metric(ABC):
    """A measure of text against references. `score` and `compare` bring both sides into one form (`mt.text_io`), and a
    subclass counts what they pass on."""

    name: ClassVar[str]
    """The name that a user chooses it by."""
    higher_is_better: ClassVar[bool]
    heading: ClassVar[str]
    """Its name in a table."""
    instead: ClassVar[str] = ""
    """What suits text without blanks between words; empty for a metric that does not count words between blanks."""
    reads_lines: ClassVar[bool] = False
    """Whether a newline in a text is more than a blank."""
    notice: str | None = None
    """What a user should know of how the metric was set up: one sentence, if any."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        self.settings = settings

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        """Returns the headings in a table of its scores, by their names in `results.json`."""
        return {cls.name: cls.heading}

    @classmethod
    def main(cls) -> str:
        """Returns the name of the score that chooses a checkpoint."""
        return cls.name

    def score(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        """Computes the scores of a corpus of detokenised sentences, by name. Raises UserError for unequal counts,
        nothing to score, or a sentence without a reference."""
        systems, groups, field = self._prepared({"": hypotheses}, references)
        return {name: _with_field(score, field) for name, score in self._scores(systems[""], groups).items()}

    def compare(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        """Returns for each score the result of each system, compared with the first by paired bootstrap. Raises as
        `score`. A score that cannot differ from another on these texts may be left out."""
        texts, groups, field = self._prepared(systems, references)
        return {
            name: {system: _with_field(result, field) for system, result in results.items()}
            for name, results in self._comparison(texts, groups).items()
        }

    def unsuited(self, references: References) -> str | None:
        """Returns why its scores say little of text like this, and what to choose instead; None where they do not."""
        return self._objection(self._comparable([group[0] for group in references]))

    @abstractmethod
    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        """Computes `score`, of texts in the form in which they are compared."""

    @abstractmethod
    def _comparison(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        """Computes `compare`, of texts in that form."""

    def _objection(self, texts: Sequence[str]) -> str | None:
        """Computes `unsuited`, of texts in that form. texts: the first reference of each sentence."""
        if self.instead and nearly_all(texts, is_unspaced):
            return f"{self.heading} counts words between blanks, and most references have none: choose {self.instead}"
        return None

    def _comparable(self, texts: Iterable[str]) -> list[str]:
        lowercase = self.settings.lowercase
        return [comparable(text, lowercase=lowercase, newlines=self.reads_lines) for text in texts]

    def _prepared(self, systems: Systems, references: References) -> tuple[Systems, References, str | None]:
        """Checks texts, and returns them in the form in which they are compared. Last is the field of a signature that
        says that they were composed; None where they were so already."""
        for hypotheses in systems.values():
            require_pairs(hypotheses, references)
        reference_count(references)
        field = None if are_composed(chain(*systems.values(), *references)) else COMPOSED
        texts = {system: self._comparable(hypotheses) for system, hypotheses in systems.items()}
        return texts, [self._comparable(group) for group in references], field


class RatioMetric(Metric):
    """A metric whose scores are computed from sums over the sentences: ratios in percent (errors per word, or means),
    unless a subclass overrides `score_of_sums`."""

    library: ClassVar[str | None] = None
    """The distribution that counts, whose version the signature names."""

    @abstractmethod
    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """Returns for each score [N, K], what is summed over the N sentences: numerator and denominator of a ratio."""

    def score_of_sums(self, sums: np.ndarray) -> np.ndarray:
        """Computes the score [...] of sums [..., K]."""
        return percentage(sums)

    @abstractmethod
    def signature_fields(self) -> str:
        """Returns the fields of the signature that say how it counts."""

    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        signature = self._signature(references)
        counted = self.counts(hypotheses, references)
        return {name: Score(float(self.score_of_sums(counts.sum(0))), signature) for name, counts in counted.items()}

    def _comparison(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        signature = self._signature(references, f"bs:{SAMPLES}|seed:{SEED}|")
        counted = {system: self.counts(hypotheses, references) for system, hypotheses in systems.items()}
        return {
            name: paired_bootstrap(
                {system: counts[name] for system, counts in counted.items()}, signature, self.score_of_sums
            )
            for name in self.headings()
        }

    def _signature(self, references: References, resampling: str = "") -> str:
        """Returns what a reader needs to compute the score again, in the form of sacreBLEU's signatures."""
        fields = f"nrefs:{reference_count(references)}|{resampling}{self.signature_fields()}|n:{len(references)}"
        return f"{fields}|version:{self.library}.{version(self.library)}" if self.library else fields

    def _case(self) -> str:
        """Returns the field of the signature for a metric that itself leaves capitals as they are."""
        return "case:lc" if self.settings.lowercase else "case:mixed"


def _with_field(score: AnyScore, field: str | None) -> AnyScore:
    return score if field is None else replace(score, signature=with_field(score.signature, field))
