"""Cleaning, and the shards that raw ones are encoded as."""

from pathlib import Path

import pytest

from data_prep.encode import Encoder, Shard, checked, drop_reason, encode_shards
from data_prep.ingest import Duplicates, RawShard
from data_prep.summary import Counts
from mt.data.checks import open_table
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.data.writer import TEXT_READER
from tests.data_prep.small import files, raw_of, small_shards
from tests.refusals.sentences import require_refusal

TOKENIZERS = Tokenizers.train(TokenizerConfig(model_type="char"), [("abcd word", "next Wort 0123456789")])
PLACES = ("d/test.en, line", "d/test.de, line")


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a b", "c d", None),
        ("", "c d", "empty"),
        ("a b", " ", "empty"),
        ("a", "b c", "shorter than 2 words (min_length)"),
        ("a b c d e f", "a b c", "longer than 5 words (max_length)"),
        ("a b", "a b c d e f", "longer than 5 words (max_length)"),
        ("a b", "a b c d e", "length ratio over 2 (max_ratio)"),
        ("  a b  ", "a b c d e", "length ratio over 2 (max_ratio)"),
        ("a1234 b", "a b c d e", None),  # not in characters
        ("a b", "a1234567 b", None),  # not in words
        ("a b", "a b c d", None),
    ],
)
def test_drop_reasons(source: str, target: str, reason: str | None) -> None:
    config = CleaningConfig(min_length=2, max_length=5, max_ratio=2.0)
    assert drop_reason(source, target, config) == reason


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("disillusioned", "D IH2 S IH0 L UW1 ZH AH0 N D"),  # spelling and phones
        ("Christopher", "クリストファー"),
        ("internationalisation", "i n t e r n a t i o n a l i s a t i o n"),
        ("b", "b e e"),
    ],
)
def test_a_word_stays_beside_its_phones_or_letters(source: str, target: str) -> None:
    for pair in ((source, target), (target, source)):
        assert drop_reason(*pair, CleaningConfig()) is None


def test_blank_references_are_none() -> None:
    pairs = [Example("a", "b", "0-0", ("", "c", " \t", "d ", "\u200b")), Example("a", "b", "", (" ",))]
    assert list(checked(pairs, CleaningConfig(), PLACES)) == [Example("a", "b", "0-0", ("c", "d ")), Example("a", "b")]


def require_unchecked(pairs: list[Example], fact: str) -> None:
    require_refusal(lambda: [*checked(pairs, CleaningConfig(), PLACES)], fact)


def test_an_empty_line_of_test_is_refused() -> None:
    for blank in (" ", "\u3000", "\u200b \ufeff", "\u00ad"):
        pairs = [Example("a", "b"), Example("a", blank)]
        require_unchecked(pairs, r"d/test\.de, line 2 is empty, .*: fill it in, or remove the line")
        assert drop_reason("a", blank, CleaningConfig()) == drop_reason("a", "", CleaningConfig())


def test_a_line_of_100_000_tokens_in_test_is_refused() -> None:
    require_unchecked(
        [Example("word " * 100_000, "b")], r"d/test\.en, line 1 has 100,000 words, more than the 10,000 of"
    )


def _make(raw: list[RawShard], folder: Path, workers: int = 1) -> list[Shard]:
    encoder = Encoder(folder, CleaningConfig(), TEXT_READER, folder / "tokenizers")
    encoder.tokenizers.mkdir(parents=True)
    TOKENIZERS.save(encoder.tokenizers)
    assert sum(encode_shards(raw, encoder, workers)) == sum(one.rows for one in raw)
    return [encoder.shard(one.number) for one in raw]


def test_cleaning_keeps_order_and_counts(tmp_path: Path) -> None:
    pairs = [Example("a", "b", "0-0"), Example("", "b"), Example("c", "d"), Example("a", "b"), Example("a", "d")]
    result = _make(raw_of(pairs, tmp_path / "raw"), tmp_path / "made")
    rows = open_table((tmp_path / "made").glob("*.arrow")).select(["source", "target", "links"]).to_pylist()
    assert [Example(*row.values()) for row in rows] == [pairs[0], *pairs[2:]]
    train = Counts.of(result, Duplicates(2, ("x", "y")))
    assert (train.read, train.left, train.dropped) == (7, 4, {"empty": 1, "duplicate (drop_duplicates)": 2})
    assert train.shown == {"empty": [2, "", "b"], "duplicate (drop_duplicates)": (None, "x", "y")}


def test_the_first_dropped_pair_of_all_shards_is_shown(tmp_path: Path) -> None:
    with small_shards(characters=1000, pairs=2):
        raw = raw_of([Example(*pair) for pair in (("a", "b"), ("", "c"), ("a", "b"), ("", "d"))], tmp_path / "raw")
    assert len(raw) == 2
    train = Counts.of(_make(raw, tmp_path / "made"), Duplicates())
    assert train.shown == {"empty": [2, "", "c"]}


def test_several_processes_give_what_one_gives(tmp_path: Path) -> None:
    with small_shards(characters=40, pairs=7):
        raw = raw_of([Example(f"word {number % 30}", "Wort") for number in range(60)], tmp_path / "raw")
    assert _make(raw, tmp_path / "alone") == _make(raw, tmp_path / "together", workers=2)
    assert len(raw) > 5 and files(tmp_path / "alone") == files(tmp_path / "together")
