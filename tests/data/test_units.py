"""Words and characters of pieces, which alignments link."""

import itertools
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from mt.data.tokenizer import UNK, LinkUnit, Tokenizer, TokenizerConfig, train, units
from mt.data.tokenizer.training import ModelType
from tests.data.conftest import Foreign
from tests.data.test_tokenizer import GERMAN
from tests.marks import combined, examples

KINDS = get_args(ModelType)
TEXTS = [*GERMAN, "Es ist alt"]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    def made(kind: str) -> Tokenizer:
        return train(TokenizerConfig(model_type=kind, vocab_size=70 if kind == "bpe" else 1000), TEXTS)

    return {kind: made(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", ["word", "char"])
def test_units_of_pieces(kind: str, unit: str, tokenizers: dict[str, Tokenizer]) -> None:
    text = "Das kleine Haus ist alt, oder?"
    known = units(text, unit)
    words = ["Das", "kleine", "Haus", "ist", "alt", ",", "oder", "?"]
    assert known == (words if unit == "word" else list("".join(words)))
    pieces = tokenizers[kind].split(text)
    ids = tokenizers[kind].unit_ids(text, unit)
    assert ids == tokenizers[kind].decoded_unit_ids(tokenizers[kind].encode([text])[0], unit)
    assert (pieces[-1], ids[-1], None in ids[:-1]) == ("</s>", None, False)
    assert ids[:-1] == sorted(ids[:-1])
    if (kind, unit) in (("char", "char"), ("char", "word"), ("word", "word")):
        spelt = [""] * len(known)
        for piece, index in zip(pieces[:-1], ids[:-1], strict=True):
            spelt[index] += piece.removeprefix("▁")
        assert spelt == known


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_words_move_no_unit(kind: str, tokenizers: dict[str, Tokenizer]) -> None:
    """Neither of a text, where a run of unknown characters is one piece, nor of what is decoded, where it is one ⁇."""
    text = "Das ЖЖЖ, ЖЖ! Haus ist alt"
    tokenizer = tokenizers[kind]
    pieces = tokenizer.split(text)
    ids = tokenizer.unit_ids(text)
    known = units(text, "word")
    assert all(known[i] == "Haus" for piece, i in zip(pieces, ids, strict=True) if piece.endswith("Haus"))
    assert [known[i] for i in ids if i is not None][-1] == "alt"
    assert next(known[i] for piece, i in zip(pieces, ids, strict=True) if "Ж" in piece) == "ЖЖЖ"
    [encoded] = tokenizer.encode([text])
    assert UNK in encoded
    written = units(tokenizer.decode(encoded), "word")
    decoded = tokenizer.decoded_unit_ids(encoded)
    assert next(written[i] for token, i in zip(encoded, decoded, strict=True) if token == UNK) == "⁇"
    assert written[decoded[-2]] == "alt"


def test_a_piece_belongs_to_the_unit_that_it_covers_most(foreign: Foreign) -> None:
    tokenizer = train(TokenizerConfig(model_type="bpe", vocab_size=14), ["ab cd abcd abcd"])
    pieces = tokenizer.split("ab cd")
    ids = tokenizer.unit_ids("ab cd")
    assert [(p, i) for p, i in zip(pieces, ids, strict=True) if p == "▁cd"] == [("▁cd", 1)]
    # Two letters outweigh a bracket before them.
    bracketed, _ = foreign(["(ab (ab (ab"], model_type="bpe", vocab_size=12, split_by_unicode_script=False)
    assert bracketed.split("(ab") == ["▁(ab", "</s>"] and bracketed.unit_ids("(ab") == [1, None]
    assert tokenizer.unit_ids("") == [None]
    assert tokenizer.unit_ids(" \n") == [None]


def test_accents_and_marks_count_as_they_are_composed(tokenizers: dict[str, Tokenizer]) -> None:
    assert units("Ha\u0308user नमस्ते שָׁלוֹם!", "word") == ["Häuser", "नमस्ते", units("שָׁלוֹם", "word")[0], "!"]
    tokenizer = tokenizers["char"]
    ids = tokenizer.unit_ids("gro\u0308ßere!")
    assert ids == tokenizer.unit_ids("größere!")
    assert ids[-2] == 1


THEIR_RULES = ["nmt_nfkc", "nfkc", "nfkc_cf", "nmt_nfkc_cf", "identity"]
ODD_WORDS = ["½", "ﬁn", "①②③", "İ", "Ⅷ", "ﷺ", "a\u200bb", "\u200b", "x\u200d", "㍿", "ａｂ", "ﬀ½", "가", "x̱̄", "▁a", "ẞ"]


@pytest.fixture(scope="module")
def rewriting(foreign: Foreign) -> dict[str, Tokenizer]:
    """Tokenizers that make characters longer or shorter."""
    texts = ["one two go red!", " ".join(ODD_WORDS), *TEXTS] * 5

    def theirs(rule: str, **options: object) -> Tokenizer:
        return foreign(texts, vocab_size=400, normalization_rule_name=rule, **options)[0]

    made = {rule: theirs(rule) for rule in THEIR_RULES}
    for kind in KINDS:
        config = TokenizerConfig(model_type=kind, vocab_size=120 if kind == "bpe" else 400, lowercase=True)
        made[f"{kind}, lower case"] = train(config, texts)
    made["bytes"] = theirs("nmt_nfkc", byte_fallback=True, character_coverage=0.98)
    return made | {"suffixes": theirs("nmt_nfkc", treat_whitespace_as_suffix=True)}


def by_unit(tokenizer: Tokenizer, text: str, unit: str) -> dict[str, str]:
    """The pieces of each unit, one after another; units are supposed to differ."""
    known = units(text, unit)
    spelt = dict.fromkeys(known, "")
    for piece, index in zip(tokenizer.split(text), tokenizer.unit_ids(text, unit), strict=True):
        if index is not None:
            spelt[known[index]] += piece
    return spelt


@combined(odd=ODD_WORDS, unit=["word", "spaced", "white_space"])
def test_what_the_tokenizer_rewrites_moves_no_later_unit(odd: str, unit: str, rewriting: dict[str, Tokenizer]) -> None:
    for name, tokenizer in rewriting.items():
        alone = by_unit(tokenizer, "one two go red", unit)
        result = by_unit(tokenizer, f"{odd} {odd} one two go red", unit)
        assert {word: result[word] for word in alone} == alone, name


@examples(100)
@given(st.text(st.sampled_from("".join(ODD_WORDS) + "aé\u0308\u0338=▁￭ \u3000Ж<s>") | st.characters(codec="utf-8")))
def test_units_of_any_text_in_any_model(rewriting: dict[str, Tokenizer], text: str) -> None:
    for tokenizer in rewriting.values():
        for unit in get_args(LinkUnit):
            known = units(text, unit)
            ids = tokenizer.unit_ids(text, unit)
            places = [place for place in ids[:-1] if place is not None]
            assert len(ids) == len(tokenizer.encode([text])[0]) and len(places) == len(ids) - 1
            assert places == sorted(places) and all(0 <= place < len(known) for place in places)
            [encoded] = tokenizer.encode([text])
            written = units(tokenizer.decode(encoded), unit)
            decoded = [place for place in tokenizer.decoded_unit_ids(encoded, unit) if place is not None]
            assert decoded == sorted(decoded) and all(0 <= place < len(written) for place in decoded)


def test_words_of_a_model_that_marks_their_ends(rewriting: dict[str, Tokenizer]) -> None:
    tokenizer = rewriting["suffixes"]
    [ids] = tokenizer.encode(["one two go red"])
    begins = [tokenizer.begins_word(token, before) for before, token in itertools.pairwise([None, *ids[:-1]])]
    assert sum(begins) == 3, "the first token goes on with what is empty"
