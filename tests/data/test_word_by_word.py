"""Text is cut word by word: what follows a word, or comes before it, cannot change its ids."""

import io
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings, strategies as st

from mt.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig, Tokenizers, normalize, train
from tests.data.test_tokenizer import ENGLISH, GERMAN, KINDS, SIZES, TEXTS

MULTI30K = Path(__file__).parents[3] / "shared/data/multi30k"
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


def theirs(folder: Path, options: dict) -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    """A model of somebody else's as we take it, and as it is."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 9), model_writer=model, minloglevel=2,
        **{"vocab_size": 160, "hard_vocab_limit": False, **options},
    )  # fmt: skip
    (folder / "own.model").write_bytes(model.getvalue())
    ours = train(TokenizerConfig(model_file=str(folder / "own.model")), [])
    return ours, sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    sides = {"joint": False, "vocab_size": 60, "source": {"model_type": "char", "lowercase": True}}
    source, target = Tokenizers.train(TokenizerConfig.model_validate(sides), pairs)
    folder = tmp_path_factory.mktemp("theirs")
    return {
        **{kind: train(TokenizerConfig(model_type=kind, vocab_size=SIZES[kind]), TEXTS) for kind in KINDS},
        **{
            f"{kind}, lower case": train(TokenizerConfig(model_type=kind, vocab_size=120, lowercase=True), GERMAN)
            for kind in ("unigram", "word")
        },
        "a source": source,
        "a target": target,
        **{name: theirs(folder, options)[0] for name, options in THEIRS.items()},
    }


ODD = " \t\n\u00a0\u2003\u3000\u200b\u00a8\u2017\ufb01\u0308▁￭\0\x1f\x85İ"
texts = st.text(st.sampled_from("".join(TEXTS) + ODD) | st.characters(codec="utf-8"), max_size=20)


@settings(deadline=None)
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


@settings(deadline=None)
@given(st.lists(st.text("ab￭, é漢", max_size=6), max_size=5))
def test_a_batch_changes_nothing(tokenizers: dict[str, Tokenizer], batch: list[str]) -> None:
    for tokenizer in tokenizers.values():
        assert tokenizer.encode(batch) == [tokenizer.encode([text])[0] for text in batch]
        assert tokenizer.encode_column(batch).to_pylist() == tokenizer.encode(batch)


def at_once(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids that SentencePiece gives the whole text."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    return processor.encode(normalize(text), out_type=int, add_eos=True)


@pytest.mark.parametrize("name", ["bpe", "unigram", "char", "unigram, lower case", "a source", "a target"])
def test_models_that_are_learnt_here_cut_words_anyway(name: str, tokenizers: dict[str, Tokenizer]) -> None:
    for text in TEXTS:
        assert tokenizers[name].encode([text]) == [at_once(tokenizers[name], text)]


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="the real data are not here")
def test_they_do_so_on_real_text() -> None:
    english, german = (
        MULTI30K.joinpath(f"val.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "de")
    )
    tokenizer = train(TokenizerConfig(vocab_size=4000), english + german)
    assert tokenizer.encode(english + german) == [at_once(tokenizer, text) for text in english + german]


def test_each_unknown_word_is_one(tokenizers: dict[str, Tokenizer]) -> None:
    assert tokenizers["word"].encode(["The Zulu castle, is"])[0].count(UNK) == 2
    assert len(at_once(tokenizers["word"], "The Zulu castle, is")) == 4, "SentencePiece makes one of unknown neighbours"


@pytest.mark.parametrize("name", THEIRS)
def test_a_model_whose_pieces_cross_blanks_cuts_words_here(name: str, tmp_path: Path) -> None:
    ours, processor = theirs(tmp_path, THEIRS[name])
    crossing = [text for text in TEXTS if any("▁" in piece[1:-1] for piece in processor.encode(text, out_type=str))]
    assert crossing
    for text in TEXTS:
        ids = ours.encode([text])[0]
        expected = processor.decode(processor.encode(text))
        assert not any("▁" in piece[1:-1] for piece in ours.pieces(ids))
        assert ours.decode(ids) == " ".join(expected.split())


def test_marks_that_become_blanks_stay_in_their_word(tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tokenizers["crossing blanks"]
    assert tokenizer.split("a\u200bb") == [*tokenizer.split("a b")]
    assert tokenizer.encode_word("a\u200bb") == [*tokenizer.encode_word("a"), *tokenizer.encode_word("b")]
    assert tokenizer.encode_word("\u200b") == []
