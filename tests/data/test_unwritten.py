"""Texts that encoding and decoding does not give back are counted as scores compare them."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from data_prep.prepare import prepare
from data_prep.preview import preview
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Unwritten, train, unwritten
from mt.text_io import comparable
from tests.data.conftest import Foreign

TEXTS = ["Das kleine Haus", "Größe ½ und Ａ", "ΟΔΟΣ οδος ▁ja", "x\u0331 ＡＢ ½"]


@pytest.fixture(scope="module")
def tokenizers(foreign: Foreign) -> dict[str, Tokenizer]:
    learnt = {
        (kind, lowercase): train(TokenizerConfig(model_type=kind, vocab_size=200, lowercase=lowercase), TEXTS)
        for kind in ("unigram", "char", "word")
        for lowercase in (False, True)
    }
    return {
        **{f"{kind}{', lower case' * lowercase}": made for (kind, lowercase), made in learnt.items()},
        **{
            rule: foreign(TEXTS * 5, vocab_size=100, normalization_rule_name=rule)[0]
            for rule in ("nmt_nfkc", "nfkc_cf", "identity")
        },
    }


def of(tokenizer: Tokenizer, texts: list[str]) -> Unwritten:
    return unwritten(tokenizer, pa.array(texts, pa.string()), tokenizer.encode_column(texts))


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("aDß½ＡΣς▁￭ \u3000\u0308İЖ\u200b")), max_size=5))
@example(["D \u200b"])
def test_it_counts_what_does_not_compare(tokenizers: dict[str, Tokenizer], texts: list[str]) -> None:
    for name, tokenizer in tokenizers.items():
        back = [tokenizer.decode(ids) for ids in tokenizer.encode(texts)]
        lowercase = tokenizer.lowercases
        lost = sum(
            comparable(one, lowercase=lowercase) != comparable(other, lowercase=lowercase)
            for one, other in zip(texts, back, strict=True)
        )
        assert of(tokenizer, texts)[:2] == (lost, len(texts)), name


def test_what_scores_forgive_is_not_counted(tokenizers: dict[str, Tokenizer]) -> None:
    spaced = ["Das\u00a0kleine\u3000Haus", "Gro\u0308ße", "▁ja ▁"]
    for kind in ("unigram", "char"):
        assert of(tokenizers[kind], spaced) == (0, 3, "", "")
        assert of(tokenizers[f"{kind}, lower case"], [*spaced, *TEXTS]) == (0, 7, "", "")


def test_a_tokenizer_knows_that_it_writes_no_capitals(tokenizers: dict[str, Tokenizer]) -> None:
    assert {name for name, one in tokenizers.items() if one.lowercases} == {
        "nfkc_cf",
        *(name for name in tokenizers if name.endswith(", lower case")),
    }


def test_one_is_shown(tokenizers: dict[str, Tokenizer]) -> None:
    assert of(tokenizers["nmt_nfkc"], ["Das", "Haus ½"]) == (1, 2, "½", "1⁄2")
    assert of(tokenizers["unigram"], ["Das", "Haus Ж", "Жa"]) == (2, 3, "Ж", "⁇")
    long = of(tokenizers["unigram"], ["Das" * 100 + "Ж" + "Das" * 100])
    assert len(long.word) == 40 and long.word.index("Ж") == 20
    assert Unwritten.joined([Unwritten(0, 5), Unwritten(1, 2, "a", "b"), Unwritten(2, 2, "c", "d")]) == (3, 9, "a", "b")


# Preparation says what the tokenizer cannot write, before anything is trained.


GERMAN = ["ein Haus", "zwei Häuser", "drei ▁Häuser", "vier <s> Hunde"] * 5
ENGLISH = ["a house", "two houses", "three houses", "four dogs"] * 5


def config(folder: Path, german: str, **tokenizer: object) -> DatasetConfig:
    folder.mkdir(exist_ok=True)
    for split in ("train", "dev", "test"):
        texts = GERMAN if split == "train" else [*GERMAN[:4], german]
        (folder / f"{split}.de").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        (folder / f"{split}.en").write_text("".join(f"{text}\n" for text in [*ENGLISH, "a"][: len(texts)]))
    options = {"name": "files", "folder": str(folder), "source": "en", "target": "de", "workers": 1}
    return DatasetConfig.model_validate({**options, "tokenizer": {"vocab_size": 60, **tokenizer}})


def said(made: DatasetConfig, root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    prepare(made, root)
    lines = [line for line in capsys.readouterr().out.splitlines() if "does not give back" in line]
    assert [line for line in preview(made) if "does not give back" in line] == lines
    return lines


def test_it_is_counted_by_split_and_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(config(tmp_path / "text", "ein Ж"), tmp_path, capsys)
    assert lines == [
        f"!!! the tokenizer does not give back 1 of 5 targets of {split}, for example 'Ж', which becomes '⁇'"
        for split in ("dev", "test")
    ]


def test_words_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(config(tmp_path / "text", "ein Ж", model_type="word", vocab_size=10), tmp_path / "one")
    assert "raise dataset.tokenizer.vocab_size, or set model_type=bpe" in capsys.readouterr().out
