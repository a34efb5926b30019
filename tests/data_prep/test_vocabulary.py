"""What a vocabulary is learnt from, and tokenizers that are given."""

from pathlib import Path

import numpy as np
import pytest

from data_prep.prepare import prepare
from data_prep.vocabulary import drawn, sample
from mt.data.corpus import SPLITS, Corpus, Example
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import UNK, TokenizerConfig, Tokenizers
from mt.data.writer import TEXT_READER
from tests.data_prep.small import raw_of, small_shards, text_config, write_texts
from tests.refusals.sentences import require_refusal

GIVEN = Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), [("the cat", "die Katze")] * 3)


@pytest.fixture
def config(tmp_path: Path) -> DatasetConfig:
    write_texts(tmp_path, **{split: [("the жук", "die 虫")] for split in SPLITS})
    return text_config(tmp_path)


def test_a_corpus_is_cut_by_what_is_given(config: DatasetConfig, tmp_path: Path) -> None:
    root = tmp_path / "corpora"
    kept = Corpus.open(prepare(config, root, progress=False, tokenizers=GIVEN))
    assert kept.tokenizers.digest() == GIVEN.digest()
    [(source, _)] = kept.split("train").read([0]).pairs
    assert UNK in source
    others = Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), [("the жук", "die 虫")] * 3)
    more = Corpus.open(prepare(config, root, progress=False, tokenizers=others))
    [(source, target)] = more.split("train").read([0]).pairs
    assert UNK not in [*source, *target] and more.meta["fingerprint"] != kept.meta["fingerprint"]
    again = prepare(config, root, progress=False, tokenizers=more.tokenizers)
    assert len(list(root.glob("files-*"))) == 2 and Corpus.open(again).meta == more.meta


def _config(size: int) -> DatasetConfig:
    return text_config(Path("x"), tokenizer={"sample": size})


@pytest.mark.parametrize(
    ("total", "size"), [(10, 10), (10, 11), (11, 10), (300, 10), (5_000, 2_000), (1 << 20, 12_345), (10**9, 500_000)]
)
def test_as_many_rows_as_asked_for_are_drawn_from_everywhere(total: int, size: int) -> None:
    rows = drawn(total, size)
    assert len(rows) == min(total, size) and rows[0] >= 0 and rows[-1] < total
    assert (np.diff(rows) > 0).all() and (rows == drawn(total, size)).all()
    if total > size:
        assert np.sum(rows < total // 2) == pytest.approx(size / 2, rel=0.02, abs=1)
    if total > 10 * size:
        starts = rows[np.diff(rows, prepend=-9) > 1]
        assert len(starts) >= min(size, 1_000) / 2
        # At a random place of each stretch, so that what repeats in the text at regular distances is not met or missed.
        stretch = total / len(starts)
        places = starts % stretch / stretch
        assert places.max() - places.min() > 0.5


def test_a_sample_is_what_cleaning_keeps_of_the_rows(tmp_path: Path) -> None:
    pairs = [Example(f"word {number}", "" if number % 2 else "Wort") for number in range(5_000)]
    expected = [pairs[row] for row in drawn(5_000, 1_000) if pairs[row].target]
    for characters in (1_000, 10**6):
        with small_shards(characters, pairs=1_300):
            raw = raw_of(pairs, tmp_path / str(characters))
        assert sample(raw, _config(1_000), TEXT_READER) == expected


def test_a_sample_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    pairs = [Example("", "x")] * 50
    raw = raw_of(pairs, tmp_path / "raw")
    require_refusal(
        lambda: sample(raw, _config(20), TEXT_READER), r"cleaning dropped all 20 pairs of a sample \(20 empty\): check"
    )
