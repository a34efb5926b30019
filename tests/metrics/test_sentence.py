"""Sentence scores of all pairs at once, against sacreBLEU and rouge-score, which count a pair at a time."""

import random

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

from mt.metrics.base import Settings
from mt.metrics.sentence import SENTENCE_SCORES

WORDS = "the a cat , cats see seeing two . no! it's (big) Größe 3.14 ha ha"


def texts(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    lines = [" ".join(draw.choices(WORDS.split(), k=draw.randint(1, 14))) for _ in range(count)]
    return [*lines, "", "x", "ha " * 20, "the cat sees the cat .", "  the\tcat sees\u00a0the cat ."]


def of_library(name: str, hypothesis: str, reference: str) -> float:
    if name == "rougeL":
        scorer = RougeScorer(["rougeL"], use_stemmer=True)
        return 100 * scorer.score(reference, hypothesis)["rougeL"].fmeasure
    metric = CHRF() if name == "chrf" else BLEU(effective_order=True)
    return metric.sentence_score(hypothesis, [reference]).score


@pytest.mark.parametrize("name", SENTENCE_SCORES)
def test_every_pair_has_the_score_of_the_library(name: str) -> None:
    hypotheses, references = texts(1, 12), texts(2, 9)
    scores = SENTENCE_SCORES[name]().matrix(hypotheses, references)
    expected = [[of_library(name, one, other) for other in references] for one in hypotheses]
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-10)
    assert scores.max() > 99.999 and len(np.unique(scores.round(6))) > 50


@pytest.mark.parametrize("name", SENTENCE_SCORES)
def test_nothing_to_compare(name: str) -> None:
    score = SENTENCE_SCORES[name]()
    assert score.matrix(["", "cat"], ["", "."]).tolist() == [[0, 0], [0, 0]]
    assert score.matrix([], ["a"]).shape == (0, 1) and score.matrix(["a"], []).shape == (1, 0)


def test_texts_are_compared_as_by_the_metrics_of_these_names() -> None:
    """Blanks and composition count for nothing, capitals where the tokenizer writes some."""
    one, other = "Ein Ha\u0308uschen  steht hier", "ein H\u00e4uschen steht hier"
    for name, kind in SENTENCE_SCORES.items():
        assert kind(Settings(lowercase=True)).matrix([one], [other])[0, 0] == pytest.approx(100)
        assert (kind().matrix([one], [other])[0, 0] < 99) == (name != "rougeL")
    characters = SENTENCE_SCORES["bleu"](Settings(target_language="zh"))
    assert characters.matrix(["我们看见了房子"], ["我们看见房子了"])[0, 0] > 20
