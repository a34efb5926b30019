"""What a metric is: a class with a name and a direction that scores a corpus, and compares systems on it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import ClassVar

import numpy as np

from mt.metrics.score import Score, reference_count, require_pairs
from mt.metrics.settings import DEFAULT, Settings
from mt.metrics.significance import SAMPLES, SEED, Paired, paired_bootstrap, percentage

Systems = Mapping[str, Sequence[str]]
"""Hypotheses of each system, by its name."""
References = Sequence[Sequence[str]]
"""references[i] holds all references of sentence i; sentences may have different numbers of them."""


class Metric(ABC):
    """A measure of text against references. `METRICS` of this package lists them all."""

    name: ClassVar[str]
    """What a user chooses it by."""
    higher_is_better: ClassVar[bool]
    heading: ClassVar[str]
    """What it is called in a table."""
    notice: str | None = None
    """What a user should know of how the metric was set up: one sentence, if any."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        self.settings = settings

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        """The scores that it gives, by their names in `results.json`, with their headings in a table."""
        return {cls.name: cls.heading}

    @classmethod
    def main(cls) -> str:
        """The name of the score that chooses a checkpoint."""
        return cls.name

    def unsuited(self, references: References) -> str | None:
        """Why its scores say little of text like this, and what to choose instead; None where it suits."""
        return None

    @abstractmethod
    def score(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        """The scores of a corpus of detokenised sentences, by name.

        Raises:
            UserError: unequal counts, nothing to score, or a sentence without reference.
        """

    @abstractmethod
    def compare(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        """For each score the result of each system, beside the first's, by paired bootstrap. Raises as `score`.

        A score that cannot differ from another on these texts may be left out.
        """


class RatioMetric(Metric):
    """A metric whose scores are computed from sums over the sentences: ratios, in percent (errors per word, or means),
    where a subclass does not say otherwise."""

    library: ClassVar[str | None] = None
    """The distribution that counts, whose version the signature names."""

    @abstractmethod
    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """For each score [N, K]: what is summed over the sentences, numerator and denominator of a ratio."""

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        """The score [...] of sums [..., K]."""
        return percentage(sums)

    @abstractmethod
    def signature_fields(self) -> str:
        """The fields of the signature that say how it counts."""

    def score(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        signature = self._signature(references)
        found = self._checked(hypotheses, references)
        return {name: Score(float(self.of_sums(counts.sum(0))), signature) for name, counts in found.items()}

    def compare(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        signature = self._signature(references, f"bs:{SAMPLES}|seed:{SEED}|")
        found = {system: self._checked(hypotheses, references) for system, hypotheses in systems.items()}
        return {
            name: paired_bootstrap({system: counts[name] for system, counts in found.items()}, signature, self.of_sums)
            for name in self.headings()
        }

    def _checked(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        require_pairs(hypotheses, references)
        return self.counts(hypotheses, references)

    def _signature(self, references: References, resampling: str = "") -> str:
        """What a reader needs to compute the score again, in the manner of sacreBLEU's."""
        fields = f"nrefs:{reference_count(references)}|{resampling}{self.signature_fields()}|n:{len(references)}"
        return f"{fields}|version:{self.library}.{version(self.library)}" if self.library else fields
