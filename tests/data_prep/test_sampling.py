from pathlib import Path

import pytest

from data_prep.sampling import drawn, sample
from data_prep.sources.base import Read, reading
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.writer import TEXT_READER
from mt.errors import UserError


def _reads(pairs: list[Example]) -> Read:
    return reading(lambda: iter(pairs))


def _config(size: int, **cleaning) -> DatasetConfig:
    plain = {"folder": "x", "source": "en", "target": "de", "tokenizer": {"sample": size}, "cleaning": cleaning}
    return DatasetConfig.model_validate(plain)


@pytest.mark.parametrize(
    ("total", "size"), [(10, 10), (10, 11), (11, 10), (300, 10), (5_000, 2_000), (1 << 20, 12_345), (10**9, 500_000)]
)
def test_as_many_rows_as_asked_for_are_drawn_from_everywhere(total: int, size: int) -> None:
    runs = list(drawn(total, size))
    assert sum(map(len, runs)) == min(total, size)
    ends = [0, *(end for run in runs for end in (run.start, run.stop)), total]
    assert ends == sorted(ends)
    assert runs == list(drawn(total, size))
    if total > size:
        assert max(map(len, runs)) <= 100
        middle = sum(map(len, (run for run in runs if run.start < total // 2)))
        assert middle == pytest.approx(size / 2, rel=0.02, abs=1)
    if total > 10 * size:
        # At a random place of each stretch, so that what repeats in the text at regular distances is not met or missed.
        stretch = total / len(runs)
        places = [run.start % stretch / stretch for run in runs]
        assert max(places) - min(places) > 0.5


def test_a_sample_is_what_cleaning_keeps_of_the_rows(tmp_path: Path) -> None:
    pairs = [Example(f"word {number}", "" if number % 2 else "Wort") for number in range(5_000)]
    result = sample(_reads(pairs), len(pairs), _config(1_000), TEXT_READER)
    assert result == [pair for run in drawn(5_000, 1_000) for pair in pairs[run.start : run.stop] if pair.target]


def test_equal_pairs_come_once_where_duplicates_are_dropped() -> None:
    pairs = [Example("b", "x"), Example("a", "x"), Example("b", "x")]
    assert sample(_reads(pairs), 3, _config(9, drop_duplicates=True), TEXT_READER) == pairs[:2]
    assert sample(_reads(pairs), 3, _config(9), TEXT_READER) == pairs


def test_a_sample_of_which_nothing_is_left_is_refused() -> None:
    pairs = [Example("", "x")] * 50
    with pytest.raises(UserError, match=r"cleaning dropped all 20 pairs of a sample \(20 empty\): check"):
        sample(_reads(pairs), 50, _config(20), TEXT_READER)
