"""Words and characters of pieces, which alignments link."""

from typing import get_args

import pytest
from hypothesis import given, strategies as st

from mt.data.tokenizer import UNK, Tokenizer, TokenizerConfig, train, units
from mt.data.tokenizer.config import ModelType

KINDS = get_args(ModelType)
TEXTS = ["Das kleine Haus ist alt, oder?", "Zwei T-Shirts „blau“ kosten 12,50 Euro!", "Wir sehen größere Häuser!"]


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
    assert known == (
        ["Das", "kleine", "Haus", "ist", "alt", ",", "oder", "?"] if unit == "word" else [*"DaskleineHausistalt,oder?"]
    )
    pieces, ids = tokenizers[kind].split(text), tokenizers[kind].unit_ids(text, unit)
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
    text, tokenizer = "Das ЖЖЖ, ЖЖ! Haus ist alt", tokenizers[kind]
    pieces, ids, known = tokenizer.split(text), tokenizer.unit_ids(text), units(text, "word")
    assert all(known[i] == "Haus" for piece, i in zip(pieces, ids, strict=True) if piece.endswith("Haus"))
    assert [known[i] for i in ids if i is not None][-1] == "alt"
    assert next(known[i] for piece, i in zip(pieces, ids, strict=True) if "Ж" in piece) == "ЖЖЖ"
    [encoded] = tokenizer.encode([text])
    assert UNK in encoded
    written = units(tokenizer.decode(encoded), "word")
    decoded = tokenizer.decoded_unit_ids(encoded)
    assert next(written[i] for token, i in zip(encoded, decoded, strict=True) if token == UNK) == "⁇"
    assert written[decoded[-2]] == "alt"


def test_a_piece_belongs_to_the_unit_that_it_covers_most() -> None:
    tokenizer = train(TokenizerConfig(model_type="bpe", vocab_size=14), ["ab cd abcd abcd"])
    pieces, ids = tokenizer.split("ab cd"), tokenizer.unit_ids("ab cd")
    assert [(p, i) for p, i in zip(pieces, ids, strict=True) if p == "▁cd"] == [("▁cd", 1)]
    assert tokenizer.unit_ids("") == [None]
    assert tokenizer.unit_ids(" \n") == [None]


def test_accents_and_marks_count_as_they_are_composed(tokenizers: dict[str, Tokenizer]) -> None:
    assert units("Ha\u0308user नमस्ते שָׁלוֹם!", "word") == ["Häuser", "नमस्ते", units("שָׁלוֹם", "word")[0], "!"]
    tokenizer = tokenizers["char"]
    ids = tokenizer.unit_ids("gro\u0308ßere!")
    assert ids == tokenizer.unit_ids("größere!")
    assert ids[-2] == 1


@given(st.text(max_size=20))
def test_any_text_has_units(tokenizers: dict[str, Tokenizer], text: str) -> None:
    for tokenizer in tokenizers.values():
        for unit in ("word", "char"):
            ids, known = tokenizer.unit_ids(text, unit), units(text, unit)
            assert len(ids) == len(tokenizer.encode([text])[0])
            assert all(index is None or 0 <= index < len(known) for index in ids)
            [encoded] = tokenizer.encode([text])
            decoded = tokenizer.decoded_unit_ids(encoded, unit)
            assert all(i is None or i < len(units(tokenizer.decode(encoded), unit)) for i in decoded)


def test_only_a_model_of_characters_is_one(tokenizers: dict[str, Tokenizer]) -> None:
    assert {kind for kind, tokenizer in tokenizers.items() if tokenizer.of_characters} == {"char"}
