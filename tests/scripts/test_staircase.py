import io
import os
import random

import pytest

from scripts.staircase import Show, Staircase, columns, staircase

EVENTS = [
    ("read", "Ein"), ("read", "Mann"), ("read", "schläft"), ("write", "A"), ("read", "auf"), ("write", "man"),
    ("write", "is"), ("read", "einem"), ("write", "sleeping"), ("read", "Bett"), ("read", "."),
]  # fmt: skip


def test_words_read_are_treads_and_words_written_stand_at_the_risers() -> None:
    assert staircase(EVENTS) == [
        "Ein Mann schläft ┓ A",
        "                 ┗ auf ┓ man",
        "                       ┃ is",
        "                       ┗ einem ┓ sleeping",
        "                               ┗ Bett .",
    ]
    assert staircase([]) == []
    assert staircase([("write", "before"), ("read", "any"), ("write", "word")]) == ["┃ before", "┗ any ┓ word"]


def test_at_the_right_edge_they_go_on_from_the_left() -> None:
    assert staircase(EVENTS, 32) == [
        "Ein Mann schläft ┓ A",
        "                 ┗ auf ┓ man",
        "                       ┃ is",
        "┗ einem ┓ sleeping",
        "        ┗ Bett .",
    ]
    assert staircase([*[("read", "word")] * 5, ("write", "one"), *[("read", "and")] * 4, ("write", "two")], 16) == [
        "word word word", "word word ┓ one", "┗ and and and", "  and ┓ two",
    ]  # fmt: skip
    # A line may fill its width, and no more.
    assert staircase(EVENTS[:4], 20) == ["Ein Mann schläft ┓ A"]
    assert staircase(EVENTS[:4], 19) == ["Ein Mann schläft", "┃ A"]
    # The tread fills its line, so that the riser has one of its own.
    assert staircase([*[("read", "word")] * 3, ("write", "one")], 16) == ["word word word", "┃ one"]


def test_wide_characters_take_two_columns() -> None:
    assert [columns(text) for text in ("ab", "鳥", "한국", "ｆ", "e\u0301", "👩\u200d", "")] == [2, 2, 4, 2, 1, 2, 0]
    lines = staircase([("read", "彼女は"), ("write", "she"), ("read", "q\u0323"), ("write", "is")])
    assert lines == ["彼女は ┓ she", "       ┗ q\u0323 ┓ is"]
    assert columns(lines[0].partition("┓")[0]) == lines[1].index("┗")


def test_words_of_any_length_fit_and_move_no_cursor() -> None:
    assert staircase([("read", "x" * 50), ("write", "鳥" * 50)], 31) == [f"{'x' * 12}… ┓ {'鳥' * 6}…"]
    assert staircase([("read", "a\x1b[2Jb\u202ec\n"), ("write", " d\u00a0e")]) == ["a�[2Jb�c ┓ d e"]


@pytest.mark.parametrize("width", [16, 17, 40, 80, 3])
def test_every_line_fits_is_final_and_nothing_is_lost(width: int) -> None:
    draw = random.Random(width)
    for _ in range(100):
        words = ["a", "word", "größer", "鳥", "彼女は", "e\u0301" * 5, "x" * draw.randint(1, 40)]
        events = [(draw.choice(["read", "write"]), draw.choice(words)) for _ in range(draw.randint(1, 30))]
        lines = staircase(events, width)
        stairs = Staircase(width)
        finished = []
        for event in events:
            finished += stairs.add(event)
            assert finished == lines[: len(finished)]
        assert finished + stairs.end() == lines
        assert max(map(columns, lines)) <= max(width, 16)
        assert sum("┓" in line or "┃" in line for line in lines) == [kind for kind, _ in events].count("write")
        drawn = [word for line in lines for word in line.split() if word not in "┓┃┗"]
        assert [word.rstrip("…") for word in drawn] == [
            word[: len(cut.rstrip("…"))] for (_, word), cut in zip(events, drawn, strict=True)
        ]


def test_lines_are_written_when_finished() -> None:
    file = io.StringIO()
    show = Show(file)
    show.add(EVENTS[:4])
    assert file.getvalue() == "Ein Mann schläft ┓ A\n"
    show.add(EVENTS[4:])
    show.end()
    assert file.getvalue() == "".join(f"{line}\n" for line in [*staircase(EVENTS), ""])
    show.add([("write", "next")])
    assert file.getvalue().endswith("\n\n┃ next\n")


def test_in_a_terminal_a_line_leaves_the_last_column_free(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return 0

    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((33, 24)))
    file = Terminal()
    Show(file).add(EVENTS)
    assert file.getvalue().splitlines() == staircase(EVENTS, 32)[:-1]
