"""Tokenizers that are given to the preparation, as they are or with pieces for new text."""

from pathlib import Path

import pytest

from data_prep.prepare import prepare
from data_prep.vocabulary import extended
from mt.data.corpus import Corpus
from mt.data.dataset import CleaningConfig, DatasetConfig
from mt.data.tokenizer import UNK, TokenizerConfig, Tokenizers
from mt.errors import UserError

GIVEN = Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), [("the cat", "die Katze")] * 3)


@pytest.fixture
def config(tmp_path: Path) -> DatasetConfig:
    for name, text in {"en": "the жук", "de": "die 虫"}.items():
        for split in ("train", "dev", "test"):
            (tmp_path / f"{split}.{name}").write_text(f"{text}\n", encoding="utf-8")
    return DatasetConfig(folder=str(tmp_path), source="en", target="de", workers=1)


def test_a_corpus_is_cut_by_what_is_given(config: DatasetConfig, tmp_path: Path) -> None:
    root = tmp_path / "corpora"
    kept = Corpus.open(prepare(config, root, progress=False, tokenizers=GIVEN))
    assert kept.tokenizers.digest() == GIVEN.digest()
    [(source, _)] = kept.split("train").ids([0])
    assert UNK in source
    more = Corpus.open(prepare(config, root, progress=False, tokenizers=extended(config, GIVEN, 10)))
    [(source, target)] = more.split("train").ids([0])
    assert UNK not in [*source, *target] and more.meta["fingerprint"] != kept.meta["fingerprint"]
    again = prepare(config, root, progress=False, tokenizers=more.tokenizers)
    assert len(list(root.glob("files-*"))) == 2 and Corpus.open(again).meta == more.meta


def test_nothing_to_learn_from(config: DatasetConfig) -> None:
    strict = config.model_copy(update={"cleaning": CleaningConfig(min_length=5)})
    with pytest.raises(
        UserError, match=r"cleaning drops all training pairs of files that init.vocabulary=extend reads"
    ):
        extended(strict, GIVEN, 10)
