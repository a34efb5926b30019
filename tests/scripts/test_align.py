from pathlib import Path

import pytest

import mt
from mt.metrics.alignment import to_pharaoh

SOURCE = "two cats see houses\n\nthe green birds find streets\n"
TARGET = "zwei Katzen sehen Häuser\n\ndie grünen 鳥 finden Straßen\n"


@pytest.fixture
def write(tmp_path: Path):
    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def test_links_and_their_error(call, write, trained: Path) -> None:
    files = ["--source", write("en", SOURCE), "--target", write("de", TARGET)]
    done = call("align", trained, *files)
    pairs = mt.load(trained, device="cpu").align(SOURCE.split("\n")[:3], TARGET.split("\n")[:3], hard=False)
    expected = [to_pharaoh(pair.links) for pair in pairs]
    assert done.out == "".join(f"{line}\n" for line in expected)
    assert (done.status, done.err) == (0, "") and expected[0] and expected[1] == ""
    scored = call("align", trained, *files, "--gold", write("gold", done.out))
    assert scored.out == done.out
    assert scored.err.startswith("aer 0.00  n:3|sure:")


def test_words_are_what_the_gold_links_mean(call, write, trained: Path) -> None:
    files = ["--source", write("en", "mr. two cats\n"), "--target", write("de", "u.s. zwei Katzen\n")]
    lines = {}
    for words, most in (("marks", 3), ("blanks", 2)):
        lines[words] = call("align", trained, *files, "--words", words).out
        assert max(int(place) for link in lines[words].split() for place in link.split("-")) <= most
    done = call("align", trained, *files, "--gold", write("gold", lines["marks"]))
    assert done.err.startswith("note: 1 of 1 pairs have other words between blanks: give --words blanks if the gold")
    assert call("align", trained, *files, "--gold", write("gold", lines["marks"]), "--words", "marks").err[:4] == "aer "
    gold = write("gold", lines["blanks"])
    assert call("align", trained, *files, "--words", "blanks", "--gold", gold).err.startswith("aer 0.00  n:1|")
    from_one = " ".join("-".join(str(int(place) + 1) for place in link.split("-")) for link in lines["blanks"].split())
    gold = write("gold", from_one + "\n")
    done = call("align", trained, *files, "--words", "blanks", "--gold", gold, "--one-based")
    assert done.err.startswith("aer 0.00  n:1|") and done.out == lines["blanks"]


def test_gold_links_to_words_that_share_a_piece_are_left_out_and_counted(call, write, trained: Path) -> None:
    # What the vocabulary lacks is one piece, which belongs to the first of the three marks.
    files = ["--source", write("en", "two cats\n"), "--target", write("de", "zwei Katzen?!»\n")]
    links = call("align", trained, *files).out.strip()
    assert {*mt.load(trained, device="cpu").align("two cats", "zwei Katzen?!»").target_units} == {0, 1, 2, None}
    done = call("align", trained, *files, "--gold", write("gold", f"{links} 0-3 1-4\n"))
    *_, first, note = done.err.splitlines()
    assert links and first.startswith("aer 0.00  n:1|") and first.endswith("|unlinkable:2")
    assert note.startswith("note: 2 gold links are left out, since they join words that share a piece")


def test_gold_links_to_words_that_are_not_there_are_refused(call, write, trained: Path) -> None:
    files = ["--source", write("en", "two cats see\n\n"), "--target", write("de", "zwei Katzen\n\n")]
    done = call("align", trained, *files, "--gold", write("gold", "0-0 1-1\n0-0\n"))
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {write('gold', '')}, line 2: the link 0-0 joins a word that is not there")
    done = call("align", trained, *files, "--gold", write("gold", "3-2\n\n"))
    assert "gold, line 1: the link 3-2" in done.err and "--one-based" in done.err and "--words blanks" in done.err
    assert call("align", trained, *files, "--gold", write("gold", "3-2\n\n"), "--one-based").status == 0
    done = call("align", trained, *files, "--gold", write("gold", "0-2\n\n"), "--one-based")
    assert "line 1: the link 0-2 names word 0" in done.err


def test_mode(call, write, trained_hard: Path, trained: Path) -> None:
    files = ["--source", write("en", SOURCE), "--target", write("de", TARGET)]
    modes = {mode: call("align", trained_hard, *files, "--mode", mode).out for mode in ("soft", "hard", "auto")}
    assert all(out.count("\n") == 3 for out in modes.values())
    translator = mt.load(trained_hard, device="cpu")
    for mode, hard in {"soft": False, "hard": True, "auto": True}.items():
        pairs = translator.align(SOURCE.split("\n")[:3], TARGET.split("\n")[:3], hard=hard)
        assert modes[mode] == "".join(f"{to_pharaoh(pair.links)}\n" for pair in pairs)
    assert call("align", trained_hard, *files).out == modes["hard"]
    refused = call("align", trained, *files, "--mode", "hard")
    assert refused.status == 2
    assert refused.err.startswith("error: --mode hard needs an attention that can choose one position")


def test_unequal_counts_name_both_files(call, write, trained: Path) -> None:
    source = write("en", SOURCE)
    target = write("de", TARGET)
    gold = write("gold", "0-0\n")
    done = call("align", trained, "--source", source, "--target", write("short", "zwei\n"))
    assert done.status == 2
    counts = f"{source} has 3 lines but {source.with_name('short')} has 1"
    assert done.err == f"error: {counts}: line n of each must belong to the same pair\n"
    done = call("align", trained, "--source", source, "--target", target, "--gold", gold)
    assert f"{source} has 3 lines but {gold} has 1" in done.err and done.out == ""


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("de", b"a\nGr\xfc\n\n", "de, line 2 is not UTF-8"),
        ("de", "", "de is empty"),
        ("de", "a\n\n" + "wort " * 100_000 + "\n", "de, line 3 has 100000 words"),
        ("en", "a\n" + "word " * 20_000 + "\n\n", "en, line 2 has 20000 words"),
        ("gold", "0-0\nx\n\n", "gold, line 2: 'x' is not a link"),
    ],
)
def test_refusals(call, write, trained: Path, name: str, content: str | bytes, sentence: str) -> None:
    paths = {"en": write("en", SOURCE), "de": write("de", TARGET), "gold": write("gold", "0-0\n\n\n")}
    paths[name] = write(name, content)
    done = call("align", trained, "--source", paths["en"], "--target", paths["de"], "--gold", paths["gold"])
    assert done.status == 2 and sentence in done.err and done.err.count("\n") == 1


def test_a_missing_file(call, write, trained: Path, tmp_path: Path) -> None:
    done = call("align", trained, "--source", write("en", SOURCE), "--target", tmp_path / "absent")
    assert (
        done.err == f"error: {tmp_path}/absent cannot be read (No such file or directory): give an existing text file\n"
    )
