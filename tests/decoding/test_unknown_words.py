"""Unknown words are replaced by the source word that the attention is largest on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mt
from mt.data.tokenizer import UNK, TokenizerConfig, Tokenizers
from mt.decoding.delays import word_delays
from mt.decoding.translation import Timing, Translation, Units
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords, read_dictionary, source_words
from mt.search.config import BeamConfig, OnlineConfig
from mt.search.hypothesis import Windows
from tests.refusals.sentences import require_refusal

TEXTS = ["the tall tower", "a tower", "the tallest towers talk", "lower, tower!", "two taller lowlands"] * 4
LINES = ["two zzz see houses", "", "the green birds, find x￭y"]


def tokenizers(kind: str) -> Tokenizers:
    return Tokenizers.train(TokenizerConfig(model_type=kind, vocab_size=40), [(text, text) for text in TEXTS])


@pytest.fixture
def own(trained: Path) -> Translator:
    """A run that a test may change."""
    return mt.load(trained, device="cpu")


@pytest.fixture(params=["trained", "trained_hard"])
def often_unknown(request: pytest.FixtureRequest) -> Translator:
    """A run that writes unknown words often."""
    translator = mt.load(request.getfixturevalue(request.param), device="cpu")
    with torch.no_grad():
        translator.model.as_online_model.decoder.output.bias[UNK] += 12
    return translator


def expected(translation: Translation, words: list[str], dictionary: dict[str, str]) -> list[str]:
    """The written tokens, where each is a word: unknown ones by the largest weight on a word."""
    texts = []
    for token, place, weights in zip(translation.tokens, translation.ids, translation.alignment, strict=True):
        known = weights[: len(words)]
        if place == UNK and known.any():
            word = words[known.tolist().index(known.max())]
            texts.append(dictionary.get(word, word))
        elif token != "</s>":
            texts.append("⁇" if place == UNK else token.removeprefix("▁"))
    return texts


@pytest.mark.parametrize("dictionary", [{}, {"zzz": "Zebras", "houses": "alte  Häuser"}])
def test_by_what_is_attended_to_most(often_unknown: Translator, dictionary: dict[str, str]) -> None:
    unknown_words = UnknownWords(often_unknown, dictionary)
    assert often_unknown.translate(LINES[0]).ids.count(UNK) > 1
    for source, words in zip(LINES, (LINES[0].split(), [], ["the", "green", "birds", ",", "find", "x￭y"]), strict=True):
        for actual in often_unknown.n_best(source, search=BeamConfig(beam_size=4, n_best=4)):
            replaced = unknown_words.replaced(actual, source)
            texts = expected(actual, words, dictionary)
            joined = " ".join(" ".join(texts).split()).replace(" ,", ",")
            assert replaced.text.replace(" ,", ",") == joined
            still = replaced.text.count("⁇")
            assert replaced.replaced_unknown == actual.ids.count(UNK) - still
            assert len(replaced.units.target) == len(actual.ids)
            assert (replaced.ids, replaced.score, replaced.tokens) == (actual.ids, actual.score, actual.tokens)


def a_translation(translator: Translator, source: str, target: list[int], peaks: list[int]) -> Translation:
    width = len(translator.tokenizers.source.encode([source])[0])
    weights = np.zeros((len(target), width), np.float32)
    for step, peak in enumerate(peaks):
        if peak >= 0:
            weights[step, peak] = 0.5
    labels = ("",) * width
    return Translation("", 0.0, ("",) * len(target), labels, Windows.whole(weights), ids=tuple(target))


def test_the_marks_of_tokenizers_in_a_word_are_no_marks(own: Translator) -> None:
    """It stands between blanks, but for punctuation; links, delays and text are of the same words."""
    target = own.tokenizers.target
    [cats] = [i for i in range(len(target)) if target.pieces([i]) == ["▁Katzen"]]
    source = "▁two ￭zzz▁ x"
    ids = [UNK, cats, UNK, UNK, 3]
    peaks = [0, 0, source_words(own.tokenizers.source, source).index("x"), -1, 0]
    result = UnknownWords(own, {"x": "große ￭ Stadt"}).replaced(a_translation(own, source, ids, peaks), source)
    assert result.text == f"{source_words(own.tokenizers.source, source)[0]} Katzen große ￭ Stadt ⁇"
    assert result.replaced_unknown == 2 and result.units.target[-1] is None
    replaced = {2: "große ￭ Stadt"}
    delays = word_delays(target, ids, np.array([1, 2, 3, 4, 5]), 9, replaced)
    assert delays == (2, 3, 4, 4, 4, 5) and len(delays) == len(target.decode(ids, replaced).split())


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("word", "the zzz, zzz-tower x", ["the", "zzz", ",", "zzz-tower", "x", None]),
        ("bpe", "towerzz talks", None),
        ("char", "a 鳥 t", ["a", None, "鳥", None, "t", None]),
    ],
)
def test_words_of_pieces(kind: str, text: str, words: list[str | None] | None) -> None:
    source = tokenizers(kind).source
    result = source_words(source, text)
    if words is not None:
        assert [word for word in result if word] == [word for word in words if word] and result[-1] is None
        return
    pieces = source.split(text)
    for word, piece, token in zip(result[:-1], pieces[:-1], source.encode([text])[0], strict=False):
        assert word == (piece if token == UNK else "towerzz" if pieces.index(piece) <= pieces.index("zz") else "talks")


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char", "word"])
def test_a_copy_of_the_source_is_spelt_as_the_source(kind: str, own: Translator) -> None:
    """The unknown letters of a word that is copied piece by piece stand where they stood, and words keep their
    blanks; so do delays."""
    own.tokenizers = tokenizers(kind)
    for source in ["the toŋwer talks", "ŋtower, towerŋ ŋ", "ŋŋ the ŋaŋ", "two toŋ !", "ŋ"]:
        ids = own.tokenizers.target.encode([source])[0]
        given = a_translation(own, source, ids, [*range(len(ids))])
        timing = Timing((), tuple(range(1, len(ids) + 1)), (), 9)
        result = UnknownWords(own).replaced(replace(given, timing=timing), source)
        assert UNK in ids and result.text == source
        assert result.timing is not None and len(result.timing.word_delays) == len(source.split())


def test_attention_beside_the_unknown_piece_of_a_word_means_that(own: Translator) -> None:
    own.tokenizers = tokenizers("bpe")
    source = "the toŋwer talks"
    ids = own.tokenizers.target.encode([source])[0]
    peaks = [*range(len(ids))]
    peaks[ids.index(UNK)] += 1
    assert UnknownWords(own).replaced(a_translation(own, source, ids, peaks), source).text == source


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_each_word_of_an_entry_is_linked(kind: str, own: Translator) -> None:
    own.tokenizers = tokenizers(kind)
    the = own.tokenizers.target.encode(["the"])[0][:-1]
    source = "the tower"
    length = len(own.tokenizers.source.encode([source])[0])
    given = a_translation(own, source, [*the, UNK, 3], [*range(len(the)), length - 2, length - 1])
    units = own.tokenizers.source.unit_ids(source)
    result = UnknownWords(own, {"tower": "hoher Turm"}).replaced(
        replace(given, find_units=lambda: Units(tuple(units))), source
    )
    assert result.text == "the hoher Turm" and result.links == {(0, 0), (1, 1), (1, 2)}


@pytest.mark.parametrize("often_unknown", ["trained_hard"], indirect=True)
def test_online_each_word_has_its_delay(often_unknown: Translator) -> None:
    online = often_unknown.translate(LINES[0], OnlineConfig())
    result = UnknownWords(often_unknown, {"two": "genau zwei"}).replaced(online, LINES[0])
    assert result.replaced_unknown and result.timing is not None
    assert len(result.timing.word_delays) == len(result.text.split())


def test_a_dictionary(tmp_path: Path) -> None:
    file = tmp_path / "words"
    file.write_text("house Haus\n\nNew York\tNeu York \ncat\tKatze\r\ncat Kater\n")
    assert read_dictionary(file) == {"house": "Haus", "New York": "Neu York", "cat": "Katze"}
    for line in ("house", "house Haus 0.5", "house\tHaus\t0.5", "\tHaus", "cat flap|||Klappe"):
        file.write_text(f"cat Katze\n{line}\n")
        require_refusal(lambda: read_dictionary(file), f"{file}, line 2 is no entry of a dictionary")
    file.write_text("cat \x1b[31mKatze\n")  # it would be written on
    require_refusal(
        lambda: read_dictionary(file), rf"{file}, line 1 holds a control character \(cat \\x1b\[31mKatze\): remove it"
    )
    file.write_text("\n")
    require_refusal(lambda: read_dictionary(file), f"{file} has no entry of a dictionary: write a source word, a tab")


def test_what_attends_to_no_word_is_refused(own: Translator) -> None:
    attention = own.config.attention.model_copy(update={"name": "none"})
    own.config = own.config.model_copy(update={"attention": attention})
    require_refusal(lambda: UnknownWords(own), "attention=none attends to none: leave --replace-unknown out")
