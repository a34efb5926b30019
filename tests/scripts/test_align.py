from pathlib import Path

import pytest

import mt
from mt.common.links import symmetrised, to_pharaoh
from tests.refusals.sentences import require_refusal
from tests.tiny import Configure, finished

SOURCE = "two cats see houses\n\nthe green birds find streets\n"
TARGET = "zwei Katzen sehen Häuser\n\ndie grünen 鳥 finden Straßen\n"
SOURCES, TARGETS = (text.split("\n")[:3] for text in (SOURCE, TARGET))


@pytest.fixture
def files(write) -> list[str | Path]:
    return ["--source", write("en", SOURCE), "--target", write("de", TARGET)]


@pytest.fixture(scope="module")
def reverse(configure: Configure, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the other direction."""
    config = configure({"dataset": {"source": "de", "target": "en"}, "training": {"epochs": 5, "plots": 0}})
    return finished(config, corpora, tmp_path_factory.mktemp("reverse") / "run")


def test_links_and_their_error(call, write, files, trained: Path) -> None:
    done = call("align", trained, *files)
    pairs = mt.load(trained, device="cpu").align(SOURCES, TARGETS, hard=False)
    expected = [to_pharaoh(pair.links) for pair in pairs]
    assert done.out == "".join(f"{line}\n" for line in expected)
    assert (done.status, done.err) == (0, "") and expected[0] and expected[1] == ""
    scored = call("align", trained, *files, "--gold", write("gold", done.out))
    assert scored.out == done.out
    assert scored.err.startswith("aer 0.00  n:3|sure:")
    pairs = [(n, *map(int, link.split("-"))) for n, line in enumerate(expected, 1) for link in line.split()]
    naacl = write("gold", "".join(f"{n:04d} {i + 1} {j + 1} S\n" for n, i, j in pairs))
    assert call("align", trained, *files, "--gold", naacl).err == scored.err


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
    # Without the flag, such links may name words of the pair all the same.
    done = call("align", trained, *files, "--words", "marks", "--gold", write("gold", "3-3\n"))
    note = "gold joins word 0, the first one: give --one-based if its words count from 1\naer "
    assert done.err.startswith("note: no link in ") and note in done.err


def test_gold_links_to_words_that_share_a_piece_are_left_out_and_counted(call, write, trained: Path) -> None:
    # What the vocabulary lacks is one piece, which belongs to the first of the three marks.
    files = ["--source", write("en", "two cats\n"), "--target", write("de", "zwei Katzen?!»\n")]
    links = call("align", trained, *files).out.strip()
    assert {*mt.load(trained, device="cpu").align("two cats", "zwei Katzen?!»").units.target} == {0, 1, 2, None}
    done = call("align", trained, *files, "--gold", write("gold", f"{links} 0-3 1-4\n"))
    *_, first, note = done.err.splitlines()
    assert links and first.startswith("aer 0.00  n:1|") and first.endswith("|unlinkable:2")
    assert note.startswith("note: 2 gold links are left out, since they join words that share a piece")


def test_options_are_those_of_python(call, files, trained: Path, trained_hard: Path) -> None:
    translators = {run: mt.load(run, device="cpu") for run in (trained, trained_hard)}
    different = set()
    for run, flags, options in (
        (trained_hard, ["--mode", "soft"], {"hard": False}),
        (trained_hard, ["--mode", "hard"], {"hard": True}),
        (trained_hard, ["--mode", "auto"], {"hard": True}),
        (trained_hard, [], {"hard": True}),
        (trained_hard, ["--extract", "stops"], {"extract": "stops"}),
        (trained, ["--shift"], {"shift": True}),
        (trained, ["--extract", "0.001"], {"extract": 0.001}),
        (trained, ["--extract", "0.001", "--shift"], {"extract": 0.001, "shift": True}),
        (trained, [], {}),
    ):
        pairs = translators[run].align(SOURCES, TARGETS, **options)
        out = call("align", run, *files, *flags).out
        assert out == "".join(f"{to_pharaoh(pair.links)}\n" for pair in pairs)
        different.add((run, out))
    assert len(different) >= 6
    for pair in translators[trained_hard].align(SOURCES, TARGETS, extract="stops"):
        # The stop is where the chunk of two ends, and EOS is no word.
        words = len(pair.source_tokens) - 1
        assert pair.links == {(i, j) for j, i in enumerate(pair.stops[:-1].tolist()) if 0 <= i < words}


def test_symmetrised_links_are_those_of_two_runs(call, files, trained: Path, reverse: Path) -> None:
    forward, backward = (mt.load(run, device="cpu") for run in (trained, reverse))
    one_way = [pair.links for pair in forward.align(SOURCES, TARGETS)]
    other = [{(i, j) for j, i in pair.links} for pair in backward.align(TARGETS, SOURCES)]
    for method in ("intersection", "union", "grow-diag"):
        expected = [symmetrised(*pair, method) for pair in zip(one_way, other, strict=True)]
        pairs = forward.align(SOURCES, iter(TARGETS), symmetrise_with=backward, symmetrise=method)
        assert [pair.links for pair in pairs] == expected
        out = call("align", trained, reverse, "--symmetrise", method, *files).out
        assert out == "".join(f"{to_pharaoh(links)}\n" for links in expected)
    grow = {"symmetrise_with": backward, "symmetrise": "grow"}
    require_refusal(lambda: forward.align("a", "b", **grow), "symmetrise=grow is an invalid choice: ")
    alone = forward.align(SOURCES[0], TARGETS[0], symmetrise_with=backward)
    assert alone.links == symmetrised(one_way[0], other[0], "grow-diag") and len(alone.links) >= 3


def test_pairs_are_drawn_with_their_gold_links(call, write, files, trained: Path, tmp_path: Path) -> None:
    gold = write("gold", "0-0\n\n0-0 4-1\n")
    done = call("align", trained, *files, "--gold", gold, "--plots", tmp_path / "plots", "--plot-format", "svg")
    assert done.status == 0
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["0000.svg", "0001.svg", "0002.svg"]
    drawn = (tmp_path / "plots/0002.svg").read_text()
    assert "gold link" in drawn and "miss" in drawn and "Straßen" in drawn
