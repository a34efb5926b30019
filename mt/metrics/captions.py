"""Scores of image captions as the evaluation of COCO computes them (Chen et al. 2015; `pycocoevalcap`), in percent: a
CIDEr-D of 2.1 in a paper is 210 here."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from mt.metrics.base import RatioMetric, References
from mt.metrics.sentence import longest_common_subsequence, ngrams

ORDER = 4
"""The longest n-grams that are counted, in BLEU and CIDEr."""
BETA = 1.2
"""The weight of recall relative to precision in ROUGE-L."""
SIGMA = 6.0
"""The standard deviation of the Gaussian over differences of length in CIDEr-D."""

# Contractions are cut in two: do n't, it 's, can not, gon na.
_CONTRACTED = re.compile(r"(?<=[a-z])(?=n't\b)|(?<=\w)(?='(?:s|re|ve|ll|d|m)\b)|(?<=\bcan)(?=not\b)|(?<=\bgon)(?=na\b)")
# In this order: ends of contractions, abbreviations, numbers, words, brackets, dashes, any other character.
_TOKEN = re.compile(
    r"n't\b|'(?:s|re|ve|ll|d|m)\b"
    r"|(?:[a-z]\.){2,}|\b(?:mr|mrs|ms|dr|st|jr|sr|vs|etc)\."
    r"|\d+(?:[.,:]\d+)+|\w+(?:[-']\w+)*|-[lr][rc]b-|--+|\.\.\.|\S"
)
_PUNCTUATION = frozenset(
    ("'", '"', "`", "“", "”", "‘", "’", ".", "?", "!", ",", ":", "-", "--", "–", "—", "...", "…", ";")
)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-"}


def tokenize(caption: str) -> list[str]:
    """Returns the words of a caption in lower case, without punctuation. For plain captions the result is that of
    Stanford's Penn Treebank tokenizer, which the evaluation of COCO runs in Java. Tokenised captions do not change."""
    tokens = _TOKEN.findall(_CONTRACTED.sub(" ", caption.lower()))
    return [_BRACKETS.get(token, token) for token in tokens if token not in _PUNCTUATION]


class CaptionMetric(RatioMetric):
    """A score of tokenised captions, with the number of references in the signature."""

    higher_is_better = True
    instead = "bleu or chrf"
    signature_fields = "tok:ptb-regex|case:lower|punct:removed|version:coco"

    def _signature(self, references: References, resampling: str = "") -> str:
        """Adds the number of references, and how many repeat another one of their example, since copies raise
        scores."""
        total = sum(len(group) for group in references)
        different = sum(len({tuple(tokenize(text)) for text in group}) for group in references)
        return super()._signature(references, f"{resampling}refs:{total}|repeats:{total - different}|")


class CocoBleu(CaptionMetric):
    """BLEU-1 to -4 over a corpus, without smoothing; the brevity penalty takes the closest length of a reference."""

    name = "coco_bleu"
    heading = "BLEU (COCO)"

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        return {f"bleu{n}": f"BLEU-{n}" for n in range(1, ORDER + 1)}

    @classmethod
    def main(cls) -> str:
        return f"bleu{ORDER}"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """Returns the counts of BLEU-n, [N, 2 n + 2]: matching n-grams of each order, all n-grams of each order, and
        the lengths of hypothesis and reference."""
        counted = []
        for hypothesis, group in zip(hypotheses, references, strict=True):
            words = tokenize(hypothesis)
            tokenized = [tokenize(text) for text in group]
            most: Counter[tuple[str, ...]] = Counter()
            for reference in tokenized:
                most |= count_ngrams(reference)
            # An n-gram matches as often as it occurs in any one reference.
            hits = Counter(len(ngram) for ngram in (count_ngrams(words) & most).elements())
            # Of two lengths that are equally close the shorter one counts.
            length = min((abs(len(text) - len(words)), len(text)) for text in tokenized)[1]
            guesses = [max(0, len(words) - n) for n in range(ORDER)]
            counted.append(([hits[n + 1] for n in range(ORDER)], guesses, [len(words), length]))
        return {
            name: np.array([[*hits[:n], *guesses[:n], *lengths] for hits, guesses, lengths in counted], dtype=float)
            for n, name in enumerate(self.headings(), start=1)
        }

    def score_of_sums(self, sums: np.ndarray) -> np.ndarray:
        # The columns are the hits and the guesses of each order, and two lengths.
        order = sums.shape[-1] // 2 - 1
        hits, guesses, length, reference_length = np.split(sums, [order, 2 * order, 2 * order + 1], -1)
        # The two small numbers are pycocoevalcap's.
        precision = ((hits + 1e-15) / (guesses + 1e-9)).prod(-1) ** (1 / order)
        ratio = ((length + 1e-15) / (reference_length + 1e-9))[..., 0]
        return 100 * precision * np.exp(np.minimum(0, 1 - 1 / ratio))


class CocoRouge(CaptionMetric):
    """The mean over examples of ROUGE-L with beta 1.2, from the best precision and the best recall over references."""

    name = "rougeL_coco"
    heading = "ROUGE-L (COCO)"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        scores = []
        for hypothesis, group in zip(hypotheses, references, strict=True):
            # An empty caption counts as one empty word, as in pycocoevalcap.
            words = tokenize(hypothesis) or [""]
            tokenized = [tokenize(text) or [""] for text in group]
            common = [longest_common_subsequence(words, reference) for reference in tokenized]
            precision = max(common) / len(words)
            recall = max(length / len(reference) for length, reference in zip(common, tokenized, strict=True))
            denominator = recall + BETA**2 * precision
            scores.append((1 + BETA**2) * precision * recall / denominator if denominator else 0.0)
        return {self.name: np.column_stack([scores, np.ones(len(scores))])}


class Cider(CaptionMetric):
    """CIDEr-D (Vedantam et al. 2015), from 0 to 1000: cosines of TF-IDF vectors of n-grams. Bootstrap samples keep the
    IDF of the whole corpus."""

    name = "cider"
    heading = "CIDEr-D"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        groups = [[count_ngrams(tokenize(text)) for text in group] for group in references]
        # The IDF of each n-gram, by the number of examples that have it in a reference.
        frequencies = Counter(ngram for group in groups for ngram in set().union(*group))
        # An n-gram that no reference has is as rare as one that a single example has.
        rarity: dict[tuple[str, ...], float] = defaultdict(lambda: float(np.log(len(references))))
        rarity.update({ngram: float(np.log(len(references) / count)) for ngram, count in frequencies.items()})
        scores = []
        for hypothesis, group in zip(hypotheses, groups, strict=True):
            counts = count_ngrams(tokenize(hypothesis))
            # The factor 10 is the paper's; in percent the largest score becomes 1000.
            scores.append(10 * float(np.mean([_cosines(counts, reference, rarity) for reference in group])))
        return {self.name: np.column_stack([scores, np.ones(len(scores))])}


def count_ngrams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Counts the n-grams of one to ORDER words."""
    return Counter(ngram for order in range(1, ORDER + 1) for ngram in ngrams(tuple(words), order))


def _cosines(
    hypothesis: Mapping[tuple[str, ...], int],
    reference: Mapping[tuple[str, ...], int],
    rarity: Mapping[tuple[str, ...], float],
) -> float:
    """Returns the cosine between two captions, averaged over the orders (Vedantam et al. 2015, equations 2 to 4).
    Counts are clipped to those of the reference, and a Gaussian penalises differences of length."""
    # Dot products and squared norms, an entry for each order.
    products = np.zeros(ORDER)
    squares = np.zeros(ORDER)
    reference_squares = np.zeros(ORDER)
    for ngram, count in hypothesis.items():
        weight = rarity[ngram] ** 2
        n = len(ngram) - 1
        squares[n] += count**2 * weight
        # Clipped, so that a word which is repeated gains nothing.
        products[n] += min(count, reference.get(ngram, 0)) * reference.get(ngram, 0) * weight
    for ngram, count in reference.items():
        reference_squares[len(ngram) - 1] += (count * rarity[ngram]) ** 2
    # Without an n-gram of an order a cosine is 0, not 0 / 0.
    norms = np.sqrt(squares * reference_squares)
    cosines = np.divide(products, norms, out=np.zeros(ORDER), where=norms > 0)
    # pycocoevalcap measures lengths in pairs of words.
    pairs = [sum(count for ngram, count in caption.items() if len(ngram) == 2) for caption in (hypothesis, reference)]
    return float(cosines.mean() * np.exp(-((pairs[0] - pairs[1]) ** 2) / (2 * SIGMA**2)))
