import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.models.seq2seq import Seq2Seq

MODELS = {
    "tied": {"embedding": {"embedding_dim": 32, "tie_output": True}},
    "free": {"embedding": {"embedding_dim": 32, "tie_output": False}},
    "shared": {"embedding": {"embedding_dim": 32, "share": True}},
    "mocha": {"embedding": {"embedding_dim": 32}, "attention": {"name": "mocha"}},
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_is_exact(name: str, configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> None:
    config, sizes = configure(MODELS[name]), [len(side) for side in corpus.tokenizers]
    torch.manual_seed(3)
    model = Seq2Seq(config, *sizes)
    training = {"random": torch.get_rng_state(), "progress": {"update": 7, "best": 0.1, "validations": [1]}}
    folder = tmp_path / "checkpoint"
    checkpoint.save(folder, model, corpus.tokenizers, config, {"update": 7}, training)

    loaded, tokenizers, same = checkpoint.load_model(folder, "last")
    assert same == config
    assert [side.model for side in tokenizers] == [side.model for side in corpus.tokenizers]
    expected, found = model.state_dict(), loaded.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)
    tied, shared = config.embedding.tie_output, config.embedding.share
    assert (loaded.decoder.output.weight is loaded.target_embedding.table.weight) == tied
    assert (loaded.source_embedding is loaded.target_embedding) == shared
    state = checkpoint.load_training(folder)
    assert torch.equal(state["random"], training["random"]) and state["progress"] == training["progress"]
    meta = checkpoint.load_meta(folder)
    assert meta["update"] == 7 and meta["format"] == checkpoint.FORMAT and "torch" in meta["versions"]


def test_a_reader_of_the_group_can_read_every_file(last: Path) -> None:
    modes = {path.name: path.stat().st_mode for path in last.iterdir()}
    assert set(modes.values()) == {modes["config.json"]}


def test_average_is_the_mean(run: Path, last: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(last, tmp_path / "other"))
    one = load_file(last / checkpoint.MODEL)
    save_file({name: tensor + 2 for name, tensor in one.items()}, other / checkpoint.MODEL)
    mean = checkpoint.average([last, other, other, last])
    assert mean.keys() == one.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(mean[name], tensor + 1)


def test_filling_a_model_reaches_its_shared_tables(last: Path) -> None:
    model, _, _ = checkpoint.load_model(last, "last")
    checkpoint.fill(model, {name: tensor + 1 for name, tensor in load_file(last / checkpoint.MODEL).items()})
    expected, _, _ = checkpoint.load_model(last, "last")
    for name, tensor in expected.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor + 1), name


# Never half-written


@pytest.mark.parametrize("broken", ["fsync", "rename", "safetensors", "torch.save"])
def test_a_crash_while_saving_leaves_the_checkpoint_before(
    broken: str, run: Path, last: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizers, config = checkpoint.load_model(last, "last")
    before = checkpoint.load_meta(run / "checkpoints/last")

    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("the power went") if broken in ("safetensors", "torch.save") else OSError("no space")

    where = {
        "fsync": (os, "fsync"),
        "rename": (Path, "rename"),
        "safetensors": (checkpoint, "save_tensors"),
        "torch.save": (torch, "save"),
    }
    new = run / "checkpoints/update-9999999"
    with monkeypatch.context() as patch:
        patch.setattr(*where[broken], fail)
        with pytest.raises(OSError):
            checkpoint.save(new, model, tokenizers, config, {"update": 9999999}, {})
    assert not new.exists()
    assert checkpoint.load_meta(run / "checkpoints/last") == before
    checkpoint.load_model(run, "last")
    # And the next attempt is not in the way of what this one left.
    checkpoint.save(new, model, tokenizers, config, {"update": 9999999}, {})
    checkpoint.point(run / "checkpoints/last", new)
    assert checkpoint.load_meta(run / "checkpoints/last")["update"] == 9999999


def test_links_move_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    link = tmp_path / "last"
    checkpoint.point(link, tmp_path / "a")
    assert os.readlink(link) == "a"
    replaced = []

    def replace(source: Path, target: Path) -> None:
        assert os.readlink(target) == "a" and os.readlink(source) == "b"
        replaced.append(target)
        os.replace(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    checkpoint.point(link, tmp_path / "b")
    assert os.readlink(link) == "b" and replaced == [link]


def test_a_link_that_a_copy_turned_into_a_folder_can_move_again(trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "copy", symlinks=False))
    link = run / "checkpoints/last"
    assert link.is_dir() and not link.is_symlink()
    target = next((run / "checkpoints").glob("update-*"))
    checkpoint.point(link, target)
    assert link.is_symlink() and link.resolve() == target.resolve()
    checkpoint.load_model(run, "last")


def test_removal_is_a_rename_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "update-1"
    folder.mkdir()
    (folder / "file").touch()

    def die(path: Path, **named: object) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.remove(folder)
    assert not folder.exists()
    folder.mkdir()
    checkpoint.remove(folder)
    checkpoint.remove(folder)
    assert list(tmp_path.iterdir()) == []
