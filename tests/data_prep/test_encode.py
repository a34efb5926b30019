"""Cleaning, and the shards that raw ones are encoded as."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from data_prep.encode import Encoder, Shard, checked, drop_reason, encode_shards
from data_prep.ingest import Duplicates, RawShard
from data_prep.summary import Counts
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.data.writer import TEXT_READER
from mt.errors import UserError
from tests.data_prep.small import raw_of, small_shards

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


def test_an_empty_line_of_test_is_refused() -> None:
    for blank in (" ", "\u3000", "\u200b \ufeff", "\u00ad"):
        with pytest.raises(UserError, match=r"d/test\.de, line 2 is empty, .*: fill it in, or remove the line"):
            list(checked([Example("a", "b"), Example("a", blank)], CleaningConfig(), PLACES))
        assert drop_reason("a", blank, CleaningConfig()) == drop_reason("a", "", CleaningConfig())


def test_a_line_of_100_000_tokens_in_test_is_refused() -> None:
    with pytest.raises(UserError, match=r"d/test\.en, line 1 has 100,000 words, more than the 10,000 of"):
        list(checked([Example("word " * 100_000, "b")], CleaningConfig(), PLACES))


@pytest.fixture
def small() -> Iterator[None]:
    """Few characters to a shard, and few pairs."""
    with small_shards(characters=40, pairs=7):
        yield


def _encoder(folder: Path, cleaning: CleaningConfig | None = None) -> Encoder:
    return Encoder(folder, cleaning or CleaningConfig(), TEXT_READER, folder / "tokenizers")


def _make(raw: list[RawShard], encoder: Encoder, workers: int = 1) -> list[Shard]:
    encoder.tokenizers.mkdir(parents=True, exist_ok=True)
    TOKENIZERS.save(encoder.tokenizers)
    assert sum(encode_shards(raw, encoder, workers)) == sum(one.rows for one in raw)
    return [encoder.shard(one.number) for one in raw]


def _kept(encoder: Encoder, result: list[Shard]) -> list[Example]:
    tables = []
    for shard in result:
        with pa.memory_map(str(encoder.path(shard.number))) as file:
            tables.append(pa.ipc.open_stream(file).read_all())
    rows = [row for table in tables for row in table.to_pylist()]
    return [Example(row["source"], row["target"], row["links"]) for row in rows]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".arrow"}


def test_cleaning_keeps_order_and_counts(tmp_path: Path) -> None:
    pairs = [Example("a", "b", "0-0"), Example("", "b"), Example("c", "d"), Example("a", "b"), Example("a", "d")]
    encoder = _encoder(tmp_path)
    result = _make(raw_of(pairs, tmp_path / "raw"), encoder)
    assert _kept(encoder, result) == [pairs[0], *pairs[2:]]
    train = Counts.of(result, Duplicates(2, ("x", "y")))
    assert (train.read, train.left, train.dropped) == (7, 4, {"empty": 1, "duplicate (drop_duplicates)": 2})
    assert train.shown == {"empty": [2, "", "b"], "duplicate (drop_duplicates)": (None, "x", "y")}


@pytest.mark.usefixtures("small")
def test_several_processes_give_what_one_gives(tmp_path: Path) -> None:
    raw = raw_of([Example(f"word {number % 30}", "Wort") for number in range(60)], tmp_path / "raw")
    alone = _encoder(tmp_path / "alone")
    together = _encoder(tmp_path / "together")
    assert _make(raw, alone) == _make(raw, together, workers=2)
    assert _files(alone.folder) == _files(together.folder)
