import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from data_prep import shards
from data_prep.merge import duplicate_rows
from data_prep.parts import WHOLE, Part, chunks
from data_prep.sources.base import Read, reading
from data_prep.summary import Counts
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.writer import TEXT_READER
from tests.data_prep.small import small_shards


def _reads(pairs: list[Example]) -> Read:
    return reading(lambda: iter(pairs))


@pytest.fixture
def small() -> Iterator[None]:
    """Few characters to a shard, and few pairs to a chunk."""
    with small_shards(characters=40, pairs=7):
        yield


def _builder(folder: Path, fingerprint: str = "f", cleaning: CleaningConfig | None = None) -> shards.ShardBuilder:
    return shards.ShardBuilder(folder, fingerprint, cleaning or CleaningConfig(drop_duplicates=True), TEXT_READER, None)


def _make(
    pairs: list[Example], builder: shards.ShardBuilder, part: Part = WHOLE, workers: int = 1
) -> list[shards.Shard]:
    """The shards of the whole, once a part of it has been made."""
    all_chunks = chunks([len(pairs)], builder.chunk_size)
    count = sum(shards.build(_reads(pairs), all_chunks, part, builder, workers))
    assert count == sum(len(all_chunks[number].rows) for number in part.of_count(len(all_chunks)))
    manifests = [shards.load(builder, number) for number in range(len(all_chunks))]
    return [shard for manifest in manifests if manifest for shard in manifest.shards]


def _kept(builder: shards.ShardBuilder, result: list[shards.Shard]) -> list[Example]:
    tables = []
    for shard in result:
        with pa.memory_map(str(builder.path(shard.name))) as file:
            tables.append(pa.ipc.open_stream(file).read_all())
    return [Example(**row) for table in tables for row in table.to_pylist()]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}


def test_cleaning_keeps_order_and_counts(tmp_path: Path) -> None:
    pairs = [Example("a", "b", "0-0"), Example("", "b"), Example("c", "d"), Example("a", "b"), Example("a", "d")]
    builder = _builder(tmp_path)
    result = _make(pairs, builder)
    assert _kept(builder, result) == [pairs[0], *pairs[2:]]
    train = Counts.of(result)
    assert [rows.tolist() for rows in duplicate_rows(result, builder, train)] == [[2]]
    assert (train.read, train.left, train.dropped) == (5, 3, {"empty": 1, "duplicate (drop_duplicates)": 1})
    assert train.shown == {"empty": [2, "", "b"], "duplicate (drop_duplicates)": (None, "a", "b")}


def test_duplicates_may_stay(tmp_path: Path) -> None:
    builder = _builder(tmp_path, cleaning=CleaningConfig())
    result = _make([Example("a", "b"), Example("a", "b")], builder)
    assert [rows.tolist() for rows in duplicate_rows(result, builder, Counts())] == [[]]


def test_sides_do_not_run_into_one_another(tmp_path: Path) -> None:
    builder = _builder(tmp_path)
    result = _make([Example("a b", "c"), Example("a", "b c")], builder)
    assert [rows.tolist() for rows in duplicate_rows(result, builder, Counts())] == [[]]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("of", [2, 3, 9, 40])
def test_parts_in_any_order_make_the_shards_of_one(tmp_path: Path, of: int) -> None:
    pairs = [Example(f"word {number} {'x' * (number % 30)}", "Wort") for number in range(60)]
    one = _builder(tmp_path / "one")
    many = _builder(tmp_path / "many")
    whole = _make(pairs, one)
    assert len(whole) > 9
    for number in range(of, 0, -1):
        result = _make(pairs, many, Part(number, of))
    assert result == whole
    assert _files(many.folder) == _files(one.folder)
    assert _kept(many, result) == pairs


@pytest.mark.usefixtures("small")
def test_what_is_finished_is_not_made_again_unless_it_does_not_belong(tmp_path: Path) -> None:
    pairs = [Example(f"word {number}", "Wort") for number in range(40)]
    builder = _builder(tmp_path)
    result = _make(pairs, builder)
    assert _make([Example("never read", "nie")] * 40, builder) == result
    (tmp_path / f"{result[0].name}.arrow").write_bytes(b"cut")
    assert shards.load(builder, 0) is None
    assert _make([*pairs[:7], *[Example("never read", "nie")] * 33], builder) == result
    (tmp_path / "0000001.json").write_text(json.dumps({"fingerprint": "f"}))
    assert shards.load(builder, 1) is None
    assert _make(pairs, builder) == result
    other = _make([Example("other", "Wort")] * 40, _builder(tmp_path, fingerprint="other"))
    assert {text.source for text in _kept(builder, other)} == {"other"}


@pytest.mark.usefixtures("small")
def test_several_processes_give_what_one_gives(tmp_path: Path) -> None:
    pairs = [Example(f"word {number % 30}", "Wort") for number in range(60)]
    alone = _builder(tmp_path / "alone")
    together = _builder(tmp_path / "together")
    assert _make(pairs, alone) == _make(pairs, together, workers=2)
    assert _files(alone.folder) == _files(together.folder)


def test_a_stream_may_end_early(tmp_path: Path) -> None:
    builder = _builder(tmp_path)
    all_chunks = chunks([3 * builder.chunk_size], builder.chunk_size)
    assert list(shards.build(_reads([Example("a", "b")]), all_chunks, WHOLE, builder, 1)) == [builder.chunk_size]
    manifests = [shards.load(builder, number) for number in range(3)]
    assert [len(manifest.shards) for manifest in manifests if manifest] == [1, 0, 0]


@settings(max_examples=20)
@given(st.lists(st.text("ab", max_size=30), max_size=30))
def test_blocks_hold_everything_and_end_once_they_are_large(texts: list[str]) -> None:
    with small_shards(characters=20, pairs=7):
        result = list(shards.blocks([Example(text, text[:1]) for text in texts]))
    rows = [block.to_pylist() for block in result]
    assert [row["source"] for block in rows for row in block] == texts
    sizes = [[len(row["source"]) + len(row["target"]) for row in block] for block in rows]
    assert all(sum(size) >= 20 > sum(size[:-1]) for size in sizes[:-1])
