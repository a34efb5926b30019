"""Models to start from: exported, checked against their runs, and described."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from mt import load
from scripts.models import MODELS, build, main, require_same_texts
from tests.refusals.sentences import require_refusal


@pytest.fixture
def out(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a model, whose training takes a run that is there already."""

    def train(command: list[str], check: bool) -> subprocess.CompletedProcess:
        assert command[2:] == ["mt", "train", "dataset=phrasebook", "seed=2", f"folder={tmp_path / 'out' / 'run'}"]
        shutil.copytree(trained, tmp_path / "out" / "run")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", train)
    return tmp_path / "out"


def test_a_model_is_packed_with_its_card(out: Path, trained: Path, tmp_path: Path):
    archive = build("phrasebook", out, None, ["seed=2"])
    shutil.unpack_archive(archive, tmp_path / "elsewhere", filter="data")
    folder = tmp_path / "elsewhere" / "phrasebook"
    assert load(folder).translate("two cats").text == load(trained).translate("two cats").text
    card = (folder / "README.md").read_text(encoding="utf-8")
    results = json.loads((trained / "results.json").read_text())
    assert f"- **bleu of test.** {results['bleu']['score']:.1f} (`{results['bleu']['signature']}`)\n" in card
    assert card.startswith("---\nlicense: mit\n") and "`mt train dataset=phrasebook seed=2`" in card
    require_refusal(lambda: build("phrasebook", out, None, []), "out is there already: name a new folder, or remove it")


def test_an_export_that_translates_otherwise_is_refused(out: Path):
    build("phrasebook", out, None, ["seed=2"])
    records = out / "run" / "alignments" / "test.jsonl"
    records.write_text(records.read_text().replace('"text":"', '"text":"not '))
    sentence = r"phrasebook translates 0 of \d+ texts as .*run did"
    require_refusal(lambda: require_same_texts(out / "run", out / "phrasebook"), sentence)


def test_a_training_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setattr(subprocess, "run", lambda command, check: subprocess.CompletedProcess(command, 2))
    with pytest.raises(SystemExit, match="2"):
        main(["tatoeba-en-de", str(tmp_path / "out"), "--data", "DIR"])
    assert capsys.readouterr().err == "error: the training ended with status 2: its last line says why\n"
    assert {model.terms for model in MODELS.values()} == {"mit", "cc-by-2.0"}
