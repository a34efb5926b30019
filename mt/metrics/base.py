"""The base of every metric: a class with a name and a direction that scores a corpus and compares systems on it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from typing import ClassVar, TypeVar

import numpy as np

from mt.common.comparable import COMPOSED, are_composed, comparable, with_field
from mt.metrics.score import Score, reference_count, require_pairs
from mt.metrics.settings import DEFAULT, Settings
from mt.metrics.significance import SAMPLES, SEED, Paired, paired_bootstrap, percentage

Systems = Mapping[str, Sequence[str]]
"""Hypotheses of each system, by its name."""
References = Sequence[Sequence[str]]
"""references[i] holds all references of sentence i; sentences may have different numbers of them."""
AnyScore = TypeVar("AnyScore", bound=Score)


class Metric(ABC):
    """A measure of text against references. `METRICS` of this package lists them all.

    `score` and `compare` bring both sides into one form (`mt.common.comparable`), and a subclass counts what they
    pass on.
    """

    name: ClassVar[str]
    """The name that a user chooses it by."""
    higher_is_better: ClassVar[bool]
    heading: ClassVar[str]
    """Its name in a table."""
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
        """Computes the scores of a corpus of detokenised sentences, by name.

        Raises:
            UserError: unequal counts, nothing to score, or a sentence without reference.
        """
        _require_comparable(hypotheses, references)
        field = _field([hypotheses], references)
        scores = self._scores(self._comparable(hypotheses), [self._comparable(group) for group in references])
        return {name: _with_field(score, field) for name, score in scores.items()}

    def compare(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        """Returns for each score the result of each system, compared with the first by paired bootstrap. Raises as
        `score`.

        A score that cannot differ from another on these texts may be left out.
        """
        for hypotheses in systems.values():
            _require_comparable(hypotheses, references)
        field = _field(systems.values(), references)
        comparisons = self._comparison(
            {system: self._comparable(hypotheses) for system, hypotheses in systems.items()},
            [self._comparable(group) for group in references],
        )
        return {
            name: {system: _with_field(result, field) for system, result in results.items()}
            for name, results in comparisons.items()
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
        return None

    def _comparable(self, texts: Iterable[str]) -> list[str]:
        lowercase = self.settings.lowercase
        return [comparable(text, lowercase=lowercase, newlines=self.reads_lines) for text in texts]


class RatioMetric(Metric):
    """A metric whose scores are computed from sums over the sentences: as ratios, in percent (errors per word, or
    means), unless a subclass overrides `score_of_sums`."""

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


def _require_comparable(hypotheses: Sequence[str], references: References) -> None:
    require_pairs(hypotheses, references)
    reference_count(references)


def _field(systems: Iterable[Sequence[str]], references: References) -> str | None:
    """Returns the field of a signature that says that texts were composed; None where they were so already."""
    return None if are_composed(chain(*systems, *references)) else COMPOSED


def _with_field(score: AnyScore, field: str | None) -> AnyScore:
    return score if field is None else replace(score, signature=with_field(score.signature, field))
