"""The log-probability of pairs is what a search gives its hypotheses."""

from pathlib import Path

import numpy as np
import pytest

import mt
from mt.evaluation.likelihood import likelihoods
from mt.search.config import BeamConfig

SOURCES = ["the big cats see two green houses", "two dogs find bridges", "birds leave streets"]


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.5])
def test_a_beam_s_score_is_the_likelihood(run: str, exponent: float, request: pytest.FixtureRequest) -> None:
    translator = mt.load(request.getfixturevalue(run), device="cpu")
    search = BeamConfig(beam_size=4, n_best=4, length_penalty=exponent)
    for source, result in zip(SOURCES, translator.n_best(SOURCES, search=search), strict=True):
        given = likelihoods(translator, [source] * len(result), [one.ids for one in result], length_penalty=exponent)
        assert [one.score for one in given] == pytest.approx([one.score for one in result], abs=1e-5)
        assert [one.tokens for one in given] == [one.tokens for one in result]
        for one, forced in zip(result, given, strict=True):
            np.testing.assert_allclose(one.log_probs, forced.token_log_probs, atol=1e-4)
        lengths = np.array([len(one.token_log_probs) for one in given])
        scores = np.array([one.log_prob for one in given]) / ((5 + lengths) / 6) ** exponent
        np.testing.assert_allclose(scores, [one.score for one in result], atol=1e-5)


def test_texts_have_an_end_and_the_penalty_of_the_run(trained: Path) -> None:
    translator = mt.load(trained, device="cpu")
    [text] = likelihoods(translator, SOURCES[1:2], ["zwei Hunde finden Brücken"])
    assert text.tokens == ("▁zwei", "▁Hunde", "▁finden", "▁Brücken", "</s>") and len(text.token_log_probs) == 5
    assert text.score == pytest.approx(text.log_prob / (10 / 6) ** 0.6)
    [aligned] = translator.align(SOURCES[1:2], ["zwei Hunde finden Brücken"])
    assert text.log_prob == pytest.approx(aligned.score, abs=1e-5)
    assert likelihoods(translator, [], []) == []
