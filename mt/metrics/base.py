"""The base of every metric: settings, scores with their signatures, significance by paired bootstrap resampling, and
last the class `Metric`, which uses all of them."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain
from typing import ClassVar, Literal, TypeVar

import numpy as np

from mt.errors import UserError
from mt.metrics.advice import is_unspaced, nearly_all
from mt.text_io import comparable

# Settings. Every metric is made with all of them, and uses those that concern it.


@dataclass(frozen=True)
class RougeProtocol:
    """The settings of ROUGE that a benchmark agrees on. The signature names all of them."""

    measure: Literal["f1", "recall"] = "f1"
    limit_bytes: int | None = None
    """The bytes of UTF-8 to which each hypothesis is cut, within a word too; None: all."""
    mask_digits: bool = False
    """Whether digits become `#` on both sides, of which rouge-score's tokenizer makes a blank: numbers do not count."""
    keep_unk: bool = True
    """Whether the tokens `<unk>`, `unk` and `UNK` count as words; false removes them from both sides."""
    multi: Literal["max", "mean"] = "max"
    """How several references are combined: by the highest score (Lin 2004, 2.1) or the mean. Published figures on DUC
    are means, the default of ROUGE-1.5.5."""
    stem: bool = True
    """Whether Porter stems of words longer than three letters are compared; only with rouge-score's tokenizer."""
    tokenizer: str = "a-z0-9"
    """The name of rouge-score's tokenizer, which knows no other letters, or of one of BLEU's."""


PLAIN = RougeProtocol()
ROUGE_PROTOCOLS = {
    "plain": PLAIN,
    # Rush et al. 2015: lower case, digits as `#`. The user chooses the test set: their sample of 1,951 pairs, or the
    # 2,000 pairs that it was filtered from.
    "gigaword": RougeProtocol(mask_digits=True),
    # DUC 2003 and 2004, task 1: recall at 75 bytes, four references.
    "duc": RougeProtocol(measure="recall", limit_bytes=75),
}


@dataclass(frozen=True)
class Settings:
    """The settings of all metrics."""

    target_language: str | None = None
    """The code of the target language (`de`, `zh-CN`, `jpn`), or the ending of its files."""
    bleu_tokenizer: str | None = None
    """The name of BLEU's tokenizer; None: the usual one of the target language."""
    rouge: RougeProtocol = PLAIN
    lowercase: bool = False
    """Whether case is ignored, as for a model whose tokenizer lower-cases."""


DEFAULT = Settings()


# Scores, and the checks that every corpus metric makes before it counts.


@dataclass(frozen=True)
class Score:
    """A corpus score, with a signature of the settings to reproduce it (Post 2018, "A Call for Clarity")."""

    score: float
    signature: str


def require_pairs(hypotheses: Sized, references: Sized) -> None:
    """Raises UserError if the numbers of hypotheses and references differ, or are 0."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"hypotheses ({len(hypotheses):,}) and references ({len(references):,}) are not equally many: "
            "give one entry per sentence on both sides, in the same order"
        )
    if len(hypotheses) == 0:
        raise UserError("there is nothing to score: give at least one hypothesis and its reference")


def reference_count(references: Sequence[Sequence[str]]) -> str:
    """Returns the `nrefs` field of a signature, as sacreBLEU writes it: a number, or "var" if sentences differ.

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


# Significance, by paired bootstrap resampling (Koehn 2004).

SAMPLES = 1000
"""How many test sets are drawn with replacement from the sentences."""
SEED = 12345
"""The seed of the draws. It is sacreBLEU's, so that all metrics use the same samples."""
LEVEL = 0.05
"""A p-value below this is called significant."""


@dataclass(frozen=True)
class Paired(Score):
    """A corpus score with its confidence interval, compared with a baseline's."""

    mean: float
    """The mean of the score over the samples."""
    ci: float
    """Half the width of the interval that holds 95 % of the samples."""
    p_value: float | None
    """The probability that chance makes a difference from the baseline as large as this; None for the baseline."""

    @property
    def significant(self) -> bool:
        """Returns whether the score differs significantly from the baseline's."""
        return self.p_value is not None and self.p_value < LEVEL


def percentage(sums: np.ndarray) -> np.ndarray:
    """Returns 100 * numerator / denominator of [..., 2]. A denominator of 0 (references without words) counts as 1."""
    return 100 * sums[..., 0] / np.where(sums[..., 1] == 0, 1, sums[..., 1])


def paired_bootstrap(
    counts: Mapping[str, np.ndarray], signature: str, score_of_sums: Callable[[np.ndarray], np.ndarray] = percentage
) -> dict[str, Paired]:
    """Compares systems by a score that is computed from sums over the sentences. The first system is the baseline.

    Interval and p-value follow sacreBLEU's for BLEU (`significance.py`), on the same samples. counts: by the system's
    name, [N, K] for the same N sentences. score_of_sums: computes scores [...] from sums [..., K]."""
    stacked = np.stack([np.asarray(rows, dtype=float) for rows in counts.values()], axis=1)  # [N, systems, K]
    scores = score_of_sums(stacked.sum(0))  # [systems]
    samples = score_of_sums(_resampled(stacked))  # [SAMPLES, systems]
    results = {}
    for i, name in enumerate(counts):
        # The interval without the outer 2.5 % of the samples on each side.
        sample = np.sort(samples[:, i])
        cut = SAMPLES // 40
        half_width = float(sample[-1 - cut] - sample[cut]) / 2
        # How often centred differences from the baseline are larger than the observed one.
        p_value = None
        if i > 0:
            differences = np.abs(samples[:, i] - samples[:, 0])
            as_large = int((differences - differences.mean() > abs(scores[i] - scores[0])).sum())
            # The observed difference counts as one of them, as in sacreBLEU, so that no p-value is 0.
            p_value = p_value_unless_equal((as_large + 1) / (SAMPLES + 1), scores[i], scores[0])
        results[name] = Paired(float(scores[i]), signature, float(samples[:, i].mean()), half_width, p_value)
    return results


def p_value_unless_equal(p_value: float, score: float, baseline: float) -> float:
    """Returns a p-value of sacreBLEU's test. For equal scores it is 1, where the test gives its smallest value."""
    return p_value if score != baseline else 1.0


def _resampled(counts: np.ndarray) -> np.ndarray:
    """Draws test sets from counts [N, systems, K], and returns the sums over each, [SAMPLES, systems, K]."""
    draw = np.random.default_rng(SEED)
    size = len(counts)
    flat = counts.reshape(size, -1)
    # A product with how often each sentence was drawn, a sample at a time: all at once would take SAMPLES * N numbers.
    sums = [np.bincount(draw.integers(size, size=size), minlength=size) @ flat for _ in range(SAMPLES)]
    return np.array(sums).reshape(SAMPLES, *counts.shape[1:])


# The classes that metrics extend.

Systems = Mapping[str, Sequence[str]]
"""The hypotheses of each system, by its name."""
References = Sequence[Sequence[str]]
"""references[i] are all references of sentence i; their number may vary."""
AnyScore = TypeVar("AnyScore", bound=Score)


class Metric(ABC):
    """A measure of texts against references. `score` and `compare` normalise both sides (`mt.text_io.comparable`);
    subclasses implement `_scores` and `_comparison` on normalised texts."""

    name: ClassVar[str]
    """The name by which a user chooses the metric."""
    higher_is_better: ClassVar[bool]
    heading: ClassVar[str]
    """The name in tables."""
    instead: ClassVar[str] = ""
    """The metrics to use for text without blanks; empty if the metric does not count words between blanks."""
    reads_lines: ClassVar[bool] = False
    """Whether newlines are kept, and not read as blanks."""
    notice: str | None = None
    """A note for the user on how the metric was set up, if any."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        self.settings = settings

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        """Returns the headings of the metric's scores in tables, by their names in `results.json`."""
        return {cls.name: cls.heading}

    @classmethod
    def main(cls) -> str:
        """Returns the name of the score that chooses a checkpoint."""
        return cls.name

    def score(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        """Computes the scores of a corpus of detokenised sentences, by name. Raises UserError for unequal counts, an
        empty corpus, or a sentence without a reference."""
        systems, groups, composed = self._prepared({"": hypotheses}, references)
        return {name: _signed(score, composed) for name, score in self._scores(systems[""], groups).items()}

    def compare(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        """Returns for each score the result of each system, compared with the first system by paired bootstrap. A score
        that must equal another one on these texts may be left out. Raises UserError as `score` does."""
        texts, groups, composed = self._prepared(systems, references)
        return {
            name: {system: _signed(result, composed) for system, result in results.items()}
            for name, results in self._comparison(texts, groups).items()
        }

    def unsuited(self, references: References) -> str | None:
        """Explains why the metric does not suit such texts, and what to choose instead; None if it suits them."""
        return self._objection(self._comparable([group[0] for group in references]))

    @abstractmethod
    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        """Computes `score` of normalised texts."""

    @abstractmethod
    def _comparison(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        """Computes `compare` of normalised texts."""

    def _objection(self, texts: Sequence[str]) -> str | None:
        """Computes `unsuited`. texts: the first reference of each sentence, normalised."""
        if self.instead and nearly_all(texts, is_unspaced):
            return f"{self.heading} counts words between blanks, and most references have none: choose {self.instead}"
        return None

    def _comparable(self, texts: Iterable[str]) -> list[str]:
        lowercase = self.settings.lowercase
        return [comparable(text, lowercase=lowercase, newlines=self.reads_lines) for text in texts]

    def _prepared(self, systems: Systems, references: References) -> tuple[Systems, References, bool]:
        """Checks and normalises hypotheses and references. The last value is whether all were composed (NFC) before."""
        for hypotheses in systems.values():
            require_pairs(hypotheses, references)
        reference_count(references)  # for its errors alone
        composed = all(unicodedata.is_normalized("NFC", text) for text in chain(*systems.values(), *references))
        texts = {system: self._comparable(hypotheses) for system, hypotheses in systems.items()}
        return texts, [self._comparable(group) for group in references], composed


class RatioMetric(Metric):
    """A metric whose scores are computed from sums over the sentences: ratios in percent (means, or errors per word),
    unless a subclass overrides `score_of_sums`."""

    library: ClassVar[str | None] = None
    """The distribution that does the counting, whose version stands in the signature."""
    signature_fields: str
    """The fields of the signature that tell how the metric counts. `{case}` stands for the field about case, of metrics
    that do not change case themselves."""

    @abstractmethod
    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """Returns for each score the counts [N, K] that are summed over the N sentences; of a ratio its numerator and
        denominator."""

    def score_of_sums(self, sums: np.ndarray) -> np.ndarray:
        """Computes scores [...] from sums [..., K]."""
        return percentage(sums)

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
        """Returns the signature, in the form of sacreBLEU's."""
        case = "case:lc" if self.settings.lowercase else "case:mixed"
        counted = self.signature_fields.format(case=case)
        fields = f"nrefs:{reference_count(references)}|{resampling}{counted}|n:{len(references)}"
        return f"{fields}|version:{self.library}.{version(self.library)}" if self.library else fields


def _signed(score: AnyScore, composed: bool) -> AnyScore:
    """Returns a score whose signature tells, before the version, that texts were composed which were not."""
    fields, mark, version = score.signature.partition("|version:")
    return score if composed else replace(score, signature=f"{fields}|unicode:nfc{mark}{version}")
