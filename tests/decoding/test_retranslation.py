"""Re-translation, beside translations of each prefix alone."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mt.data.corpus import Corpus
from mt.decoding.load import load
from mt.decoding.modes import require_compatible
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError
from mt.evaluation.score import evaluate
from mt.metrics.latency import erased, finalised
from mt.search.config import BeamConfig, OnlineConfig, RetranslateConfig

TEXTS = ["the big cats see houses", "", "two dogs", "three  dogs see the two big streets"]


def alone(translator: Translator, text: str, search: BeamConfig, mask_k: int = 0) -> list[str]:
    """What is shown with each word: each prefix by itself."""
    words = text.split()
    shown = [translator.translate(" ".join(words[:count]), search).text for count in range(1, len(words))]
    return [
        *(" ".join(update.split()[: len(update.split()) - mask_k]) if mask_k else update for update in shown),
        translator.translate(text, search).text,
    ]


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
@pytest.mark.parametrize("options", [{"beam_size": 1}, {"beam_size": 3, "length_penalty": 1.0, "max_length": 6}])
@pytest.mark.parametrize("mask_k", [0, 2])
def test_each_prefix_is_translated_as_if_alone(run: str, options, mask_k: int, request: pytest.FixtureRequest):
    translator = load(request.getfixturevalue(run), device="cpu")
    translations = translator.translate(TEXTS, RetranslateConfig(mask_k=mask_k, **options))
    for text, actual in zip(TEXTS, translations, strict=True):
        offline = translator.translate(text, BeamConfig(**options))
        assert (actual.text, actual.ids) == (offline.text, offline.ids)
        assert actual.score == pytest.approx(offline.score, rel=1e-5)
        if not text:
            assert actual.word_delays is None
            continue
        expected = alone(translator, text, BeamConfig(**options), mask_k)
        assert actual.updates == tuple(expected) and actual.source_words == len(text.split())
        words = [update.split() for update in expected]
        assert actual.word_delays == tuple(finalised(words)) and len(actual.word_delays) == len(words[-1])
        assert actual.words_read is not None and actual.delays is not None
        assert len(actual.words_read) == len(actual.delays) == len(actual.ids)
        assert actual.delays[-1] == len(actual.source_tokens) or actual.cut


@pytest.mark.parametrize("unit", ["word", "char", "subword"])
def test_erasure_is_counted_in_the_unit_of_latency(trained: Path, corpus: Corpus, unit):
    translator = load(trained, device="cpu")
    split = corpus.split("dev")
    result = evaluate(translator, split, RetranslateConfig(beam_size=1), unit=unit)
    count = 0
    length = 0
    for source in split.column("source"):
        updates = alone(translator, source, BeamConfig(beam_size=1))
        cut = [[*"".join(update.split())] if unit == "char" else update.split() for update in updates]
        count += sum(erased(*pair) for pair in pairwise(cut))
        length += len(cut[-1])
    assert count and result.values()["erasure"] == count / length  # its pieces are words
    assert evaluate(translator, split, RetranslateConfig(beam_size=1, mask_k=3), unit=unit).values()["erasure"] < count


def test_a_stream_takes_nothing_back(hard: Translator, corpus: Corpus):
    assert evaluate(hard, corpus.split("dev"), OnlineConfig()).values()["erasure"] == 0


def test_what_cannot_be_re_translated_is_refused(translator: Translator, corpus: Corpus):
    sound: Any = SimpleNamespace(frontend=SimpleNamespace(field="audio"))
    with pytest.raises(UserError, match=r"^search=retranslate .* this model reads no texts: choose search=online"):
        require_compatible(RetranslateConfig(), sound)
    with pytest.raises(UserError, match=r"^--replace-unknown changes the last .*: leave it out"):
        evaluate(translator, corpus.split("dev"), RetranslateConfig(), unknown_words=UnknownWords(translator, {}))
    with pytest.raises(UserError, match=r"text 1 asks .* choose search=beam"):
        translator.translate("two dogs", RetranslateConfig(), prefix="zwei")
    with pytest.raises(UserError, match=r"search=retranslate changes what it has shown: choose search=online"):
        translator.stream(RetranslateConfig())
