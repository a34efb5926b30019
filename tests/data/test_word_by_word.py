"""Text is cut word by word: what follows a word, or comes before it, cannot change its ids."""

import pytest
import sentencepiece
from hypothesis import given, strategies as st

from mt.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig, Tokenizers, normalize, train
from tests.data.conftest import Foreign
from tests.data.test_tokenizer import ENGLISH, GERMAN, KINDS, SIZES, TEXTS
from tests.marks import examples

THEIRS = {
    "crossing blanks": {"split_by_whitespace": False},
    "identity": {"split_by_whitespace": False, "normalization_rule_name": "identity"},
    "bytes": {"split_by_whitespace": False, "byte_fallback": True, "vocab_size": 450},
    "merges": {"split_by_whitespace": False, "model_type": "bpe", "vocab_size": 200},
    "no dummy prefix": {"split_by_whitespace": False, "add_dummy_prefix": False},
    "suffix": {"split_by_whitespace": False, "treat_whitespace_as_suffix": True},
    "extra blanks": {"split_by_whitespace": False, "remove_extra_whitespaces": False},
}
"""Models of somebody else's, by what is special about them. Most normalise by NFKC, which makes blanks of marks."""


@pytest.fixture(scope="module")
def tokenizers(foreign: Foreign) -> dict[str, Tokenizer]:
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    sides = {"joint": False, "vocab_size": 60, "source": {"model_type": "char", "lowercase": True}}
    source, target = Tokenizers.train(TokenizerConfig.model_validate(sides), pairs)
    made = {kind: train(TokenizerConfig(model_type=kind, vocab_size=SIZES[kind]), TEXTS) for kind in KINDS}
    for kind in ("unigram", "word"):
        lower = TokenizerConfig(model_type=kind, vocab_size=120, lowercase=True)
        made[f"{kind}, lower case"] = train(lower, GERMAN)
    made |= {name: foreign(TEXTS * 9, **{"vocab_size": 160, **options})[0] for name, options in THEIRS.items()}
    return made | {"a source": source, "a target": target}


ODD = " \t\n\u00a0\u2003\u3000\u200b\u00a8\u2017\ufb01\u0308▁￭\0\x1f\x85İ"
texts = st.text(st.sampled_from("".join(TEXTS) + ODD) | st.characters(codec="utf-8"), max_size=20)


@examples(100)
@given(texts, texts)
def test_a_text_is_its_words_one_after_another(tokenizers: dict[str, Tokenizer], text: str, later: str) -> None:
    for tokenizer in tokenizers.values():
        words = [tokenizer.encode_word(word) for word in normalize(text).split()]
        ids, longer = tokenizer.encode([text, f"{text} {later}"])
        assert ids == [*(i for word in words for i in word), EOS]
        assert longer[: len(ids) - 1] == ids[:-1]
        assert len(tokenizer.split(text)) == len(ids) == len(tokenizer.unit_ids(text))
        assert tokenizer.encode_column([later, text])[1].as_py() == ids
        assert all(0 <= i < len(tokenizer) for i in ids)


def at_once(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids that SentencePiece gives the whole text."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return processor.encode(normalize(text), out_type=int, add_eos=True)


@pytest.mark.parametrize("name", ["bpe", "unigram", "char", "unigram, lower case", "a source", "a target"])
def test_models_that_are_learnt_here_cut_words_anyway(name: str, tokenizers: dict[str, Tokenizer]) -> None:
    for text in TEXTS:
        assert tokenizers[name].encode([text]) == [at_once(tokenizers[name], text)]


def test_each_unknown_word_is_one(tokenizers: dict[str, Tokenizer]) -> None:
    assert tokenizers["word"].encode(["The Zulu castle, is"])[0].count(UNK) == 2
    assert len(at_once(tokenizers["word"], "The Zulu castle, is")) == 4, "SentencePiece makes one of unknown neighbours"


@pytest.mark.parametrize("name", THEIRS)
def test_a_model_whose_pieces_cross_blanks_cuts_words_here(name: str, foreign: Foreign) -> None:
    ours, processor = foreign(TEXTS * 9, **{"vocab_size": 160, **THEIRS[name]})
    crossing = [text for text in TEXTS if any("▁" in piece[1:-1] for piece in processor.encode(text, out_type=str))]
    assert crossing
    for text in TEXTS:
        ids = ours.encode([text])[0]
        expected = processor.decode(processor.encode(text))
        assert not any("▁" in piece[1:-1] for piece in ours.pieces(ids))
        assert ours.decode(ids) == " ".join(expected.split())
