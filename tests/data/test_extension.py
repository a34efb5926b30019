"""New pieces leave whatever was known as it was."""

import pytest
from hypothesis import given, settings, strategies as st

from mt.data.tokenizer import UNK, TokenizerConfig, Tokenizers, extend, extend_sides, train
from mt.data.tokenizer.training import ModelType

OLD = ["The cat sat on the mat.", "A dog, big and old, sat there!", "the old cat"]
NEW = ["the жук sat?", "Жуки, don't sit жуком", "ж"]
SIZES: dict[ModelType, int] = {"bpe": 60, "unigram": 50, "char": 100, "word": 100}


@pytest.fixture(scope="module", params=[(kind, lower) for kind in SIZES for lower in (False, True)], ids=str)
def both(request: pytest.FixtureRequest):
    """A tokenizer, and the same extended."""
    kind, lower = request.param
    old = train(TokenizerConfig(model_type=kind, vocab_size=SIZES[kind], lowercase=lower), OLD * 3)
    return old, extend(old, NEW, 50)


def test_the_new_text_is_known_and_old_ids_stay(both) -> None:
    old, new = both
    assert len(new) > len(old) and new.pieces(range(len(old))) == old.pieces(range(len(old)))
    assert any(UNK in ids for ids in old.encode(NEW)) and not any(UNK in ids for ids in new.encode(NEW))
    lower = old.decode(old.encode(["THE CAT"])[0]) == "the cat"
    assert [new.decode(ids) for ids in new.encode(NEW)] == [text.lower() if lower else text for text in NEW]


@given(st.text(alphabet=sorted(set("".join(OLD))), max_size=40))
@settings(max_examples=60, deadline=None)
def test_whatever_was_known_is_cut_as_before(both, text: str) -> None:
    old, new = both
    [before] = old.encode([text])
    [after] = new.encode([text])
    assert UNK in before or before == after


def test_nothing_unknown_extends_nothing(both) -> None:
    old, new = both
    assert extend(old, OLD, 50) is old and extend(new, NEW, 50) is new


@pytest.mark.parametrize("kind", SIZES)
def test_most_pieces_and_each_character(kind: ModelType) -> None:
    old = train(TokenizerConfig(model_type=kind, vocab_size=SIZES[kind]), OLD * 3)
    few = extend(old, NEW, 1)
    added = few.pieces(range(len(old), len(few)))
    assert len([piece for piece in added if kind == "word" or len(piece) > 1]) == (kind != "char")
    assert kind == "word" or set("Жжуком") <= set(added)


def test_both_sides_of_a_corpus() -> None:
    pairs = [("the жук", "die 虫"), ("the cat", "die Katze")]
    olds = [("the cat sat", "die Katze saß")] * 3
    config = TokenizerConfig(model_type="char", vocab_size=100)
    joint = extend_sides(Tokenizers.train(config, olds), pairs, 10)
    assert joint.joint and {"ж", "虫"} <= set(joint.source.pieces(range(len(joint.source))))
    apart = extend_sides(Tokenizers.train(config.model_copy(update={"joint": False}), olds), pairs, 10)
    source, target = (set(side.pieces(range(len(side)))) for side in apart)
    assert "ж" in source - target and "虫" in target - source
    sounds = extend_sides(Tokenizers.train(config, olds, source=False), [(None, "die 虫")], 10)
    assert sounds.joint and "虫" in sounds.target.pieces(range(len(sounds.target)))
