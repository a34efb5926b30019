"""The scores of image captions, as the evaluation of COCO computes them (Chen et al. 2015; `pycocoevalcap`).

In percent: a CIDEr-D of 2.1 in a paper is 210 here."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mt.metrics.advice import most, unspaced
from mt.metrics.base import RatioMetric, References

ORDER = 4
"""The longest n-grams that are counted, in BLEU and CIDEr."""
BETA = 1.2
"""How much more recall weighs than precision in ROUGE-L."""
SIGMA = 6.0
"""Of the Gaussian over differences of length in CIDEr-D."""

_CONTRACTED = re.compile(r"(?<=[a-z])(?=n't\b)|(?<=\w)(?='(?:s|re|ve|ll|d|m)\b)|(?<=\bcan)(?=not\b)|(?<=\bgon)(?=na\b)")
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
    """The words of a caption in lower case, without punctuation: those of Stanford's tokenizer of the Penn Treebank,
    which the evaluation of COCO runs in Java, for plain captions. What is tokenised already stays as it is."""
    found = _TOKEN.findall(_CONTRACTED.sub(" ", caption.lower()))
    return [_BRACKETS.get(token, token) for token in found if token not in _PUNCTUATION]


class CaptionMetric(RatioMetric):
    """A score of tokenised captions, whose signature tells what the references are."""

    higher_is_better = True

    def _objection(self, texts: Sequence[str]) -> str | None:
        if most(texts, unspaced):
            return f"{self.heading} counts words between blanks, and most references have none: choose bleu or chrf"
        return None

    def signature_fields(self) -> str:
        return "tok:ptb-regex|case:lower|punct:removed|version:coco"

    def _signature(self, references: References, resampling: str = "") -> str:
        """With the references in all, and how many of them repeat another one of their example: a caption that was
        copied to make five references scores several times what it would."""
        total = sum(len(group) for group in references)
        different = sum(len({tuple(tokenize(text)) for text in group}) for group in references)
        return super()._signature(references, f"{resampling}refs:{total}|repeats:{total - different}|")


class CocoBleu(CaptionMetric):
    """BLEU-1 to -4 over a corpus, without smoothing; the length that counts is the closest reference's."""

    name = "coco_bleu"
    heading = "BLEU (COCO)"

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        return {f"bleu{n}": f"BLEU-{n}" for n in range(1, ORDER + 1)}

    @classmethod
    def main(cls) -> str:
        return f"bleu{ORDER}"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """[N, 2 n + 2] of BLEU-n: n-grams that a reference has too, and all, of each order; words; the reference's."""
        rows = []
        for hypothesis, group in zip(hypotheses, references, strict=True):
            words = tokenize(hypothesis)
            wanted = [tokenize(text) for text in group]
            most: Counter[tuple[str, ...]] = Counter()
            for reference in wanted:
                most |= ngrams(reference)
            hits = Counter(len(ngram) for ngram in (ngrams(words) & most).elements())
            length = min((abs(len(text) - len(words)), len(text)) for text in wanted)[1]
            guesses = [max(0, len(words) - n) for n in range(ORDER)]
            rows.append(([hits[n + 1] for n in range(ORDER)], guesses, [len(words), length]))
        return {
            name: np.array([[*hits[:n], *guesses[:n], *lengths] for hits, guesses, lengths in rows], dtype=float)
            for n, name in enumerate(self.headings(), start=1)
        }

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        order = sums.shape[-1] // 2 - 1
        hits, guesses, written, wanted = np.split(sums, [order, 2 * order, 2 * order + 1], -1)
        # The two small numbers are pycocoevalcap's.
        precision = ((hits + 1e-15) / (guesses + 1e-9)).prod(-1) ** (1 / order)
        ratio = ((written + 1e-15) / (wanted + 1e-9))[..., 0]
        return 100 * precision * np.exp(np.minimum(0, 1 - 1 / ratio))


class CocoRouge(CaptionMetric):
    """ROUGE-L with beta 1.2, of the best precision and the best recall over the references; the mean over examples."""

    name = "rougeL_coco"
    heading = "ROUGE-L (COCO)"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        scores = []
        for hypothesis, group in zip(hypotheses, references, strict=True):
            words = tokenize(hypothesis) or [""]
            wanted = [tokenize(text) or [""] for text in group]
            common = [_common_subsequence(words, reference) for reference in wanted]
            precision = max(common) / len(words)
            recall = max(length / len(reference) for length, reference in zip(common, wanted, strict=True))
            below = recall + BETA**2 * precision
            scores.append((1 + BETA**2) * precision * recall / below if below else 0.0)
        return {self.name: np.column_stack([scores, np.ones(len(scores))])}


class Cider(CaptionMetric):
    """CIDEr-D (Vedantam et al. 2015): cosines of n-gram counts, weighted by how few examples' references have them.

    Each score depends on all references of the corpus. 0 to 1000. Samples of a bootstrap keep the weights.
    """

    name = "cider"
    heading = "CIDEr-D"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        wanted = [[ngrams(tokenize(text)) for text in group] for group in references]
        having = document_frequencies(wanted)
        rarity: dict[tuple[str, ...], float] = defaultdict(lambda: float(np.log(len(references))))
        rarity.update({ngram: float(np.log(len(references) / count)) for ngram, count in having.items()})
        scores = []
        for hypothesis, group in zip(hypotheses, wanted, strict=True):
            ours = ngrams(tokenize(hypothesis))
            scores.append(10 * float(np.mean([_cosines(ours, theirs, rarity) for theirs in group])))
        return {self.name: np.column_stack([scores, np.ones(len(scores))])}


def document_frequencies(groups: Iterable[Iterable[Counter[tuple[str, ...]]]]) -> Counter[tuple[str, ...]]:
    """In how many groups of texts each n-gram occurs. groups: the n-grams of each text."""
    return Counter(ngram for group in groups for ngram in set().union(*group))


def ngrams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Of one to ORDER words."""
    lengths = range(1, ORDER + 1)
    return Counter(tuple(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1))


def _cosines(
    ours: Mapping[tuple[str, ...], int], theirs: Mapping[tuple[str, ...], int], rarity: Mapping[tuple[str, ...], float]
) -> float:
    """The mean over the orders of the cosine between two captions (Vedantam et al. 2015, equations 2 to 4): no n-gram
    counts more often than in the reference, and lengths that differ cost."""
    products = np.zeros(ORDER)
    squares = np.zeros(ORDER)
    reference_squares = np.zeros(ORDER)
    for ngram, count in ours.items():
        weight = rarity[ngram] ** 2
        n = len(ngram) - 1
        squares[n] += count**2 * weight
        products[n] += min(count, theirs.get(ngram, 0)) * theirs.get(ngram, 0) * weight
    for ngram, count in theirs.items():
        reference_squares[len(ngram) - 1] += (count * rarity[ngram]) ** 2
    norms = np.sqrt(squares * reference_squares)
    cosines = np.divide(products, norms, out=np.zeros(ORDER), where=norms > 0)
    # pycocoevalcap measures lengths in pairs of words.
    pairs = [sum(count for ngram, count in caption.items() if len(ngram) == 2) for caption in (ours, theirs)]
    return float(cosines.mean() * np.exp(-((pairs[0] - pairs[1]) ** 2) / (2 * SIGMA**2)))


def _common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest one."""
    row = [0] * (len(second) + 1)
    for word in first:
        diagonal = 0
        for j, other in enumerate(second, start=1):
            diagonal, row[j] = row[j], diagonal + 1 if word == other else max(row[j], row[j - 1])
    return row[-1]
