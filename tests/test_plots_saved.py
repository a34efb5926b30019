"""Files of pictures, and links that are known to be right."""

import numpy as np
import pytest

from mt.errors import UserError
from mt.plots import heatmap, save


def uniform(steps, length):
    return np.full((steps, length), 1 / length)


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml"), ("SVG", b"<?xml")]
)
def test_the_ending_says_what_is_written_and_the_same_picture_is_the_same_file(ending, start, tmp_path):
    paths = [tmp_path / f"{name}.{ending}" for name in ("one", "other")]
    for path in paths:
        save(heatmap(uniform(2, 2), ["日本", "b"], ["c", "d"], stops=[0, 1]), path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start) and first == second


def test_words_are_text_in_files_of_lines(tmp_path):
    for ending in ("svg", "pdf"):
        save(heatmap(uniform(1, 2), ["größer", "鳥"], ["birds"]), tmp_path / f"one.{ending}")
    for word in ("größer", "鳥", "birds"):
        assert f">{word}</text>" in (tmp_path / "one.svg").read_text(encoding="utf-8")
    written = (tmp_path / "one.pdf").read_bytes()
    assert b"/ToUnicode" in written and b"/Type3" not in written


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"one\.jpg ends in \.jpg, and pictures are written as \.png, \.pdf or \.svg"):
        save(heatmap(uniform(1, 1), ["a"], ["b"]), tmp_path / "one.jpg")
    assert not list(tmp_path.iterdir())


def test_gold_links_are_circles_on_their_cells():
    figure = heatmap(uniform(3, 2), ["a", "b"], ["c", "d", "e"], gold={(1, 0), (0, 2)})
    (line,) = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert {tuple(map(int, point)) for point in line.get_xydata()} == {(1, 0), (0, 2)}
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["gold link"]


def test_a_gold_link_outside_of_the_tokens_is_an_error():
    with pytest.raises(ValueError, match="within 2 source and 1 target tokens"):
        heatmap(uniform(1, 2), ["a", "b"], ["c"], gold={(0, 1)})
