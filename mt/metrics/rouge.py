"""ROUGE (Lin 2004), as Google's rouge-score computes it. The one door to rouge-score."""

from collections.abc import Sequence
from importlib.metadata import version
from statistics import fmean

from rouge_score.rouge_scorer import RougeScorer

from mt.metrics.score import Score, reference_count, require_pairs

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def rouge(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, stem: bool = True) -> dict[str, Score]:
    """ROUGE-1, -2, -L and -Lsum: F1 in percent, averaged over the examples.

    Of several references the one with the highest F1 counts, for each kind by itself (rouge-score's `score_multi`).
    ROUGE-Lsum takes a summary for a list of sentences, separated by newlines and by nothing else: without newlines
    it equals ROUGE-L.

    This is a metric for English. Its tokenizer lower-cases the text and keeps a-z and 0-9: every other character
    separates words. German "Größe" is counted as the words "gr" and "e", and Japanese has no words at all and
    scores 0. The stemmer (Porter) is English too. Use chrF or BLEU for other languages.

    Args:
        hypotheses: one summary per example.
        references: references[i] holds all references of example i.
        stem: compare stems of words longer than three letters.

    Raises:
        UserError: unequal counts, nothing to score, or an example without reference.
    """
    require_pairs(hypotheses, references)
    signature = (
        f"nrefs:{reference_count(references)}|measure:f1|multi:max|tok:a-z0-9|stem:{'yes' if stem else 'no'}"
        f"|lsum:newline|n:{len(hypotheses)}|version:rouge-score.{version('rouge-score')}"
    )
    scorer = RougeScorer(KINDS, use_stemmer=stem)
    examples = [scorer.score_multi(group, text) for group, text in zip(references, hypotheses, strict=True)]
    return {kind: Score(100 * fmean(example[kind].fmeasure for example in examples), signature) for kind in KINDS}
