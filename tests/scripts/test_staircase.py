import fcntl
import io
import os
import pty
import random
import re
import select
import struct
import termios
import time

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
            assert columns(stairs.pending()) <= max(width, 16)
        assert finished + stairs.end() == lines
        assert max(map(columns, lines)) <= max(width, 16)
        assert sum("┓" in line or "┃" in line for line in lines) == [kind for kind, _ in events].count("write")
        drawn = [word for line in lines for word in line.split() if word not in "┓┃┗"]
        assert [word.rstrip("…") for word in drawn] == [
            word[: len(cut.rstrip("…"))] for (_, word), cut in zip(events, drawn, strict=True)
        ]


def test_elsewhere_than_in_a_terminal_lines_are_plain_and_written_when_finished() -> None:
    file = io.StringIO()
    show = Show(file)
    show.add(EVENTS[:4])
    assert file.getvalue() == "Ein Mann schläft ┓ A\n"
    show.add(EVENTS[4:])
    show.end()
    assert file.getvalue() == "".join(f"{line}\n" for line in [*staircase(EVENTS), ""])
    show.add([("write", "next")])
    assert file.getvalue().endswith("\n\n┃ next\n")


class Terminal:
    """A pseudo-terminal, and what stands on its screen."""

    def __init__(self, width: int) -> None:
        self._master, slave = pty.openpty()
        self.resize(width)
        self.file = os.fdopen(slave, "w", encoding="utf-8")
        self.raw = ""

    def resize(self, width: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))

    def shows(self, expected: list[str]) -> bool:
        """Whether these lines are on the screen, at last: what is written takes a moment to arrive."""
        until = time.monotonic() + 10
        while self._screen() != expected and time.monotonic() < until:
            if select.select([self._master], [], [], 0.1)[0]:
                self.raw += os.read(self._master, 1 << 20).decode(errors="replace").replace("\r\n", "\n")
        return self._screen() == expected

    def _screen(self) -> list[str]:
        lines = [line.rpartition("\x1b[K")[2] for line in self.raw.split("\n")]
        return [re.sub(r"\x1b\[\d*m", "", line) for line in lines]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    result = Terminal(33)
    yield result
    result.file.close()
    os.close(result._master)


def test_in_a_terminal_the_unfinished_line_is_drawn_anew(terminal: Terminal) -> None:
    show = Show(terminal.file)
    for count, event in enumerate(EVENTS, start=1):
        show.add([event])
        assert terminal.shows(staircase(EVENTS[:count], 32) + [""] * (event[0] == "write"))
    assert "\x1b[33m┗ \x1b[0mauf \x1b[33m┓\x1b[0m \x1b[1mman\x1b[0m\n" in terminal.raw
    show.end()
    assert terminal.shows([*staircase(EVENTS, 32), "", ""])


def test_a_terminal_may_change_its_width(terminal: Terminal) -> None:
    show = Show(terminal.file)
    show.add(EVENTS[:4])
    terminal.resize(18)
    show.add(EVENTS[4:6])
    assert terminal.shows(["Ein Mann schläft ┓ A", "┗ auf ┓ man", ""])


@pytest.mark.parametrize(("name", "value", "raw"), [("NO_COLOR", "1", "\r\x1b[K┃ a\n"), ("TERM", "dumb", "┃ a\n")])
def test_a_terminal_may_be_plain(name: str, value: str, raw: str, terminal: Terminal, monkeypatch) -> None:
    monkeypatch.setenv(name, value)
    Show(terminal.file).add([("write", "a")])
    assert terminal.shows(["┃ a", ""]) and terminal.raw == raw
