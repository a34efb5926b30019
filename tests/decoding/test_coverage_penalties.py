"""Scores of hypotheses with penalties of their attention, computed again from what a translation says of itself."""

import math
from pathlib import Path

import pytest

import mt
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.evaluation.likelihood import likelihoods
from mt.search.config import BeamConfig

SEARCH = BeamConfig(beam_size=4, n_best=4, coverage_penalty=0.3, summary_penalty=0.7)


def cost(translation: Translation) -> float:
    received = translation.alignment.astype(float).sum(0).tolist()
    return sum(0.7 * max(c - 1, 0) - 0.3 * math.log(min(c, 1)) for c in received)


def likelihood(translator: Translator, source: str, result: list[Translation]) -> list[float]:
    """The scores without penalties."""
    given = likelihoods(translator, [source] * len(result), [one.ids for one in result], length_penalty=0.6)
    return [each.score for each in given]


@pytest.mark.parametrize("kind", ["fp32", "int8", "ensemble"])
def test_a_score_is_that_of_its_tokens_and_its_attention(kind: str, trained: Path, texts: Path) -> None:
    """Sentences of different lengths, in one batch."""
    precision = "int8" if kind == "int8" else None
    translator = mt.load([trained, trained] if kind == "ensemble" else trained, device="cpu", precision=precision)
    plain = mt.load(trained, device="cpu")
    sources = [*(texts / "test.en").read_text().splitlines()[:6], "cats", "the big cats see two green houses"]
    changed = 0
    for source, actual in zip(sources, translator.n_best(sources, search=SEARCH), strict=True):
        assert [one.score for one in actual] == sorted((one.score for one in actual), reverse=True)
        # Rounded products give other probabilities, which an evaluation in float32 does not see.
        near = 0.3 if kind == "int8" else 1e-4
        expected = [score - cost(one) for score, one in zip(likelihood(plain, source, actual), actual, strict=True)]
        assert [one.score for one in actual] == pytest.approx(expected, abs=near)
        free = translator.n_best(source, search=BeamConfig(beam_size=4, n_best=4))
        changed += [one.ids for one in free] != [one.ids for one in actual]
    assert changed


def test_hard_attention_has_no_coverage_to_speak_of(trained_hard: Path) -> None:
    translator = mt.load(trained_hard, device="cpu")
    with pytest.raises(UserError, match=r"^search\.coverage_penalty=0\.3 is of attention that gives each position "):
        translator.translate("two cats see houses", BeamConfig(coverage_penalty=0.3))
    for search in (BeamConfig(coverage_penalty=0.3, mode="soft"), BeamConfig(summary_penalty=0.1)):
        assert translator.translate("two cats see houses", search).text
