"""Words leave as soon as they are complete, however the bytes of the text are cut."""

import io
import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from mt.data.tokenizer import Unit
from mt.decoding.streaming import live
from mt.decoding.streaming.live import MAX_CHARACTERS, arrivals
from mt.errors import UserError
from mt.search.config import OnlineConfig
from mt.text_io import decoded


def chunks(text: bytes, size: int) -> Iterator[bytes]:
    return (text[start : start + size] for start in range(0, len(text), size))


BLANKS = [" ", "  ", "\t", "\r", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c", "\v", "\n", "\r\n"]
WRITTEN = ["a", "think", "ß", "e\u0301", "\u0301", "鳥は", "ไทย", "हिं", "👩\u200d👧", "🇩🇪", "\u200b", "\ufeff", "¼"]
ALPHABET = st.sampled_from([*WRITTEN, *BLANKS])


@given(
    parts=st.lists(ALPHABET, max_size=12),
    cuts=st.lists(st.integers(0, 60), max_size=20),
    unit=st.sampled_from(["word", "char"]),
)
@example(parts=["I", " ", "think", " ", "I"], cuts=[], unit="word")
@example(parts=["a", " ", "think"], cuts=[1], unit="word")
@example(parts=["a", "\ufeff", "a"], cuts=[1], unit="word")
@example(parts=["\ufeff"], cuts=[], unit="char")
@example(parts=["a", "\n", "\ufeff", "a"], cuts=[3, 4], unit="word")
@example(parts=[" "], cuts=[], unit="word")
@example(parts=["\n"], cuts=[], unit="word")
@example(parts=["a", "\n"], cuts=[1], unit="word")
def test_every_cutting_reads_what_the_whole_text_holds(parts: list[str], cuts: list[int], unit: Unit) -> None:
    """Empty chunks are among them: two cuts at one place."""
    text = "".join(parts).encode()
    lines = [*decoded(io.BytesIO(text.replace(b"\r", b"\v")), "it")]  # carriage returns are blanks within a line
    expected: list[str | None] = []
    for line in lines:
        expected += [*(line.split() if unit == "word" else line), None]
    ends = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[start:end] for start, end in itertools.pairwise([0, *ends, len(text)])]
    read = [*arrivals(pieces, "it", unit)]
    assert ["\v" if part == "\r" else part for part in read] == expected


def test_a_word_leaves_before_anything_after_it_is_asked_for() -> None:
    def asked() -> Iterator[bytes]:
        for number, chunk in enumerate((b"one ", b"tw", b"o\n", b"three ")):
            assert len(seen) == (0, 1, 1, 3)[number]
            yield chunk
        raise AssertionError("asked for what has not come")

    seen: list = []
    for word in itertools.islice(arrivals(asked(), "it", "word"), 4):
        seen.append(word)
    assert seen == ["one", "two", None, "three"]


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("text", "before", "sentence"),
    [
        (b"a b\nc Gr\xfc\xdfe d\n", ["a", "b", None, "c"], "it, line 2 is not UTF-8 (byte 5 of the line): convert"),
        (b"a \xe9\xb3", ["a"], "it, line 1 is not UTF-8 (byte 3 of the line)"),
        (b"a\n\nb c\0d ", ["a", None, None, "b"], "it, line 3 holds a NUL character: remove it, or convert"),
    ],
)
def test_what_is_no_text(text: bytes, before: list, sentence: str, size: int) -> None:
    result = []
    with pytest.raises(UserError) as refusal:
        for word in arrivals(chunks(text, size), "it", "word"):
            result.append(word)
    assert result == before and str(refusal.value).startswith(sentence)


def test_a_line_without_blanks_is_not_kept_for_ever() -> None:
    def endless() -> Iterator[bytes]:
        yield b"a\nb "
        for _ in range(MAX_CHARACTERS // 1000 + 2):
            yield b"x" * 1000
        raise AssertionError("more was asked for")

    result = []
    with pytest.raises(UserError, match=r"^it, line 2 has more than 10000 characters without a blank: put"):
        for word in arrivals(endless(), "it", "word"):
            result.append(word)
    assert result == ["a", None, "b"]
    longest = b"y" * MAX_CHARACTERS
    assert [*arrivals([longest + b" " + longest], "it", "word")] == [longest.decode()] * 2 + [None]
    with pytest.raises(UserError):
        [*arrivals([longest + b"y c"], "it", "word")]
    assert sum(1 for _ in itertools.islice(arrivals(itertools.repeat(b"zz"), "it", "char"), 50_000)) == 50_000


def test_what_is_certain_is_sent_before_more_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sent(io.StringIO):
        sent = ""

        def flush(self) -> None:
            self.sent = self.getvalue()

    def arriving(*_: object) -> Iterator[str | None]:
        for part in ("one", "two", None, "three", None):
            yield part
            assert out.sent == out.getvalue()

    out = Sent()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr(live, "arriving", arriving)
    session = SimpleNamespace(read=lambda word: [word], finish=lambda: ["end"], cut=False)
    translator: Any = SimpleNamespace(stream=lambda *_, **__: session, unit="word")
    live.translate_live(translator, OnlineConfig(), None)
    assert out.sent == "one two end\nthree end\n"
