"""Log-probabilities of pairs that are given."""

from pathlib import Path

import pytest

import mt
from mt.evaluation.likelihood import likelihoods

SOURCES = ["the big cats see two green houses", "two dogs find bridges", "birds leave streets"]


def test_texts_have_an_end_and_the_penalty_of_the_run(trained: Path) -> None:
    translator = mt.load(trained, device="cpu")
    [text] = likelihoods(translator, SOURCES[1:2], ["zwei Hunde finden Brücken"])
    assert text.tokens == ("▁zwei", "▁Hunde", "▁finden", "▁Brücken", "</s>") and len(text.token_log_probs) == 5
    assert text.score == pytest.approx(text.log_prob / (10 / 6) ** 0.6)
    [aligned] = translator.align(SOURCES[1:2], ["zwei Hunde finden Brücken"])
    assert text.log_prob == pytest.approx(aligned.score, abs=1e-5)
    assert likelihoods(translator, [], []) == []
