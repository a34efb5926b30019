"""What earlier versions wrote is read: `old/` has what each of them left of a tiny run (docs/commands.md says so)."""

import shutil
from pathlib import Path

import pytest
import torch

import mt
from mt.checkpoint import load_config, load_model
from mt.common.options import parse, without_idle
from mt.config import Config
from mt.data.corpus import Corpus

VERSIONS = sorted((Path(__file__).parent / "old").iterdir())


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("old", VERSIONS, ids=lambda path: path.name)
def test_a_checkpoint_decodes_as_it_did(old: Path, tmp_path: Path) -> None:
    run = shutil.copytree(old / "run", tmp_path / "run")
    translations = mt.load(run, device="cpu").translate(lines(old / "sources.txt"))
    assert [translation.text for translation in translations] == lines(old / "hypotheses.txt")
    model, _, config = load_model(run / "checkpoints" / "best", "best")
    assert config == load_config(run, "best") and all(torch.isfinite(weights).all() for weights in model.parameters())


@pytest.mark.parametrize("old", VERSIONS, ids=lambda path: path.name)
def test_a_corpus_has_its_text(old: Path) -> None:
    corpus = Corpus.open(old / "corpus")
    split = corpus.split("test")
    assert split.column("source") == lines(old / "sources.txt")
    assert split.column("references") == [[line] for line in lines(old / "references.txt")]
    decoded = [corpus.tokenizers.target.decode(target.tolist()) for _, target in split.ids(range(len(split)))]
    assert decoded == lines(old / "references.txt") and len(corpus.split("train")) == 30


@pytest.mark.parametrize(
    ("part", "old", "new"), [("attention", "concat", "bahdanau"), ("encoder", "embedding", "none")], ids=str
)
def test_choices_that_had_two_names_are_read(part: str, old: str, new: str) -> None:
    plain = parse({part: {"name": new}}, Config).model_dump(mode="json")
    read = parse(without_idle(plain | {part: plain[part] | {"name": old}}), Config)
    assert read == parse(plain, Config)
