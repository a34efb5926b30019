"""A text that holds what tokenizers write themselves comes back whole, and nothing of it is skipped in learning."""

import unicodedata
from typing import get_args

import pytest
from hypothesis import given, settings, strategies as st

from mt.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, TokenizerConfig, train
from mt.data.tokenizer.training import ModelType
from tests.data.conftest import Foreign
from tests.marks import combined

KINDS = get_args(ModelType)
MARKS = [
    "▁ein ▁Haus", "a▁b ▁ ▁▁ c▁", "￭ja ￭ nein￭ a￭b ￭￭", "▅ a▅ ▅▅b", "⁇ a⁇", "<s> a</s>b <unk> x<pad>y",
    "<0x41> <0xC3>", "\x7f a\u200bb \ufeff c\ufffd", "▁￭▅⁇ <s>▁",
]  # fmt: skip
FURTHER = {"normal": {}, "identity": {"normalization_rule_name": "identity"}, "bytes": {"byte_fallback": True}}
"""Models of somebody else's."""


def sized(kind: str) -> TokenizerConfig:
    return TokenizerConfig(model_type=kind, vocab_size=75 if kind == "bpe" else 1000)


@pytest.fixture(scope="module")
def tokenizers(foreign: Foreign) -> dict[str, Tokenizer]:
    texts = ["ein Haus abc nein ja <sep> ▅", *MARKS] * 9
    theirs = {"vocab_size": 400, "user_defined_symbols": ["<sep>", "<pad>", "</s>x"]}
    ours = {kind: train(sized(kind), MARKS * 3) for kind in KINDS}
    return ours | {name: foreign(texts, **theirs, **options)[0] for name, options in FURTHER.items()}


@combined(text=MARKS, kind=KINDS)
def test_marks_of_tokenizers_survive(kind: str, text: str, tokenizers: dict[str, Tokenizer]) -> None:
    [ids] = tokenizers[kind].encode([text])
    assert ids[-1] == EOS and not {PAD, UNK, BOS, EOS} & {*ids[:-1]}
    assert tokenizers[kind].decode(ids) == text
    assert tokenizers[kind].encode_column([text]).to_pylist() == [ids]


@combined(text=["▁ein ▁Haus", "a▁ ▁", "a▁b <sep>", "<sep>▁"], name=FURTHER)
def test_the_mark_of_a_blank_survives_a_model_of_somebody_else(name, text, tokenizers):
    [ids] = tokenizers[name].encode([text])
    assert tokenizers[name].decode(ids) == text


@combined(text=["<pad>", "a<s>b", "</s> x", "<unk>", "</s>x"], name=[*KINDS, *FURTHER])
def test_no_text_holds_a_special_token(name: str, text: str, tokenizers: dict[str, Tokenizer]) -> None:
    """Neither padding, which is no part of the loss, nor the end of a sentence in the middle of one."""
    [ids] = tokenizers[name].encode([text])
    assert not {PAD, BOS, EOS} & {*ids[:-1]}


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("▁▅￭⁇<s>/pad0xE2 ab,\u0308ि\x1c\x1d\x1e\x1f\u3000"), max_size=12), min_size=1))
def test_any_text_that_was_learnt_from_comes_back(texts: list[str]) -> None:
    known = [" ".join(unicodedata.normalize("NFC", text).split()) for text in texts]
    for kind in ("unigram", "char", "word"):
        if any(known):
            tokenizer = train(sized(kind), texts)
            assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == known


def learnt(kind: str, text: str) -> Tokenizer:
    size = 40 if kind == "bpe" else 1000
    return train(TokenizerConfig(model_type=kind, vocab_size=size), ["ein Haus und wort eins", "das Haus", text])


@combined(rare=["▅ ж", "ein▅ж", "<s> ж </s>", "<pad> x q ж <unk>"], kind=KINDS)
def test_no_line_is_skipped_in_learning(kind: str, rare: str) -> None:
    """With a coverage of 1.0 no character of the text is unknown, and no word of a vocabulary of words."""
    assert UNK not in learnt(kind, rare).encode([rare])[0]


@pytest.mark.parametrize(
    ("kind", "long", "text"),
    [
        *((kind, "wort " * 250_000 + "ж", "ж") for kind in ("bpe", "char", "word")),
        *((kind, "ж" * 70_000 + "q", "жq") for kind in ("bpe", "char")),
        ("word", "ж" * 70_000 + " q", "q"),
    ],
)
def test_nor_is_a_long_line_or_a_long_word(kind: str, long: str, text: str) -> None:
    assert UNK not in learnt(kind, long).encode([text])[0]


def test_pieces_are_shown_as_the_text_has_them(tokenizers: dict[str, Tokenizer]) -> None:
    pieces = tokenizers["char"].split("▁a ▅")
    assert pieces == ["▁", "▁", "a", "▁", "▅", "</s>"]
    assert tokenizers["char"].pieces(tokenizers["char"].encode(["▁a ▅"])[0]) == pieces


SCRIPTS = {
    "Hindi": "मैं हिन्दी बोलता हूँ",
    "Thai": "ที่นี่ มีน้ำ",
    "Tamil": "தமிழ் மொழி",
    "phonetic": "ˈhɛləʊ̯ t͡ʃɝ˞ ma˥˩ ã",
    "decomposed": unicodedata.normalize("NFD", "größere Häuser"),
    "decomposed, without composed characters": "x̱ J̌a",
    "Persian": "می\u200cخواهم",
    "Sinhala": "ශ්\u200dරී ලංකා",
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_a_vocabulary_of_words_cuts_no_word_at_its_marks(text: str) -> None:
    tokenizer = train(TokenizerConfig(model_type="word", vocab_size=100), [text])
    assert len(tokenizer.encode([text])[0]) == len(text.split()) + 1
    assert tokenizer.split(text + "!")[-3:-1] == [f"▁{unicodedata.normalize('NFC', text.split()[-1])}", "!"]


def test_marks_of_punctuation_belong_to_it() -> None:
    tokenizer = train(TokenizerConfig(model_type="word", vocab_size=100), ["a≠\u0338b ❤\ufe0f! 👩🏽\u200d🚀👩 x"])
    assert tokenizer.split("a≠\u0338b ❤\ufe0f! 👩🏽\u200d🚀👩")[:-1] == [
        "▁a", "≠\u0338", "b", "▁❤\ufe0f", "!", "▁👩🏽\u200d🚀", "👩",
    ]  # fmt: skip
