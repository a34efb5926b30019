"""Links that preparation makes with eflomal, and with a program of its command line in its place."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from data_prep import eflomal
from mt.data.dataset import DatasetConfig
from mt.data.split import Split
from tests.data_prep.small import prepared, refusal, small_shards, text_config, write_texts

# Links the n-th words, backwards only those of an even place, and the last to nothing.
STAND_IN = """#!{python}
import sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
assert options.keys() == {{"-s", "-t", "-f", "-r"}}
texts = [open(options[key], encoding="utf-8").read().splitlines() for key in ("-s", "-t")]
for key, step in (("-f", 1), ("-r", 2)):
    with open(options[key], "w") as file:
        for source, target in zip(*texts, strict=True):
            count = min(len(source.split()), len(target.split()))
            file.write(" ".join(f"{{i}}-{{i}}" for i in range(0, count, step)) + "\\n")
"""


def config(folder: Path) -> DatasetConfig:
    pairs = [("Go on, now.", "Weiter, jetzt."), ("", "Nichts"), ("one two", "eins zwei"), ("Go on, now.", "Los!")] * 8
    write_texts(folder, train=pairs, dev=pairs[:1], test=pairs[:1])
    return text_config(folder, links="eflomal", tokenizer={"model_type": "word", "vocab_size": 60})


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of the name and the command line of eflomal's."""
    path = tmp_path / "bin" / eflomal.PROGRAM
    path.parent.mkdir()
    path.write_text(STAND_IN.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    return path


def links(split: Split) -> list[tuple[tuple[str, str], str]]:
    return [*zip(split.texts(range(len(split))), split.links(), strict=True)]


def test_links_of_words_come_into_the_corpus(program: Path, tmp_path: Path) -> None:
    with small_shards(100, 7):
        split = prepared(config(tmp_path), tmp_path).split("train")
    pairs = [("Go on, now.", "Weiter, jetzt."), ("one two", "eins zwei"), ("Go on, now.", "Los!")]
    assert links(split) == [*zip(pairs, ["0-0 1-1 2-2 3-3", "0-0 1-1", "0-0 1-1"], strict=True)] * 8
    [first] = split.read([0]).links
    assert first.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_a_corpus_with_other_links_is_another(program: Path, tmp_path: Path) -> None:
    fingerprints = []
    for root in ("one", "two"):
        fingerprints.append(prepared(config(tmp_path), tmp_path / root).meta["fingerprint"])
        program.write_text(program.read_text().replace('("-f", 1)', '("-f", 2)'))
    assert fingerprints[0] != fingerprints[1] and {len(each) for each in fingerprints} == {64}


def test_a_program_that_fails_or_is_not_there_is_told(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program.write_text(f"#!{sys.executable}\nprint('first')\nraise SystemExit('no memory')\n")
    assert refusal(config(tmp_path), tmp_path).startswith("eflomal-align failed (no memory): mend that, or give a FILE")
    monkeypatch.setattr(eflomal, "PROGRAM", "eflomal-nowhere")
    missing = "eflomal-nowhere, which is not there: run pip install eflomal, or give"
    assert missing in refusal(config(tmp_path), tmp_path)
    assert not list((tmp_path / "corpora").rglob("*.arrow"))


def test_eflomal_itself_links_what_comes_together(tmp_path: Path) -> None:
    if shutil.which(eflomal.PROGRAM) is None:
        pytest.skip("needs the extra `eflomal`")
    found = dict(links(prepared(config(tmp_path), tmp_path).split("train")))
    assert len(found) == 3 and all(found.values())
