"""Confidences of words: which words are right, the table that is made of them, and what is said of it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt import Translator, load
from mt.decoding.confidence import FILE, Calibration, Confidence, features_of, load_calibration
from mt.decoding.translation import Units
from mt.evaluation.confidence import area_under_curve, calibrate, calibration_error, right_words, risk_coverage
from mt.export.folder import export
from mt.search.config import GreedyConfig
from tests.refusals.sentences import require_refusal

TABLE: dict[str, Any] = {"judged": "edits", "words": 3}
TEXTS = ["two cats see houses", "the big dogs find streets", "three green birds leave bridges"]


def test_a_word_has_the_probability_of_its_pieces_and_the_entropy_of_their_attention(translator: Translator) -> None:
    one = translator.translate(TEXTS[0])
    units = (0, 0, 2, *(None,) * (len(one.tokens) - 3))
    features = features_of(replace(one, find_units=lambda: Units(target=units)))
    first, second, third = one.log_probs[:3]
    np.testing.assert_allclose(features[:, 0], [first + second, first + second, third], atol=1e-12)
    weights = one.alignment.astype(float)
    entropies = -(weights * np.log(weights)).sum(1)
    np.testing.assert_allclose(features[:, 1], [entropies[:2].mean()] * 2 + [entropies[2]], atol=1e-6)
    confidence = Confidence.of(translator)
    words = confidence.words(one)
    assert words == pytest.approx(np.exp(features_of(one)[:, 0]))
    assert confidence.text(one) == pytest.approx(np.mean(words))
    assert confidence.text(translator.translate("")) == 1 and confidence.words(translator.translate("")) == []


def test_right_words(translator: Translator) -> None:
    one = translator.translate(TEXTS[0])
    made = replace(one, text="a b c b d")
    for judged, references, expected in (
        ("words", ["d b x", "b"], [False, True, False, True, True]),
        ("edits", ["a b d"], [True, True, False, False, True]),
        ("edits", ["x", "c b d a", "x"], [False, False, True, True, True]),
    ):
        [right] = right_words(translator, [made], [references], judged)
        assert right.tolist() == expected


def test_a_calibration_says_how_many_words_are_right() -> None:
    """Of words whose chance of being right depends on both features, on words that it was not made of."""
    draw = np.random.default_rng(1)
    features = np.stack([-draw.exponential(1, 40_000), draw.random(40_000)], 1)
    chances = 1 / (1 + np.exp(-(2 + 1.5 * features[:, 0] - 1.0 * features[:, 1])))
    right = draw.random(40_000) < chances
    table = calibrate(features[:20_000], right[:20_000], "edits")
    assert table.weights == pytest.approx((1.5, -1.0, 2.0), abs=0.15)
    assert len(table.centres) <= 20 and table.words == 20_000
    confidences = np.array(table.confidences(features[20_000:]))
    assert np.abs(confidences - chances[20_000:]).mean() < 0.02
    assert calibration_error(confidences, right[20_000:]) < 0.015
    assert calibration_error(confidences**3, right[20_000:]) > 0.1
    best = area_under_curve(chances[20_000:], right[20_000:])
    assert area_under_curve(confidences, right[20_000:]) == pytest.approx(best, abs=0.005)
    for same in (np.ones(5, bool), np.zeros(5, bool)):
        sentence = "confidences are calibrated by right and wrong words, and of these"
        require_refusal(lambda same=same: calibrate(features[:5], same, "words"), sentence)
    # Words that can be told apart leave the weights finite.
    apart = calibrate(np.array([[-5.0, 0], [-4, 0], [-1, 0], [0, 0]]), np.array([False, False, True, True]), "words")
    assert apart.confidences(np.array([[-9.0, 0], [0, 0]])) == [0, 1]


def test_area_error_and_risk_by_hand() -> None:
    confidences = np.array([0.9, 0.8, 0.8, 0.1])
    right = np.array([True, True, False, False])
    # Pairs of a right and a wrong word: three are in order, and one is a tie.
    assert area_under_curve(confidences, right) == pytest.approx(3.5 / 4)
    # Bins: 0.9 of one right word, 1.6 of one, 0.1 of none.
    assert calibration_error(confidences, right) == pytest.approx((0.1 + 0.6 + 0.1) / 4)
    assert risk_coverage(confidences, right) == pytest.approx({0.25: 0, 0.5: 0, 0.75: 1 / 3, 1: 0.5})


def test_a_table_is_read_with_its_bounds(run: Path) -> None:
    good = Calibration(**TABLE, weights=(1.0, 0.0, 0.0), centres=(0.0, 1.0), shares=(0.25, 0.75))
    assert good.confidences(np.array([[0.0, 0], [0.5, 0], [2, 0]])) == [0.25, 0.5, 0.75]
    for wrong in ({"centres": (1.0, 0.0)}, {"shares": (0.75, 0.25)}, {"shares": (0.5,)}, {"shares": (0.5, 2.0)}):
        (run / FILE).write_text(json.dumps(good.model_dump() | wrong))
        require_refusal(lambda: load_calibration(run), "is no table of confidences")
    shutil.rmtree(run)
    assert load_calibration(run) is None


@pytest.mark.parametrize("weights", [(1.0, 0.5, 0.2), (2.5, -0.4, 0.0), (0.0, 1.0, 0.0), (-0.5, 1.0, 1.0)])
def test_below_the_lowest_bin_confidence_falls_to_nothing(weights: tuple[float, float, float]) -> None:
    """It goes on where the table ends, and falls with the probability where that is what the table weighs."""
    table = Calibration(**TABLE, weights=weights, centres=(-1.0, 2.0), shares=(0.84, 0.99))
    along = np.linspace(-40, 4, 500)
    by_probability = weights[0] > 0
    features = np.zeros((500, 2))
    features[:, 0 if by_probability else 1] = (along - weights[2]) / weights[0 if by_probability else 1]
    confidences = np.array(table.confidences(features))
    assert (np.diff(confidences) >= 0).all() and np.abs(np.diff(confidences)).max() < 0.1
    assert confidences[0] < 1e-6 and confidences[-1] == 0.99 and table.floor == 0.84
    if by_probability:
        lowest = (-1.0 - weights[2]) / weights[0]
        steps = np.log([1, 0.5, 0.1, 0.01])
        below = table.confidences(np.stack([lowest + steps, np.zeros(4)], 1))
        assert below == pytest.approx([0.84, 0.42, 0.084, 0.0084])


def test_a_table_says_of_which_weights_and_words_it_is(run: Path, capsys: pytest.CaptureFixture) -> None:
    trained = load(run, device="cpu").trained
    table = Calibration(**TABLE, weights=(1.0, 0.0, 0.0), centres=(0.0,), shares=(0.5,), trained=trained)
    (run / FILE).write_text(json.dumps(table.model_dump()))
    assert Confidence.of(load(run, device="cpu")).table == table
    assert capsys.readouterr().err == ""
    (run / FILE).write_text(json.dumps(table.model_dump() | {"trained": "update 7"}))
    Confidence.of(load(run, device="cpu"))
    said = capsys.readouterr().err
    assert f"was made with update 7, and these weights are {trained}: make it again: mt evaluate RUN" in said
    # Tables of earlier versions do not say.
    (run / FILE).write_text(json.dumps(table.model_dump(exclude={"trained", "sources"})))
    Confidence.of(load(run, device="cpu"))
    assert capsys.readouterr().err == ""


def test_aligned_words_and_exports_have_the_confidences_of_the_run(run: Path, tmp_path: Path) -> None:
    table = Calibration(**TABLE, weights=(1, 0.5, 0), centres=(-9.0, 1.0), shares=(0.25, 0.75))
    (run / FILE).write_text(json.dumps(table.model_dump()))
    one = load(run, device="cpu")
    export(run, tmp_path / "export")
    export(run, tmp_path / "last", checkpoint="last")
    assert not (tmp_path / "last" / FILE).exists()  # a table is of the best
    translations = one.translate(TEXTS, GreedyConfig())
    aligned = one.align(TEXTS, [translation.text for translation in translations])
    carried = load(tmp_path / "export", device="cpu")
    ours, theirs = Confidence.of(one), Confidence.of(carried)
    assert ours.table == theirs.table == table
    copies = carried.translate(TEXTS, GreedyConfig())
    for translation, other, copied in zip(translations, aligned, copies, strict=True):
        if translation.ids == other.ids:
            assert ours.words(other) == pytest.approx(ours.words(translation), abs=1e-4)
        assert theirs.words(copied) == ours.words(translation)
    assert any(translation.ids == other.ids for translation, other in zip(translations, aligned, strict=True))


def test_exported_graphs_have_the_confidences_of_the_run(graphs: Path, tmp_path: Path) -> None:
    shutil.copytree(graphs, tmp_path / "graphs")
    table = Calibration(**TABLE, weights=(1, 0.5, 0), centres=(-9.0, 1.0), shares=(0.25, 0.75))
    (tmp_path / "graphs" / FILE).write_text(json.dumps(table.model_dump()))
    assert Confidence.of(load(tmp_path / "graphs", engine="onnx")).table == table
