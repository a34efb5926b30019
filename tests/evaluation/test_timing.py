"""Units of hypotheses, their tokens and times, and where attention was while they were written."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mt.data.tokenizer import Tokenizer, TokenizerConfig, train
from mt.decoding.delays import written_units
from mt.decoding.translation import Timing, Translation
from mt.errors import UserError
from mt.evaluation.timing import _timed, _unit, boundaries, pointing_score, timing_scores, units
from mt.search.hypothesis import EMPTY, Windows

TEXTS = ["the tall tower", "two taller lowlands"] * 10


@pytest.fixture(params=["bpe", "char", "word"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train(TokenizerConfig(model_type=request.param, vocab_size=40), TEXTS)


def test_units_are_those_of_the_text_and_tokens_those_of_the_unit(tokenizer: Tokenizer):
    [ids] = tokenizer.encode(["the tall tower"])
    words = written_units(tokenizer, ids, "word")
    assert [word.text for word in words] == ["the", "tall", "tower"]
    for word, after in zip(words, [*words[1:], None], strict=True):
        assert tokenizer.decode([ids[i] for i in word.tokens]) == word.text
        assert word.last == (after.tokens[0] if after else len(ids) - 1)
    letters = written_units(tokenizer, ids, "char")
    assert "".join(letter.text for letter in letters) == "the tall tower"
    assert all(letter.tokens == [letter.last] for letter in letters)
    if tokenizer.of_characters:
        assert all(tokenizer.decode([ids[letter.last]]) == letter.text.strip() for letter in letters)


def test_times_of_a_translation():
    tokenizer = train(TokenizerConfig(model_type="word", vocab_size=40), TEXTS)
    [ids] = tokenizer.encode(["the tall tower"])
    plain = Translation("the tall tower", 0.0, (), (), EMPTY, ids=tuple(ids))
    assert _timed(tokenizer, plain, "word", 40.0)[:3] == (["the", "tall", "tower"], None, None)
    assert _timed(tokenizer, plain, "char", 40.0).units == [*"thetalltower"]
    stops = np.array([0, 3, -1, 9])
    timing = Timing((), (60, 200, 400, 410), (), 420)
    online = Translation("the tall tower", 0.0, (), (), EMPTY._replace(stops=stops), timing=timing, ids=tuple(ids))
    result = _timed(tokenizer, online, "word", 40.0)
    assert result.written == [200, 400, 410]
    assert result.stops is not None and result.stops[:2] == [[20], [140]] and np.isnan(result.stops[2][0])
    # What is cut ends with the source.
    cut = replace(online, ids=tuple(ids[:-1]), timing=timing._replace(words_read=(60, 200, 400)))
    assert _timed(tokenizer, cut, "word", 40.0).written == [200, 400, 420]


def split_of(times: list[str], targets: list[str]) -> Any:
    return SimpleNamespace(times=lambda: times, column={"target": targets}.__getitem__)


def test_scores_of_the_examples_whose_times_are_known():
    tokenizer = train(TokenizerConfig(model_type="word", vocab_size=40, lowercase=True), TEXTS)
    frontend = SimpleNamespace(output_lengths=lambda lengths: lengths // 4)
    translator: Any = SimpleNamespace(
        model=SimpleNamespace(frontend=frontend),
        field=SimpleNamespace(milliseconds=10),
        tokenizers=SimpleNamespace(target=tokenizer),
    )
    [ids] = tokenizer.encode(["the tall tower"])
    unknown = Translation("", 0.0, (), (), EMPTY)
    online = replace(
        unknown,
        ids=tuple(ids),
        windows=EMPTY._replace(stops=np.array([0, 3, -1, 9])),
        timing=Timing((), (60, 200, 400, 410), (), 420),
    )
    targets = ["two", "The tall tower"]
    scores = timing_scores(translator, [unknown, online], split_of(["", "0-100 120-160 300-420"], targets))
    values = {name: score.score for name, score in scores.items()}
    # Words are written 100 and 240 ms after they end, and the last one 10 ms before.
    expected = {"emission_ms": 100, "emission_ms_p95": 226, "stops_inside": pytest.approx(200 / 3)}
    assert values == expected and scores["emission_ms"].signature.startswith("n:3|unit:word|of:right|case:lc|")
    assert timing_scores(translator, [unknown, online], split_of(["", ""], targets)) == {}
    with pytest.raises(UserError, match=r"^times of example 2: '3-1' does not say"):
        timing_scores(translator, [unknown, online], split_of(["", "3-1"], targets))


def test_where_units_of_the_first_examples_end():
    split = split_of(["0-1500 1500-1750", "", "x"], [])
    assert boundaries(split, 2) == [[1.5, 1.75], []]
    with pytest.raises(UserError, match=r"^times of example 3: 'x' does not say"):
        boundaries(split, 3)


def test_the_unit_is_what_there_are_as_many_of():
    assert _unit(["the tall", "tower"], [2, 1]) == _unit(["a b"], [2]) == "word"
    assert _unit(["the tall", "tower"], [7, 5]) == "char" and units("A B", "char") == ["A", "B"]
    with pytest.raises(UserError, match=r"^the times of the examples are neither of the words of their targets"):
        _unit(["the tall", "tower"], [2, 5])


def test_units_are_compared_without_case_where_the_tokenizer_writes_none():
    tokenizer = train(TokenizerConfig(model_type="word", vocab_size=40, lowercase=True), TEXTS)
    [ids] = tokenizer.encode(["the Tall"])
    written = Translation("the tall", 0.0, (), (), EMPTY, ids=tuple(ids))
    timed = _timed(tokenizer, written, "word", 40.0, ["The", "Tall"])
    assert timed.units == timed.reference == ["the", "tall"]


# The pointing game over what a model wrote.
PICTURE = "large red circle 5,5,31,31; small blue star 76,76,86,86"
CAPTION = "a large red circle in the top left and a small blue star in the bottom right"


@pytest.fixture(scope="module", params=["word", "bpe"])
def captions(request: pytest.FixtureRequest) -> Tokenizer:
    return train(TokenizerConfig(model_type=request.param, vocab_size=40), [CAPTION] * 5)


def of(
    captions: Tokenizer, metrics: list[str], peaks: dict[str, int], text: str = CAPTION, *, uses_source: bool = True
) -> dict[str, Any]:
    """`pointed` of one caption whose attention is at these places while these words end, else in between."""
    [ids] = captions.encode([text])
    weights = np.full((len(ids), 16), 0.01, np.float32)
    weights[:, 5] = 0.4
    for word in written_units(captions, ids, "word"):
        weights[word.tokens[-1], peaks.get(word.text, 5)] = 0.5
    caption = Translation(text, 0.0, (*text.split(), "</s>"), ("",) * 16, Windows.whole(weights), ids=tuple(ids))
    config = SimpleNamespace(dataset=SimpleNamespace(metrics=metrics))
    model = SimpleNamespace(uses_source=uses_source)
    tokenizers = SimpleNamespace(target=captions)
    translator = SimpleNamespace(config=config, model=model, tokenizers=tokenizers)
    columns = {"source": [PICTURE], "references": [[CAPTION]]}
    return pointing_score(cast(Any, translator), [caption], cast(Any, SimpleNamespace(column=columns.__getitem__)))


# Of 4 x 4 places, from the top left to the bottom right; the star is on the middle of none.
@pytest.mark.parametrize(("circle", "star", "expected"), [(0, 15, 100), (0, 0, 50), (9, 9, 0)])
def test_attention_while_an_object_is_named(captions: Tokenizer, circle: int, star: int, expected: float) -> None:
    [(name, score)] = of(captions, ["truth", "bleu"], {"circle": circle, "star": star}).items()
    assert (name, score.score) == ("pointing", expected)
    assert score.signature == "n:2|of:objects of true captions|grid:4x4"


def test_of_captions_that_are_checked_and_true_alone(captions: Tokenizer) -> None:
    assert of(captions, ["bleu"], {}) == of(captions, ["truth"], {}, uses_source=False) == {}
    assert of(captions, ["truth"], {}, "a small blue star in the top left") == {}
