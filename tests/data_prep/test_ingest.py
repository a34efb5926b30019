"""Raw shards: what is cut where, and what is read of a source."""

from functools import partial
from pathlib import Path

from hypothesis import given, settings, strategies as st

from data_prep.ingest import ingest, raw_shards, raw_tables
from data_prep.sources import Source
from data_prep.sources.base import RawSplit, Read
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from tests.data_prep.small import small_shards


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text("ab", max_size=30), max_size=30), st.sampled_from([7, 1000]))
def test_tables_hold_everything_and_end_once_they_are_large(texts: list[str], pairs: int) -> None:
    with small_shards(characters=20, pairs=pairs):
        result = list(raw_tables([Example(text, text[:1]) for text in texts]))
    rows = [table.to_pylist() for table in result]
    assert [row["source"] for table in rows for row in table] == texts
    sizes = [[len(row["source"]) + len(row["target"]) for row in table] for table in rows]
    end = 0
    for size in sizes:
        end += len(size)
        assert sum(size) >= 20 or end % pairs == 0 or end == len(texts)
        assert sum(size[:-1]) < 20


def _counted(pairs: list[Example], seen: list[int]) -> Read:
    def read():
        for number, pair in enumerate(pairs):
            seen.append(number)
            yield pair

    return read


def test_a_source_is_read_once_and_its_corpora_do_not_share_shards(tmp_path: Path) -> None:
    seen: list[list[int]] = [[], []]
    corpora = [[Example(f"{name} {number}", "x") for number in range(10)] for name in "ab"]
    splits = [RawSplit(_counted(*each), ("", "")) for each in zip(corpora, seen, strict=True)]
    source = Source({"train": splits[0]}, str, mixed=tuple(splits))
    with small_shards(characters=1000, pairs=4):
        ingest(source, DatasetConfig(folder="x", source="en", target="de"), tmp_path)
    shards, _ = raw_shards(tmp_path)
    expected = [(0, 0, 0, 4), (1, 0, 4, 4), (2, 0, 8, 2), (3, 1, 10, 4), (4, 1, 14, 4), (5, 1, 18, 2)]
    assert [(raw.number, raw.corpus, raw.start, raw.rows) for raw in shards] == expected
    texts = [text for raw in shards for text in raw.read()["source"].to_pylist()]
    assert texts == [pair.source for pairs in corpora for pair in pairs]
    assert seen == [[*range(10)], [*range(10)]]


def test_a_limit_is_of_what_is_written(tmp_path: Path) -> None:
    """What comes after it is read, to be refused where it is wrong."""
    seen: list[int] = []
    split = RawSplit(_counted([Example("a", "b")] * 30, seen), ("", ""))
    config = DatasetConfig(folder="x", source="en", target="de", limit=5)
    ingest(Source({"train": split}, str), config, tmp_path)
    assert sum(raw.rows for raw in raw_shards(tmp_path)[0]) == 5 and len(seen) == 30


def test_of_equal_pairs_the_first_stays(tmp_path: Path) -> None:
    pairs = [Example("a", "b", "0-0"), Example("a b", "c"), Example("a", "b c"), Example("a", "b"), Example("a b", "c")]
    source = Source({}, str, mixed=tuple(RawSplit(partial(iter, some), ("", "")) for some in (pairs[:3], pairs[3:])))
    plain = {"folder": "x", "source": "en", "target": "de", "cleaning": {"drop_duplicates": True}}
    ingest(source, DatasetConfig.model_validate(plain), tmp_path)
    shards, duplicates = raw_shards(tmp_path)
    rows = [row for raw in shards for row in raw.read().select(["source", "target", "links"]).to_pylist()]
    assert [tuple(row.values()) for row in rows] == [pair[:3] for pair in pairs[:3]]
    assert duplicates == (2, ["a", "b"])


def test_the_first_of_several_duplicates_is_shown(tmp_path: Path) -> None:
    """Of those of one table, and of several."""
    pairs = [Example(*pair) for pair in ("za", "bb", "aa", "bb", "za", "aa")]
    config = DatasetConfig.model_validate(
        {"folder": "x", "source": "en", "target": "de", "cleaning": {"drop_duplicates": True}}
    )
    for size in (2, 6):
        folder = tmp_path / str(size)
        folder.mkdir()
        with small_shards(characters=1000, pairs=size):
            ingest(Source({"train": RawSplit(partial(iter, pairs), ("", ""))}, str), config, folder)
        assert raw_shards(folder)[1] == (3, ["b", "b"]), size
