"""Delays in words, against a plain reading of what the tokens say."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mt.data.corpus import Corpus
from mt.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig, Tokenizers
from mt.decoding.delays import word_delays, words_read
from mt.decoding.load import load
from mt.decoding.modes import require_compatible
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError
from mt.evaluation.score import evaluate
from mt.metrics.latency import erased, finalised
from mt.search.config import BeamConfig, OnlineConfig, RetranslateConfig

TEXTS = ["the tall tower", "a tower", "the tallest towers talk", "lower, tower!", "two taller lowlands"] * 4


@pytest.fixture(scope="module", params=["bpe", "unigram", "char", "word"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    config = TokenizerConfig(model_type=request.param, vocab_size=40)
    return Tokenizers.train(config, [(text, text) for text in TEXTS]).target


def test_a_whole_word_is_read_for_its_first_token():
    read = words_read(np.array([0, 1, 2, 3, 4, 6, 7]), [1, 2, 3])
    assert read.tolist() == [0, 1, 2, 2, 3, 3, 3]  # the end of the source comes with its last word


@pytest.mark.parametrize("text", ["the tall tower", "lower, two tower!", "tower", "a 鳥 tower", "x鳥鳥x 鳥 a"])
def test_a_word_is_written_with_the_token_that_begins_the_next(tokenizer: Tokenizer, text: str):
    [ids] = tokenizer.encode([text])
    words = tokenizer.decode(ids).split()
    delays = word_delays(tokenizer, ids, np.arange(len(ids)), 99)
    assert len(delays) == len(words)
    for count, delay in enumerate(delays, start=1):
        assert tokenizer.decode(ids[:delay]).split() == words[:count]
        assert ids[delay] == EOS or tokenizer.begins_word(ids[delay], ids[delay - 1])
    assert delays[-1] == len(ids) - 1


def test_without_an_end_the_last_word_waits_for_the_source(tokenizer: Tokenizer):
    [ids] = tokenizer.encode(["the tall tower"])
    read = np.arange(1, len(ids) + 1)
    whole = word_delays(tokenizer, ids, read, 99)
    cut = word_delays(tokenizer, ids[:-1], read[:-1], 99)
    assert cut == (*whole[:-1], 99)
    assert word_delays(tokenizer, [EOS], np.array([5]), 9) == word_delays(tokenizer, [], np.array([]), 9) == ()
    assert word_delays(tokenizer, [UNK, UNK, EOS], np.array([1, 2, 3]), 9) == (2, 3)


# Re-translation, beside translations of each prefix alone.

SOURCES = ["the big cats see houses", "", "two dogs", "three  dogs see the two big streets"]


def alone(translator: Translator, text: str, search: BeamConfig, mask_k: int = 0) -> list[str]:
    """What is shown with each word: each prefix by itself."""
    words = text.split()
    shown = [translator.translate(" ".join(words[:count]), search).text for count in range(1, len(words))]
    masked = [" ".join(update.split()[:-mask_k]) if mask_k else update for update in shown]
    return [*masked, translator.translate(text, search).text]


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
@pytest.mark.parametrize("options", [{"beam_size": 1}, {"beam_size": 3, "length_penalty": 1.0, "max_length": 6}])
@pytest.mark.parametrize("mask_k", [0, 2])
def test_each_prefix_is_translated_as_if_alone(run: str, options, mask_k: int, request: pytest.FixtureRequest):
    translator = load(request.getfixturevalue(run), device="cpu")
    translations = translator.translate(SOURCES, RetranslateConfig(mask_k=mask_k, **options))
    for text, actual in zip(SOURCES, translations, strict=True):
        offline = translator.translate(text, BeamConfig(**options))
        assert (actual.text, actual.ids) == (offline.text, offline.ids)
        assert actual.score == pytest.approx(offline.score, rel=1e-5)
        if not text:
            assert actual.timing is None
            continue
        expected = alone(translator, text, BeamConfig(**options), mask_k)
        times = actual.timing
        assert times.updates == tuple(expected) and times.source_words == len(text.split())
        words = [update.split() for update in expected]
        assert times.word_delays == tuple(finalised(words)) and len(times.word_delays) == len(words[-1])
        assert len(times.words_read) == len(times.delays) == len(actual.ids)
        assert times.delays[-1] == len(actual.source_tokens) or actual.cut


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
    picture: Any = SimpleNamespace(frontend=SimpleNamespace(field="image"))
    with pytest.raises(UserError, match=r"^search=retranslate .* this model reads neither: choose search=beam"):
        require_compatible(RetranslateConfig(), picture)
    with pytest.raises(UserError, match=r"^--replace-unknown changes the last .*: leave it out"):
        evaluate(translator, corpus.split("dev"), RetranslateConfig(), unknown_words=UnknownWords(translator, {}))


def test_re_translation_begins_as_asked(translator: Translator):
    whole = translator.translate("two dogs", BeamConfig(), prefix="drei")
    shown = translator.translate("two dogs", RetranslateConfig(), prefix="drei")
    assert shown.text == whole.text and all(update.startswith("drei") for update in shown.timing.updates)
