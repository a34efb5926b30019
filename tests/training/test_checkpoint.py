import hashlib
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import mt
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import TokenizerConfig, Tokenizers, train
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training import checkpoint
from mt.training.run import resume


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run", symlinks=True))


@pytest.fixture
def last(run: Path) -> Path:
    return (run / "checkpoints/last").resolve()


def sign(folder: Path) -> None:
    """Makes the sums fit again, as somebody who means harm would."""
    meta = json.loads((folder / "meta.json").read_text())
    meta["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in meta["sha256"]}
    (folder / "meta.json").write_text(json.dumps(meta))


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        checkpoint.load_model(folder, "last")
    assert str(folder) in str(caught.value)
    return str(caught.value)


class Bomb:
    """A pickle of this would make a folder when it is loaded."""

    def __reduce__(self) -> tuple:
        return os.mkdir, ("exploded",)


MODELS = {
    "tied": {"embedding": {"size": 32, "tie_output": True}},
    "free": {"embedding": {"size": 32, "tie_output": False}},
    "shared": {"embedding": {"size": 32, "share": True}},
    "mocha": {"embedding": {"size": 32}, "attention": {"name": "mocha"}},
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


# What is no checkpoint, or a hostile one


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    for name in ("empty", "absent"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(UserError, match=r"is not a run folder: .* give the folder that training printed"):
            mt.load(tmp_path / name)


def test_a_missing_checkpoint_names_those_present(run: Path) -> None:
    with pytest.raises(UserError, match=r"run has no checkpoint beast; it has: .*best, last, update-"):
        mt.load(run, checkpoint="beast")


def test_a_checkpoint_folder_itself_can_be_loaded(last: Path) -> None:
    assert mt.load(last, device="cpu").translate(["two cats see houses"])[0].text


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
@pytest.mark.parametrize("damage", ["truncated", "missing", "changed"])
def test_damaged_files(name: str, damage: str, last: Path) -> None:
    path = last / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage == "truncated" else bytes([content[0] ^ 1]) + content[1:])
    if damage == "missing":
        path.unlink()
    message = refusal(last)
    if damage == "missing":
        assert name == "model.safetensors" or f"{name} is missing: restore it" in message
    else:
        assert f"{name} is not the file that was saved (its SHA-256 differs): copy the checkpoint again" in message


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model", "training.pt"])
def test_truncated_files_with_sums_that_fit(name: str, last: Path) -> None:
    path = last / name
    path.write_bytes(path.read_bytes()[:100])
    sign(last)
    if name == "training.pt":
        with pytest.raises(UserError, match=r"training\.pt is not a training state of plain tensors"):
            checkpoint.load_training(last)
        return
    expected = {
        "config.json": "cannot be read as JSON",
        "model.safetensors": "is not a safetensors file",
        "tokenizer.model": "is not a SentencePiece model",
    }
    assert expected[name] in refusal(last)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 1, "sha256": ["a"]}'])
def test_broken_meta(text: str, last: Path) -> None:
    (last / "meta.json").write_text(text)
    assert "copy the checkpoint again" in refusal(last)


def test_another_format(last: Path) -> None:
    meta = json.loads((last / "meta.json").read_text())
    (last / "meta.json").write_text(json.dumps(meta | {"format": 99}))
    assert "is a checkpoint of format 99, and this version reads 1: load it with the version that wrote" in refusal(last)


def test_a_pickle_in_place_of_the_weights_is_not_run(last: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (last / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    assert "is not the file that was saved" in refusal(last)
    sign(last)
    assert "is not a safetensors file" in refusal(last)
    assert not Path("exploded").exists()


@pytest.mark.parametrize("kind", ["pickle", "torch"])
def test_a_pickle_in_the_training_state_is_not_run(
    kind: str, last: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = io.BytesIO()
    if kind == "torch":
        torch.save({"optimizer": Bomb()}, content)
    else:
        content.write(pickle.dumps(Bomb()))
    (last / "training.pt").write_bytes(content.getvalue())
    sign(last)
    with pytest.raises(UserError, match="it is damaged or hostile; resume from another checkpoint"):
        checkpoint.load_training(last)
    assert not Path("exploded").exists()


def test_a_missing_training_state(last: Path) -> None:
    (last / "training.pt").unlink()
    with pytest.raises(UserError, match=r"training\.pt is missing, so training cannot go on"):
        checkpoint.load_training(last)


@pytest.mark.parametrize("state", [{}, {"optimizer": 3}, {"optimizer": {}, "random": 1, "progress": {"update": 1}}])
def test_a_training_state_of_something_else(
    state: dict, run: Path, last: Path, configure: Callable[..., Config], corpus: Corpus
) -> None:
    torch.save(state, last / "training.pt")
    sign(last)
    with pytest.raises(UserError, match=r"training\.pt does not belong to its model: copy the checkpoint again"):
        resume(configure(), corpus, run)


def edit_config(folder: Path, part: str, values: dict) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {part: {**config[part], **values}}))
    sign(folder)


@pytest.mark.parametrize("part", ["encoder", "attention", "optimizer", "dataset"])
def test_a_target_to_instantiate_is_an_unknown_option(part: str, last: Path) -> None:
    edit_config(last, part, {"_target_": "os.mkdir", "path": "exploded"})
    assert f"config.json: unknown option {part}._target_" in refusal(last)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("encoder", {"hidden": 17}),
        ("encoder", {"layers": 2}),
        ("decoder", {"hidden": 10**6}),
        ("attention", {"energy": {"name": "concat"}}),
        ("embedding", {"tie_output": False}),
        ("embedding", {"share": True}),
    ],
)
def test_weights_of_another_shape(part: str, values: dict, last: Path) -> None:
    edit_config(last, part, values)
    assert "does not fit config.json" in refusal(last)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("encoder", {"hidden": 10**12}),
        ("decoder", {"hidden": 10**30}),
        ("encoder", {"layers": 10**9}),
        ("decoder", {"layers": 10**9}),
        ("attention", {"energy": {"name": "concat", "size": 10**18}}),
    ],
)
def test_gigantic_models_are_refused_before_they_are_made(part: str, values: dict, last: Path) -> None:
    edit_config(last, part, values)
    assert refusal(last)


@pytest.mark.parametrize("size", [30, 15])
def test_another_tokenizer(size: int, last: Path, texts: Path) -> None:
    text = (texts / "train.en").read_text() + "some other words are here and they make another vocabulary"
    other = train(TokenizerConfig(kind="word", size=size), text.splitlines())
    Tokenizers(other, other).save(last)
    assert "tokenizer.model is not the file that was saved" in refusal(last)
    sign(last)
    assert "does not fit config.json and the tokenizer beside it" in refusal(last)
