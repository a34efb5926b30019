"""Scores of single sentences, of every hypothesis against every reference. They are the utilities of minimum Bayes risk
decoding. N-grams and longest common subsequences come first."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeVar

import numpy as np

from mt.metrics.base import DEFAULT, Settings
from mt.metrics.bleu import Bleu
from mt.metrics.rouge import Rouge
from mt.text_io import comparable

# N-grams, and the longest common subsequence of two texts.

Units = TypeVar("Units", str, tuple[str, ...])
"""The characters of a text, or its words."""


def ngrams(units: Units, order: int) -> list[Units]:
    """Returns the n-grams of `order` units, from the first to the last."""
    return [units[start : start + order] for start in range(len(units) - order + 1)]


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns the length of the longest common subsequence (Hyyrö 2004). The bits of a whole number stand for the
    positions of `one`, and each word of `other` takes one addition."""
    positions: dict[str, int] = {}
    for position, word in enumerate(one):
        positions[word] = positions.get(word, 0) | 1 << position
    everything = (1 << len(one)) - 1
    unmatched = everything
    for word in other:
        matching = unmatched & positions.get(word, 0)
        unmatched = (unmatched + matching | unmatched - matching) & everything
    # Each bit that was cleared is a word of the common subsequence.
    return len(one) - unmatched.bit_count()


# The scores equal those of sacreBLEU and rouge-score for a sentence, but a thousand pairs take a few milliseconds:
# n-grams are counted once for each text, and the matches of all pairs are products of matrices.

CHRF_ORDER = 6
"""The longest n-grams of chrF, in characters."""
CHRF_BETA = 2
"""The weight of recall relative to precision in chrF."""
BLEU_ORDER = 4
"""The longest n-grams of BLEU, in tokens."""


class SentenceScore(ABC):
    """A score of a hypothesis against one reference, from 0 to 100; higher is better. `SENTENCE_SCORES` lists all."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        self._lowercase = settings.lowercase

    def matrix(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Returns the scores [H, R] float64 of H hypotheses against each of R references."""
        sides = ([comparable(text, lowercase=self._lowercase) for text in side] for side in (hypotheses, references))
        return self._matrix(*sides)

    @abstractmethod
    def _matrix(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Computes `matrix` of normalised texts."""


class SentenceChrf(SentenceScore):
    """chrF2 (Popović 2015): the F-score of precision and recall, averaged over the orders that both texts have."""

    def _matrix(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        units = [["".join(text.split()) for text in side] for side in (hypotheses, references)]
        # Sums over the orders, each [H, R].
        precision = np.zeros((len(hypotheses), len(references)))
        recall = np.zeros_like(precision)
        orders = np.zeros_like(precision)
        for order in range(1, CHRF_ORDER + 1):
            of_hypotheses, of_references = ([Counter(ngrams(text, order)) for text in side] for side in units)
            hypothesis_sizes = _sizes(of_hypotheses)[:, None]
            reference_sizes = _sizes(of_references)[None]
            matches = _matches(of_hypotheses, of_references)
            # A text without n-grams of this order has no matches, and adds nothing.
            precision += matches / np.maximum(hypothesis_sizes, 1)
            recall += matches / np.maximum(reference_sizes, 1)
            orders += np.minimum(hypothesis_sizes, reference_sizes) > 0
        # Precision and recall are means over the same orders, so that one division at the end is enough.
        denominator = (CHRF_BETA**2 * precision + recall) * orders
        product = (1 + CHRF_BETA**2) * precision * recall
        return 100 * np.divide(product, denominator, where=denominator > 0, out=np.zeros_like(product))


class SentenceBleu(SentenceScore):
    """BLEU (Papineni et al. 2002) with exponential smoothing. Orders of which the hypothesis has no n-grams are left
    out."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        super().__init__(settings)
        self._tokenize = Bleu(settings).tokenize

    def _matrix(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        tokens = [[tuple(self._tokenize(text).split()) for text in side] for side in (hypotheses, references)]
        shape = len(hypotheses), len(references)
        # The sums of the logarithms of the precisions, and the number of orders, each [H, R].
        logarithms = np.zeros(shape)
        orders = np.zeros(shape)
        smoothing = np.ones(shape)
        any_match = np.zeros(shape, bool)
        for order in range(1, BLEU_ORDER + 1):
            of_hypotheses, of_references = ([Counter(ngrams(text, order)) for text in side] for side in tokens)
            totals = np.broadcast_to(_sizes(of_hypotheses)[:, None], shape)
            matches = _matches(of_hypotheses, of_references)
            any_match |= matches > 0
            # An order without matches counts as half a match, the next one as a quarter, and so on.
            smoothing[matches == 0] *= 2
            counted = totals > 0
            precisions = np.where(matches > 0, matches, 1 / smoothing)[counted] / totals[counted]
            logarithms[counted] += np.log(precisions)
            orders += counted
        # The brevity penalty.
        lengths = [np.array([len(text) for text in side], float) for side in tokens]
        ratio = lengths[1][None] / np.maximum(lengths[0], 1)[:, None]
        brevity = np.minimum(0.0, 1 - ratio)
        # Without any match the score is 0: smoothing must not make one up.
        return np.where(any_match, 100 * np.exp(brevity + logarithms / np.maximum(orders, 1)), 0.0)


class SentenceRougeL(SentenceScore):
    """ROUGE-L (Lin 2004): F1 of the longest common subsequence of words."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        super().__init__(settings)
        self._words = Rouge(settings).tokenize

    def _matrix(self, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        sides = [[self._words(text) for text in side] for side in (hypotheses, references)]
        pairs = [float(longest_common_subsequence(*pair)) for pair in product(*sides)]
        common = np.array(pairs).reshape(len(hypotheses), len(references))
        lengths = [np.array([len(words) for words in side], float) for side in sides]
        # 2 P R / (P + R) with P = common / hypothesis and R = common / reference.
        return 100 * 2 * common / np.maximum(lengths[0][:, None] + lengths[1][None], 1)


SENTENCE_SCORES: Mapping[str, type[SentenceScore]] = {
    "chrf": SentenceChrf,
    "bleu": SentenceBleu,
    "rougeL": SentenceRougeL,
}


def _sizes(counts: Sequence[Counter]) -> np.ndarray:
    return np.array([count.total() for count in counts], float)


def _matches(hypotheses: Sequence[Counter], references: Sequence[Counter]) -> np.ndarray:
    """Returns how many n-grams each pair has in common, [H, R] float64; repeated ones count as often as both texts have
    them. As min(a, b) is the sum over k of `[a >= k] [b >= k]`, all pairs take one product of matrices for each k."""
    columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(n for count in references for n in count))}
    sides = [np.zeros((len(side), len(columns)), np.int32) for side in (hypotheses, references)]
    for matrix, side in zip(sides, (hypotheses, references), strict=True):
        for number, count in enumerate(side):
            shared = [ngram for ngram in count if ngram in columns]
            matrix[number, [columns[ngram] for ngram in shared]] = [count[ngram] for ngram in shared]
    # Few n-grams occur more than once, so that later products are small.
    matches = np.zeros((len(hypotheses), len(references)))
    most = min(int(side.max(initial=0)) for side in sides)
    for times in range(1, most + 1):
        frequent = (sides[0] >= times).any(0) & (sides[1] >= times).any(0)
        # float32, for which products are fast, holds these whole numbers exactly.
        hypothesis, reference = ((side[:, frequent] >= times).astype(np.float32) for side in sides)
        matches += hypothesis @ reference.T
    return matches
