"""A run that starts from another: what is taken, what is new, and what is refused before anything is made."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import mt
from mt.cli import train
from mt.data.corpus import Corpus
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.errors import UserError
from mt.training.initialisation import inherited_tokenizers, load_earlier
from mt.training.run import Run
from mt.training.start import begin
from tests.training.runs import finished, logged


def test_the_first_validation_is_that_of_the_run(trained: Path, start: Callable[..., Run], capsys) -> None:
    run = finished(
        start(
            {
                "init_from": str(trained),
                "optimizer": {"name": "sgd", "lr": 0.1},
                "embedding": {"embedding_dim": 32, "dropout": 0.4},
                "training": {"validate_first": True, "max_updates": 1, "validate_every": 1, "plots": 0},
                "seed": 5,
            }
        )
    )
    first, *_ = logged(run.folder, "dev")
    best = load_earlier(str(trained))
    progress = json.loads((trained / "checkpoints/best/progress.json").read_text())["progress"]["best"]
    assert first["update"] == 0
    assert all(first[name] == progress[name] for name in ("loss", "bleu", "chrf"))
    out = capsys.readouterr().out
    assert f"starts from {trained} (update {best.update} on tiny)" in out
    assert re.search(r"  encoder +[\d,]+ +0 +0\n", out)


def test_parts_of_another_kind_start_anew(trained: Path, start: Callable[..., Run], capsys) -> None:
    run = start({"init_from": str(trained), "attention": {"name": "bahdanau"}, "ctc_weight": 0.1})
    run.close()
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert rows["ctc"][0] == "0" and rows["ctc"][1] != "0"
    assert rows["decoder.attention"][1] != "0" and rows["decoder.attention"][2] != "0"
    assert rows["encoder"][1:] == ["0", "0"] and rows["decoder.recurrence"][1:] == ["0", "0"]
    source = load_earlier(str(trained)).model.state_dict()
    encoder = run.model.encoder.state_dict(prefix="encoder.")
    assert all(torch.equal(tensor, source[name]) for name, tensor in encoder.items())


def test_a_corpus_cut_by_others_is_refused(trained, configure, corpus, tmp_path):
    others = Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), [("ab", "cd")] * 3)
    other = Corpus(corpus.split, others, corpus.meta)
    with pytest.raises(UserError, match="the corpus was cut by other tokenizers than those of init_from="):
        begin(configure({"init_from": str(trained)}), other, tmp_path / "run")


@pytest.fixture
def run_train(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, texts: Path) -> Callable[..., Path]:
    """`train.py` in this process, from a trained run, on other data: the same words and two more."""
    for name in ("train", "dev", "test"):
        for side, more in (("en", "wolves 狼"), ("de", "Wölfe オオカミ")):
            lines = (texts / f"{name}.{side}").read_text(encoding="utf-8").splitlines()[:40]
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line} {more}\n" for line in lines), encoding="utf-8")

    def called(*arguments: str) -> Path:
        monkeypatch.chdir(tmp_path)
        words = [*arguments]
        if not arguments[0].startswith("resume="):
            words += ["dataset=files", f"dataset.folder={tmp_path}", "dataset.source=en", "dataset.target=de"]
            words += ["dataset.workers=1", "training.plots=0", "training.average_checkpoints=1"]
            words += ["device=cpu", "search=greedy", "folder=new"]
        monkeypatch.setattr(sys, "argv", ["train.py", *words])
        monkeypatch.setattr(train, "leave_at_once", lambda rank: None)
        monkeypatch.setenv("HYDRA_FULL_ERROR", "")
        train.command(words)
        return tmp_path / "new"

    return called


def test_other_data_with_the_same_pieces(run_train, trained, texts, tmp_path):
    moved = Path(shutil.copytree(trained, tmp_path / "moved", symlinks=True))
    few = ["training.max_updates=2", "optimizer.warmup=0"]
    folder = run_train(f"init_from={moved}", "training.validate_first=true", "optimizer.lr=1e-30", *few)
    old = mt.load(trained, device="cpu")
    new = mt.load(folder, device="cpu")
    assert new.config.encoder == old.config.encoder and new.config.attention == old.config.attention
    assert new.tokenizers.digest() == old.tokenizers.digest()
    # At a rate of nothing the translations are what they were.
    sources = (texts / "test.en").read_text().splitlines()
    for one, other in zip(old.translate(sources), new.translate(sources, old.config.search), strict=True):
        assert (one.text, one.ids) == (other.text, other.ids) and abs(one.score - other.score) < 1e-6
    # It goes on, and is evaluated, where the run that it started from is gone.
    shutil.rmtree(moved)
    assert inherited_tokenizers(folder) is not None
    corpora = set((tmp_path / "outputs/corpora").iterdir())
    # Nor is it prepared again where the corpora are elsewhere.
    elsewhere = (tmp_path / "outputs/corpora").rename(tmp_path / "elsewhere")
    run_train(f"resume={folder}", "training.max_updates=3", f"corpora={elsewhere}")
    assert {path.name for path in elsewhere.iterdir()} == {path.name for path in corpora}
    assert not (tmp_path / "outputs/corpora").exists()
    assert json.loads((folder / "results.json").read_text())["updates"] == 3
