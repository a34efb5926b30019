"""Delays in words, against a plain reading of what the tokens say."""

from pathlib import Path

import numpy as np
import pytest

from mt.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig, Tokenizers
from mt.decoding.delays import word_delays, words_read
from mt.decoding.load import load
from mt.decoding.translator import Translator
from mt.search.config import OnlineConfig

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


def test_translations_have_the_delays_of_their_words(trained_hard: Path):
    translator: Translator = load(trained_hard, device="cpu")
    texts = ["the  big cats see houses", "two dogs", ""]
    *result, blank = translator.translate(texts, OnlineConfig())
    for text, translation in zip(texts, result, strict=False):
        assert translation.delays is not None and translation.words_read is not None
        # Its tokens are words: as many are read, but for the end.
        assert translation.words_read.tolist() == np.minimum(translation.delays, len(text.split())).tolist()
        assert translation.word_delays is not None and len(translation.word_delays) == len(translation.text.split())
        assert max(translation.word_delays) <= len(text.split())
    assert blank.word_delays is None and translator.translate("two dogs").word_delays is None
