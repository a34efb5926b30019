"""The record of a translation: what it says, and the runners-up of each step, by whichever network."""

import json
from copy import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mt import Translator, load
from mt.common.backdrop import Picture, Sound
from mt.decoding.confidence import FILE, Calibration, Confidence
from mt.decoding.record import RUNNERS_UP, plain_record, record, runners_up
from mt.decoding.translation import Drawing
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig

PICTURE = Picture(np.full((64, 32, 3), 200, np.uint8), (2, 1))
SOUND = Sound(np.arange(60.0).reshape(20, 3), 0.2, (9.0,))
TEXTS = ["two cats see houses", "the big cats see houses", "", "dogs"]


def replayed(translator: Translator, search):
    translations = translator.translate(TEXTS, search)
    rows = translator.encoded(TEXTS)
    return translations, runners_up(translator, rows, [one.ids for one in translations], search)


@pytest.mark.parametrize(
    ("name", "search"), [("translator", GreedyConfig()), ("hard", GreedyConfig()), ("hard", OnlineConfig())]
)
def test_the_best_of_each_step_is_what_greedy_search_wrote(name: str, search, request) -> None:
    translations, replays = replayed(request.getfixturevalue(name), search)
    assert [replay is None for replay in replays] == [not text for text in TEXTS]
    for translation, (own, best) in (
        (one, replay) for one, replay in zip(translations, replays, strict=True) if replay
    ):
        assert [step[0][0] for step in best] == list(translation.ids)
        assert [step[0][1] for step in best] == pytest.approx(own)
        assert all(len(step) == RUNNERS_UP for step in best)
        assert all(0 >= one >= other for step in best for (_, one), (_, other) in pairwise(step))


def test_probabilities_multiply_to_the_score_also_of_what_is_no_runner_up(translator: Translator) -> None:
    search = BeamConfig(beam_size=3, length_penalty=0.0)
    translations = translator.n_best(TEXTS[:2], 3, search)
    for rank in range(3):
        chosen = [of_text[rank] for of_text in translations]
        rows = translator.encoded(TEXTS[:2])
        replays = runners_up(translator, rows, [one.ids for one in chosen], search, count=1)
        for translation, replay in zip(chosen, replays, strict=True):
            assert replay.log_probs.sum() == pytest.approx(translation.score, abs=1e-4)
    plain = record(translator, chosen[0], TEXTS[0], replay=replays[0])
    assert plain["top"][0] == [["▁zwei", plain["top"][0][0][1], plain["top"][0][0][2]]]
    assert plain["probabilities"] == pytest.approx(np.exp(replays[0].log_probs), rel=1e-3)


def test_it_says_what_the_translation_says(hard: Translator) -> None:
    translation = hard.translate("two cats see houses", OnlineConfig())
    plain = json.loads(json.dumps(record(hard, translation, "two cats see houses", references=["zwei"])))
    assert plain["text"] == translation.text and plain["source"] == "two cats see houses"
    assert plain["tokens"] == list(translation.tokens) and plain["ids"] == list(translation.ids)
    assert plain["stops"] == translation.stops.tolist() and plain["chunk"] == 2
    assert plain["delays"] == [*translation.timing.delays] and plain["words_read"] == [*translation.timing.words_read]
    assert plain["source_words"] == 4 and plain["references"] == ["zwei"]
    assert not {"backdrop", "gold", "aer", "cut", "top"} & plain.keys()
    weights = np.zeros(translation.alignment.shape)
    for row, (first, *parts) in zip(weights, plain["rows"], strict=True):
        row[first : first + len(parts)] = np.array(parts) / 1000
    np.testing.assert_allclose(weights, translation.alignment, atol=0.0006)


def test_confidences_are_those_of_a_calibrated_run(translator: Translator, tmp_path: Path) -> None:
    translation = translator.translate("two cats see houses")
    assert "confidence" not in record(translator, translation, "two cats see houses")
    table = Calibration(judged="edits", words=10, weights=(1.0, 0.0, 0.0), centres=(-1.0, 0.0), shares=(0.25, 0.75))
    (tmp_path / FILE).write_text(table.model_dump_json())
    calibrated = copy(translator)
    calibrated.folder = tmp_path
    plain = record(calibrated, translation, "two cats see houses")
    words = Confidence(table).words(translation)
    assert plain["word_confidence"] == pytest.approx(words, rel=1e-3) and len(words) == 4
    assert plain["confidence"] == pytest.approx(np.mean(words), rel=1e-3)


def test_a_blank_text_has_a_record(translator: Translator) -> None:
    plain = record(translator, translator.translate(""), "")
    assert plain["text"] == "" and plain["tokens"] == [] and plain["rows"] == [] and plain["links"] == ""


@pytest.mark.parametrize(
    ("backdrop", "expected", "image"),
    [
        (PICTURE, {"kind": "picture", "grid": [2, 1]}, "data:image/jpeg;base64,/9j/"),
        (SOUND, {"kind": "sound", "seconds": 0.2, "boundaries": [0.1]}, "data:image/png;base64,iVBOR"),
    ],
)
def test_pictures_and_sounds_are_in_it(translator: Translator, backdrop, expected: dict, image: str) -> None:
    translation = replace(translator.translate("two cats see houses"), drawing=Drawing(backdrop=lambda: backdrop))
    plain = plain_record(translation, boundaries=[0.1])["backdrop"]
    assert plain.pop("image").startswith(image)
    assert plain == expected
    assert "backdrop" not in plain_record(translation, backdrop=False)


def test_an_exported_model_has_the_same_runners_up(graphs: Path, translator: Translator) -> None:
    _, expected = replayed(translator, GreedyConfig())
    _, found = replayed(load(graphs, engine="onnx"), GreedyConfig())
    for one, other in ((one, other) for one, other in zip(found, expected, strict=True) if one or other):
        np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-4)
        for of_one, of_other in zip(one.best, other.best, strict=True):
            assert [token for token, _ in of_one] == [token for token, _ in of_other]
            np.testing.assert_allclose([p for _, p in of_one], [p for _, p in of_other], atol=1e-4)
