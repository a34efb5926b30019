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
