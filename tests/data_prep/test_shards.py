import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from data_prep import shards
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few characters to a shard, and few keys to a look for duplicates."""
    monkeypatch.setattr(shards, "_CHARACTERS", 20)
    monkeypatch.setattr(shards, "_KEYS", 7)


def _clean(pairs: list[Example], folder: Path, config: CleaningConfig | None = None) -> shards.Shards:
    folder.mkdir(exist_ok=True)
    return shards.clean(iter(pairs), config or CleaningConfig(drop_duplicates=True), folder, workers=1)


def _kept(found: shards.Shards) -> list[Example]:
    tables = [found.table(number) for number in range(len(found.sizes))]
    return [Example(**row) for table in tables for row in table.to_pylist()]


def test_cleaning_keeps_order_and_counts(tmp_path: Path) -> None:
    pairs = [Example("a", "b", "0-0"), Example("", "b"), Example("c", "d"), Example("a", "b"), Example("a", "d")]
    found = _clean(pairs, tmp_path)
    assert _kept(found) == [pairs[0], pairs[2], pairs[4]]
    assert (found.read, found.kept, found.dropped) == (5, 3, {"empty": 1, "duplicate (drop_duplicates)": 1})
    assert found.shown == {"empty": [2, "", "b"], "duplicate (drop_duplicates)": [None, "a", "b"]}


def test_duplicates_may_stay(tmp_path: Path) -> None:
    pairs = [Example("a", "b"), Example("a", "b")]
    assert _kept(_clean(pairs, tmp_path, CleaningConfig())) == pairs


@pytest.mark.usefixtures("small")
def test_of_equal_pairs_in_any_shard_the_first_stays(tmp_path: Path) -> None:
    draws = random.Random(1)
    pairs = [Example(draws.choice("abcdefgh"), draws.choice(["x", "y", "", "z z"])) for _ in range(300)]
    found = _clean(pairs, tmp_path)
    assert len(found.sizes) > 20
    assert _kept(found) == [pair for pair in dict.fromkeys(pairs) if pair.target]
    assert found.dropped["empty"] == sum(not pair.target for pair in pairs)


@pytest.mark.usefixtures("small")
def test_sides_do_not_run_into_one_another(tmp_path: Path) -> None:
    pairs = [Example("a b", "c"), Example("a", "b c")]
    assert _kept(_clean(pairs, tmp_path)) == pairs


@pytest.mark.usefixtures("small")
def test_what_is_cleaned_is_not_cleaned_again(tmp_path: Path) -> None:
    pairs = [Example(f"word {number}", "Wort") for number in range(40)]
    whole = _clean(pairs, tmp_path / "whole")

    def cut_short():
        yield from pairs[:25]
        raise KeyboardInterrupt

    part = tmp_path / "part"
    part.mkdir()
    with pytest.raises(KeyboardInterrupt):
        shards.clean(cut_short(), CleaningConfig(), part, workers=1)
    written = {path.name: path.stat().st_mtime_ns for path in part.iterdir()}
    assert len(written) > 3
    again = _clean(pairs, part)
    assert (again.sizes, again.read, _kept(again)) == (whole.sizes, whole.read, _kept(whole))
    assert {name: (part / name).stat().st_mtime_ns for name in written} == written


@pytest.mark.usefixtures("small")
def test_a_cleaned_text_is_not_read_again(tmp_path: Path) -> None:
    first = _clean([Example("a", "b")], tmp_path)
    assert shards.clean((pytest.fail("read") for _ in range(1)), CleaningConfig(), tmp_path, workers=1) == first


def test_nothing_may_be_left(tmp_path: Path) -> None:
    found = _clean([Example("", "b")], tmp_path)
    assert (found.kept, _kept(found), found.sample(3)) == (0, [], [])


@pytest.mark.usefixtures("small")
def test_a_sample_is_drawn_evenly_in_order_from_what_stays(tmp_path: Path) -> None:
    pairs = [Example(f"word {number // 2}", "Wort") for number in range(200)]
    found = _clean(pairs, tmp_path)
    everything = _kept(found)
    assert len(everything) == 100
    sample = found.sample(40)
    places = [everything.index(pair) for pair in sample]
    assert len(places) == 40
    assert places == sorted(set(places))
    assert 14 <= sum(place < 50 for place in places) <= 26  # 20 are expected
    assert found.sample(40) == sample
    assert found.sample(1000) == everything


@pytest.mark.usefixtures("small")
def test_several_processes_give_what_one_gives(tmp_path: Path) -> None:
    pairs = [Example(f"word {number % 30}", "Wort") for number in range(60)]
    alone = _clean(pairs, tmp_path / "alone")
    (tmp_path / "together").mkdir()
    together = shards.clean(iter(pairs), CleaningConfig(drop_duplicates=True), tmp_path / "together", workers=2)
    assert (together.sizes, together.dropped) == (alone.sizes, alone.dropped)
    files = [sorted(path.name for path in folder.iterdir()) for folder in (alone.folder, together.folder)]
    assert files[0] == files[1]
    assert all((alone.folder / name).read_bytes() == (together.folder / name).read_bytes() for name in files[0])


@settings(max_examples=20)
@given(st.lists(st.text("ab", max_size=30), max_size=30))
def test_blocks_hold_everything_and_end_once_they_are_large(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "_CHARACTERS", 20)
        found = list(shards.blocks([Example(text, text[:1]) for text in texts]))
    rows = [block.to_pylist() for block in found]
    assert [row["source"] for block in rows for row in block] == texts
    sizes = [[len(row["source"]) + len(row["target"]) for row in block] for block in rows]
    assert all(sum(size) >= 20 > sum(size[:-1]) for size in sizes[:-1])


@pytest.mark.parametrize("keys", [1, 3, 1000])
@pytest.mark.usefixtures("small")
def test_duplicates_are_looked_for_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int) -> None:
    """Whatever the number of parts, since the parts are of keys and not of places."""
    pairs = [Example(str(number % 50), "Wort") for number in range(100)]
    monkeypatch.setattr(shards, "_KEYS", keys)
    assert _kept(_clean(pairs, tmp_path)) == pairs[:50]


def test_keys_stand_for_the_text(tmp_path: Path) -> None:
    _clean([Example("a", "b"), Example("a", "c"), Example("a", "b")], tmp_path)
    with pa.memory_map(str(tmp_path / "text-00000.arrow")) as file:
        keys = pa.ipc.open_stream(file).read_all()["key"].to_pylist()
    assert keys[0] == keys[2] != keys[1]
