import os
import subprocess
import sys
from pathlib import Path

import pytest

import mt
from mt.search.config import SearchConfig

ROOT = Path(__file__).parents[2]
LINES = ["two cats see houses", "", "the green birds find streets", "zzz cats"]
INPUT = "".join(f"{line}\n" for line in LINES)


def test_lines_stay_aligned(call, trained: Path) -> None:
    done = call("translate", trained, "--device", "cpu", stdin=INPUT)
    expected = [translation.text for translation in mt.load(trained, device="cpu").translate(LINES)]
    assert done.out == "".join(f"{text}\n" for text in expected)
    assert (expected[1], done.err, done.status) == ("", "", 0)
    assert call("translate", trained, "--chunk", 1, stdin=INPUT).out == done.out
    windows = b"\xef\xbb\xbf" + INPUT.replace("\n", "\r\n").encode()
    assert call("translate", trained, stdin=windows).out == done.out
    assert call("translate", trained, stdin="").out == ""


def test_n_best(call, trained: Path) -> None:
    done = call("translate", trained, "--n-best", 2, "--beam", 4, stdin=INPUT)
    rows = [line.split(" ||| ") for line in done.out.splitlines()]
    assert [int(row[0]) for row in rows] == [0, 0, 1, 2, 2, 3, 3]
    search = SearchConfig(beam_size=4, n_best=2)
    expected = mt.load(trained, device="cpu").n_best(LINES, search)
    assert [row[1] for row in rows] == [t.text for hypotheses in expected for t in hypotheses]
    assert float(rows[0][2]) == pytest.approx(expected[0][0].score, abs=1e-3)


def test_search_options_change_the_run_s_own(call, trained: Path) -> None:
    done = call("translate", trained, "--search", "greedy", stdin=INPUT)
    greedy = mt.load(trained, device="cpu").translate(LINES, SearchConfig(name="greedy"))
    assert done.out.splitlines() == [translation.text for translation in greedy]


def test_alignments_are_links_between_words(call, trained: Path, tmp_path: Path) -> None:
    done = call("translate", trained, "--alignments", tmp_path / "links", stdin=INPUT)
    lines = (tmp_path / "links").read_text().removesuffix("\n").split("\n")
    texts = done.out.removesuffix("\n").split("\n")
    assert len(lines) == len(texts) == 4 and lines[1] == ""
    for line, source, target in zip(lines, LINES, texts, strict=True):
        pairs = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert all(0 <= i < len(source.split()) and 0 <= j < len(target.split()) for i, j in pairs)
    assert lines[0]


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        ([], b"gut\nGr\xfc\xdfe\n", "standard input, line 2 is not UTF-8 (byte 3 of the line): convert the text"),
        (["--chunk", 1], "two\n" + "word " * 100_000, "standard input, line 2 has 100000 words, and at most 10000"),
        (["--n-best", 4], "two\n", "search.n_best=4 asks for more hypotheses than search=beam keeps (3)"),
        (["--mode", "hard"], "two\n", "search.mode=hard needs an attention that can choose one position"),
        (["--search", "online"], "two\n", "online decoding writes while it reads"),
        (["--beam", 0], "two\n", "beam_size=0 is not possible"),
        (["--device", "gpu"], "two\n", "device=gpu is no choice"),
        (["--checkpoint", "beast"], "two\n", "has no checkpoint beast; it has: "),
        (["--alignments", "/"], "two\n", "/ cannot be written"),
    ],
)
def test_refusals(call, trained: Path, arguments: list, stdin: str | bytes, sentence: str) -> None:
    done = call("translate", trained, *arguments, stdin=stdin)
    assert done.status == 2
    assert done.err.startswith("error: ") and done.err.count("\n") == 1 and sentence in done.err


def test_as_a_command(trained: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "LC_ALL": "C", "PYTHONIOENCODING": ""}
    command = [sys.executable, str(ROOT / "scripts/translate.py")]
    done = subprocess.run(
        [*command, trained], input=INPUT.encode(), env=environment, capture_output=True, cwd=tmp_path, check=False
    )
    assert (done.stderr, done.returncode) == (b"", 0)
    assert done.stdout.decode().count("\n") == 4 and any(character in done.stdout.decode() for character in "äöüß鳥")
