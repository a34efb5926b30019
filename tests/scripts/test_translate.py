import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

import mt
from mt.search.config import BeamConfig, SampleConfig

LINES = ["two cats see houses", "", "the green birds find streets", "zzz cats"]
TEXT = "the big cats see two green houses\nno term\n"
INPUT = "".join(f"{line}\n" for line in LINES)


def test_lines_stay_aligned(call, trained: Path, tmp_path: Path) -> None:
    done = call("translate", trained, "--device", "cpu", stdin=INPUT)
    expected = [translation.text for translation in mt.load(trained, device="cpu").translate(LINES)]
    assert done.out == "".join(f"{text}\n" for text in expected)
    assert (expected[1], done.err, done.status) == ("", "", 0)
    assert call("translate", trained, "--buffer-size", 1, stdin=INPUT).out == done.out
    windows = b"\xef\xbb\xbf" + INPUT.replace("\n", "\r\n").encode()
    assert call("translate", trained, stdin=windows).out == done.out
    assert call("translate", trained, stdin="").out == ""
    (tmp_path / "text.gz").write_bytes(gzip.compress(INPUT.encode()))
    assert call("translate", trained, tmp_path / "text.gz", stdin="two\n").out == done.out
    assert call("translate", trained, "-", stdin=INPUT).out == done.out


def test_n_best(call, trained: Path) -> None:
    done = call("translate", trained, "--n-best", 2, "--beam", 4, stdin=INPUT)
    rows = [line.split(" ||| ") for line in done.out.splitlines()]
    assert [int(row[0]) for row in rows] == [0, 0, 1, 2, 2, 3, 3]
    search = BeamConfig(beam_size=4, n_best=2)
    expected = mt.load(trained, device="cpu").n_best(LINES, search=search)
    assert [row[1] for row in rows] == [t.text for hypotheses in expected for t in hypotheses]
    assert float(rows[0][2]) == pytest.approx(expected[0][0].score, abs=1e-3)


@pytest.mark.parametrize("hard", [False, True])
def test_links_are_those_of_align(call, hard: bool, trained: Path, trained_hard: Path, tmp_path: Path) -> None:
    """Unknown words, marks and all: the same pair has the same links, whichever script makes them."""
    folder = trained_hard if hard else trained
    source = "two cats see houses\n\n4%x, the zzz-birds find \u9ce5\u9ce5!\nbig (cats)\n"
    (tmp_path / "source").write_text(source)
    written = call("translate", folder, tmp_path / "source", "--alignments", tmp_path / "links")
    (tmp_path / "target").write_text(written.out)
    aligned = call("align", folder, "--source", tmp_path / "source", "--target", tmp_path / "target")
    assert (aligned.status, aligned.err) == (0, "")
    assert aligned.out == (tmp_path / "links").read_text() and aligned.out.count("-") > 6


def test_each_line_is_drawn_where_plots_are_asked_for(call, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "plots"
    done = call("translate", trained, "--plots", folder, "--buffer-size", 2, stdin="two cats\n\nthe big house\n")
    assert done.status == 0
    assert sorted(path.name for path in folder.iterdir()) == ["0000.png", "0002.png"]
    assert (folder / "0002.png").read_bytes().startswith(b"\x89PNG")
    words = ["--plots", tmp_path, "--plot-words", "--plot-format", "pdf"]
    assert call("translate", trained, *words, stdin="two cats\n").status == 0
    assert (tmp_path / "0000.pdf").read_bytes().startswith(b"%PDF")
    assert "--plots /dev/null cannot be" in call("translate", trained, "--plots", "/dev/null", stdin="two\n").err


def test_unknown_words_are_replaced(call, trained: Path) -> None:
    done = call("translate", "--replace-unknown", trained, stdin="two cats\n")
    plain = call("translate", trained, stdin="two cats\n")
    assert (done.out, done.err) == (plain.out, "note: 0 unknown words replaced\n")


def test_samples_chosen_by_their_expected_utility(call: Callable, trained: Path) -> None:
    options = ("--search", "sample", "--samples", 12, "--utility", "chrf", "--n-best", 3)
    done = call("translate", trained, *options, stdin=INPUT)
    search = SampleConfig(samples=12, utility="chrf", n_best=3)
    expected = mt.load(trained, device="cpu").n_best(LINES, search=search)
    rows = [(number, one) for number, of_source in enumerate(expected) for one in of_source]
    assert done.out == "".join(f"{number} ||| {one.text} ||| {one.score:.4f}\n" for number, one in rows)
    assert call("translate", trained, *options, "--buffer-size", 1, stdin=INPUT).out == done.out
    assert call("translate", trained, *options, "--seed", 2, "--temperature", 2, stdin=INPUT).out != done.out


def test_the_terms_of_a_file_are_written(call, trained: Path, trained_hard: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("cats\tHunde\nhouses\tBrücken|Hunde\n", encoding="utf-8")
    options = ["--device", "cpu", "--glossary", tmp_path / "terms.tsv"]
    first, second = call("translate", trained, *options, "--buffer-size", 1, stdin=TEXT).out.splitlines()
    assert "Hunde" in first and first != second
    (tmp_path / "terms.jsonl").write_text('{"cats": "Hunde", "houses": ["Brücken", "Hunde"]}\n{}\n', encoding="utf-8")
    own = ["--device", "cpu", "--glossary", tmp_path / "terms.jsonl"]
    assert call("translate", trained, *own, "--buffer-size", 1, stdin=TEXT).out.splitlines() == [first, second]
    streamed = call("stream", trained_hard, *options, stdin=TEXT).out.splitlines()
    assert "Hunde" in streamed[0] and len(streamed) == 2


def test_a_line_without_a_glossary_is_told_before_anything_is_written(call, trained: Path, write) -> None:
    own = write("own.jsonl", '{"cats": "Hunde"}\n')
    for options in ([], ["--format", "html", "--each-line"]):
        command = ["translate", trained, *options, "--buffer-size", 1, "--glossary", own]
        done = call(*command, stdin="two cats\ntwo dogs\n")
        assert (done.out, done.status) == ("", 2)
        assert "glossaries of single texts are one for each, here 2, as a list or as lines of a .jsonl file" in done.err
        assert "Hunde" in call(*command, stdin="two cats\n").out


@pytest.mark.parametrize(
    ("name", "text", "noted"),
    [
        ("page", "\n <!DOCTYPE html>\n<p>two cats</p>\n", True),
        ("page", "<html><p>two cats\n", True),
        ("page", '<?xml version="1.0"?>\n', True),
        ("page.HTM", "<p>two cats</p>\n", True),
        ("page.txt", "<b>two</b> cats\ntwo cats.html\n", False),
    ],
)
def test_a_document_is_noted_where_it_is_translated_as_lines(
    call, trained: Path, tmp_path: Path, name: str, text: str, noted: bool
) -> None:
    (tmp_path / name).write_text(text)
    done = call("translate", trained, tmp_path / name)
    sentence = "has tags, which are read as text: --format html or xliff keeps them"
    assert done.err.count(sentence) == noted and done.out.count("\n") == text.count("\n")
    assert call("translate", trained, tmp_path / name, "--format", "text").err.count(sentence) == 0


def test_entries_that_are_not_in_the_text_are_noted(call, trained: Path, trained_hard: Path, write) -> None:
    """Those of one line each, and of a glossary for the whole text where none is."""
    some = write("some.tsv", "cats\tHunde\nowls\tHunde\n")
    assert call("translate", trained, "--glossary", some, stdin=TEXT).err == ""
    none = write("none.tsv", "owls\tHunde\nCats\tHunde\n")
    sentence = f'note: no entry of the glossary is in the text, first "owls" ({none}, line 1)\n'
    for command in (["translate", trained], ["translate", trained, "--format", "html"], ["stream", trained_hard]):
        assert call(*command, "--glossary", none, stdin=TEXT).err == sentence
    own = write("own.jsonl", '{"cats": "Hunde", "owls": "Hunde"}\n{"cats": "Hunde"}\n')
    for size, text in ((1, "two cats\ntwo dogs\n"), (2, "two cats\ntwo dogs\n")):
        done = call("translate", trained, "--glossary", own, "--buffer-size", size, stdin=text)
        assert done.err == f'note: 2 entries are not in the text, first "owls" ({own}, line 1)\n'
    done = call("translate", trained, "--glossary", own, stdin="owls and cats\ntwo dogs\n")
    assert done.err == f'note: 1 entry is not in the text, first "cats" ({own}, line 2)\n'
