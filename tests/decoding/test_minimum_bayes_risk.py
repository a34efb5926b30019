"""Minimum Bayes risk against a plain double loop over sacreBLEU's scores of sentences."""

import numpy as np
import pytest

from mt.decoding.minimum_bayes_risk import ranked
from mt.decoding.translator import Translator
from mt.metrics.sentence import SENTENCE_SCORES
from mt.search.config import BeamConfig, SampleConfig, SearchConfig
from mt.search.hypothesis import EMPTY, Hypothesis

SEARCHES = [
    SampleConfig(samples=12, n_best=3, utility="chrf"),
    SampleConfig(samples=12, n_best=12, temperature=0.7, utility="bleu"),
    BeamConfig(beam_size=6, n_best=3, utility="chrf"),
    BeamConfig(beam_size=6, n_best=6, utility="rougeL"),
]
SOURCES = ["the big cats see two green houses", "two dogs find bridges", "zzz cats", "", "two dogs find bridges"]


def hypothesis(log_prob: float) -> Hypothesis:
    return Hypothesis((3,), log_prob, log_prob, EMPTY)


def order(texts: list[str], weights: list[float], utility: str = "chrf") -> list[str]:
    hypotheses = [hypothesis(float(-number)) for number in range(len(texts))]
    result = ranked(hypotheses, texts, np.array(weights), SENTENCE_SCORES[utility]())
    return [texts[int(-one.log_prob)] for one in result]


def test_what_most_agree_on_wins_over_what_is_most_probable() -> None:
    """The mode has 34 % of the probability, and three variants of another translation 22 % each: whatever is right,
    one of them shares more with it. By hand, of ROUGE-L: 34 against 22 (1 + 2 * 4 / 9 + 2 * 3 / 8) = 58.06."""
    texts = ["good morning", "the train leaves now", "the train leaves right now", "a train leaves now"]
    weights = np.array([0.34, 0.22, 0.22, 0.22])
    result = ranked([hypothesis(-number) for number in range(4)], texts, weights, SENTENCE_SCORES["rougeL"]())
    assert (result[0].log_prob, result[0].score) == (-1, pytest.approx(58.0556, abs=1e-4))
    assert (result[-1].log_prob, result[-1].score) == (0, pytest.approx(34))
    for utility in SENTENCE_SCORES:
        assert order(texts, [0.34, 0.22, 0.22, 0.22], utility)[0] == "the train leaves now"
        assert order(texts, [0.94, 0.02, 0.02, 0.02], utility)[0] == "good morning"


def test_equals_stay_in_the_order_in_which_they_are() -> None:
    texts = ["b c", "a d", "x y", "a d"]
    assert order(texts, [1.0, 0.5, 1.0, 0.5], "bleu") == ["b c", "a d", "x y"]
    assert order(texts[::-1], [0.5, 1.0, 0.5, 1.0], "bleu") == ["a d", "x y", "b c"]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: f"{one.name}-{one.utility}")
def test_hypotheses_are_in_the_order_of_their_expected_utility(search: SearchConfig, translator: Translator) -> None:
    """That of all samples, or of the whole beam, is computed here from texts and probabilities alone."""
    actual = translator.n_best(SOURCES, search=search)
    size = {"n_best": search.samples if isinstance(search, SampleConfig) else search.beam_size}
    plain = translator.n_best(SOURCES, search=search.model_copy(update={"utility": None, **size}))
    score = SENTENCE_SCORES[search.utility]()
    changed = 0
    for best, candidates in zip(actual, plain, strict=True):
        texts = [one.text for one in candidates]
        if texts == [""]:
            assert [one.text for one in best] == [""]
            continue
        sampled = isinstance(search, SampleConfig)
        exponent = 0 if sampled else search.length_penalty
        log_probs = np.array([one.score * ((5 + len(one.ids)) / 6) ** exponent for one in candidates])
        weights = np.ones(len(texts)) if sampled else np.exp(log_probs)
        expected = {text: np.average(score.matrix([text], texts)[0], weights=weights) for text in texts}
        highest = sorted(expected.values(), reverse=True)[: search.n_best]
        assert [one.score for one in best] == pytest.approx(highest, rel=1e-4)
        assert all(one.score == pytest.approx(expected[one.text], rel=1e-4) for one in best)
        changed += texts[0] != best[0].text
    assert changed or not sampled  # this model is sure of the best of a beam
