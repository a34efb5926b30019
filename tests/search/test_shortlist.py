"""The pieces that a sentence may be made of, and the file that says so."""

from pathlib import Path

import numpy as np
import pytest

from mt.errors import UserError
from mt.search.shortlist import SHORTLIST, Shortlist

LISTS = np.array([[0, 0]] * 4 + [[9, 7], [5, 0], [7, 8]], np.int32)
SMALL = Shortlist(LISTS, np.array([6], np.int32), 10)
SIZES = (7, 10)


def test_a_batch_may_say_what_any_of_its_sources_may() -> None:
    assert SMALL.of([np.array([5, 3])]).tolist() == [0, 1, 2, 3, 5, 6]
    assert SMALL.of([np.array([4, 4, 6, 3])]).tolist() == [0, 1, 2, 3, 6, 7, 8, 9]
    assert SMALL.of([np.array([5, 3]), np.array([4, 3])]).tolist() == [0, 1, 2, 3, 5, 6, 7, 9]


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    SMALL.save(tmp_path / SHORTLIST, "abc")
    found = Shortlist.load(tmp_path / SHORTLIST, "abc", SIZES)
    np.testing.assert_array_equal(found.lists, SMALL.lists)
    np.testing.assert_array_equal(found.first, SMALL.first)
    assert found.size == 10
    assert [path.name for path in tmp_path.iterdir()] == [SHORTLIST]


@pytest.mark.parametrize(
    "shortlist",
    [
        SMALL._replace(lists=LISTS[:6]),
        SMALL._replace(lists=LISTS.ravel()),
        SMALL._replace(lists=LISTS.astype(float)),
        SMALL._replace(lists=LISTS + 1),
        SMALL._replace(first=np.array([-1], np.int32)),
        SMALL._replace(first=np.array(3, np.int32)),
    ],
)
def test_what_does_not_fit_is_refused(shortlist: Shortlist, tmp_path: Path) -> None:
    shortlist.save(tmp_path / SHORTLIST, "abc")
    with pytest.raises(UserError, match="has other pieces"):
        Shortlist.load(tmp_path / SHORTLIST, "abc", SIZES)


def test_that_of_another_run_is_refused(tmp_path: Path) -> None:
    SMALL.save(tmp_path / SHORTLIST, "abc")
    with pytest.raises(UserError, match="of other vocabularies than this run's: learn it with"):
        Shortlist.load(tmp_path / SHORTLIST, "abd", SIZES)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / SHORTLIST
    with pytest.raises(UserError, match=r"is missing: learn it with scripts/shortlist\.py"):
        Shortlist.load(path, "abc", SIZES)
    SMALL.save(path, "abc")
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(UserError, match=r"is no shortlist .*: learn it with .* again"):
            Shortlist.load(path, "abc", SIZES)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with pytest.raises(UserError, match=rf"{SHORTLIST} (is|has) .*: learn it"):
            Shortlist.load(path, "abc", SIZES)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / SHORTLIST).symlink_to("elsewhere")
    with pytest.raises(UserError, match="nothing is written through links"):
        SMALL.save(tmp_path / SHORTLIST, "abc")
    assert (tmp_path / "elsewhere").read_text() == "mine"
