"""Links that preparation makes with eflomal, and with a program of its command line in its place."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from data_prep import eflomal
from data_prep.prepare import prepare
from mt.common.options import parse
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from tests.data_prep.small import small_shards

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


def config(folder: Path, **options: Any) -> DatasetConfig:
    pairs = [("Go on, now.", "Weiter, jetzt."), ("", "Nichts"), ("one two", "eins zwei"), ("Go on, now.", "Los!")] * 8
    for split in ("train", "dev", "test"):
        some = pairs if split == "train" else pairs[:1]
        (folder / f"{split}.en").write_text("".join(f"{pair[0]}\n" for pair in some))
        (folder / f"{split}.de").write_text("".join(f"{pair[1]}\n" for pair in some))
    plain = {"name": "made", "folder": str(folder), "source": "en", "target": "de", "links": "eflomal", **options}
    return parse(plain | {"tokenizer": {"model_type": "word", "vocab_size": 60}, "workers": 1}, DatasetConfig)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of the name and the command line of eflomal's."""
    path = tmp_path / "bin" / eflomal.PROGRAM
    path.parent.mkdir()
    path.write_text(STAND_IN.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    return path


def links(folder: Path) -> list[tuple[tuple[str, str], str]]:
    split = Corpus.open(folder).split("train")
    return [*zip(split.texts(range(len(split))), split.links(), strict=True)]


def test_links_of_words_come_into_the_corpus(program: Path, tmp_path: Path) -> None:
    with small_shards(100, 7):
        made = prepare(config(tmp_path), tmp_path / "corpora", progress=False)
    pairs = [("Go on, now.", "Weiter, jetzt."), ("one two", "eins zwei"), ("Go on, now.", "Los!")]
    assert links(made) == [*zip(pairs, ["0-0 1-1 2-2 3-3", "0-0 1-1", "0-0 1-1"], strict=True)] * 8
    split = Corpus.open(made).split("train")
    [first] = split.read([0]).links
    assert first.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_a_corpus_with_other_links_is_another(program: Path, tmp_path: Path) -> None:
    fingerprints = []
    for root in ("one", "two"):
        made = prepare(config(tmp_path), tmp_path / root, progress=False)
        fingerprints.append(json.loads((made / "meta.json").read_text())["fingerprint"])
        program.write_text(program.read_text().replace('("-f", 1)', '("-f", 2)'))
    assert fingerprints[0] != fingerprints[1] and {len(each) for each in fingerprints} == {64}


def test_a_program_that_fails_or_is_not_there_is_told(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program.write_text(f"#!{sys.executable}\nprint('first')\nraise SystemExit('no memory')\n")
    with pytest.raises(UserError, match=r"^eflomal-align failed \(no memory\): mend that, or give a FILE"):
        prepare(config(tmp_path), tmp_path / "corpora", progress=False)
    monkeypatch.setattr(eflomal, "PROGRAM", "eflomal-nowhere")
    with pytest.raises(UserError, match=r"eflomal-nowhere, which is not there: run pip install eflomal, or give"):
        prepare(config(tmp_path), tmp_path / "corpora", progress=False)
    assert not list((tmp_path / "corpora").rglob("*.arrow"))


def test_eflomal_itself_links_what_comes_together(tmp_path: Path) -> None:
    if shutil.which(eflomal.PROGRAM) is None:
        pytest.skip("needs the extra `eflomal`")
    made = prepare(config(tmp_path), tmp_path / "corpora", progress=False)
    found = dict(links(made))
    assert len(found) == 3 and all(found.values())
