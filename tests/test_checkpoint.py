import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from mt import checkpoint
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import TokenizerConfig, Tokenizers, train
from mt.models.seq2seq import Seq2Seq
from mt.storage import point_link
from tests.components import doubles_by_default
from tests.refusals.sentences import require_refusal, sign

GATED = {"name": "bahdanau", "hidden_size": 8, "readout_size": 32, "gate": True}
MODELS = {
    "tied": {"embedding": {"embedding_dim": 32, "tie_output": True}},
    "free": {"embedding": {"embedding_dim": 32, "tie_output": False}},
    "shared": {"embedding": {"embedding_dim": 32, "share": True}},
    "mocha": {"embedding": {"embedding_dim": 32}, "attention": {"name": "mocha"}},
    "gated": {"embedding": {"embedding_dim": 32}, "decoder": GATED, "doubly_stochastic_weight": 1.0},
}


ABOUT = checkpoint.About(update=7, metric="bleu", best={"bleu": 0.1}, averaged=None, corpus="x")


def test_a_run_that_numbered_unknown_words_names_the_release_that_reads_it(configure, tmp_path):
    words = train(TokenizerConfig(model_type="word", vocab_size=40), ["the cat sees a dog .", "a dog , a cat"])
    config = configure({"decoder": {"name": "luong", "copy": True, "readout_size": 32}})
    model = Seq2Seq(config, len(words), len(words))
    checkpoint.save(tmp_path / "run", model, Tokenizers(words, words), config, ABOUT, {}, None)
    checkpoint.load_model(tmp_path / "run", "last")
    path = tmp_path / "run" / "meta.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps(meta | {"versions": meta["versions"] | {"mt": "0.3.0"}}))
    sentence = r"numbered unknown words of this run is gone, and mt 0\.3\.0 is the last"
    require_refusal(lambda: checkpoint.load_model(tmp_path / "run", "last"), sentence)


def shared(model: Seq2Seq) -> list[list[str]]:
    """The names that tensors have which have several."""
    names: dict[int, list[str]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        names.setdefault(id(tensor), []).append(name)
    return [group for group in names.values() if len(group) > 1]


def test_a_run_is_loaded_in_float32_whatever_the_default_type(trained: Path) -> None:
    with doubles_by_default():
        model, _, _ = checkpoint.load_model(trained, "best")
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_is_exact(name: str, configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> None:
    config = configure(MODELS[name])
    sizes = [len(side) for side in corpus.tokenizers]
    torch.manual_seed(3)
    model = Seq2Seq(config, *sizes)
    training = {"a.exp_avg": torch.randn(3, 2), "a.step": torch.tensor(7.0)}
    progress = {"update": 7, "best": 0.1, "validations": [1]}
    folder = tmp_path / "checkpoint"
    checkpoint.save(folder, model, corpus.tokenizers, config, ABOUT, progress, training)

    loaded, tokenizers, same = checkpoint.load_model(folder, "last")
    assert same == config
    assert [side.model for side in tokenizers] == [side.model for side in corpus.tokenizers]
    expected = model.state_dict()
    actual = loaded.state_dict()
    assert expected.keys() == actual.keys()
    assert all(torch.equal(expected[key], actual[key]) for key in expected)
    assert shared(loaded) == shared(model)
    assert bool(shared(model)) == (name != "free")
    state = checkpoint.load_training(folder)
    assert state.keys() == training.keys() and all(torch.equal(state[name], training[name]) for name in state)
    assert checkpoint.load_progress(folder) == progress
    meta = checkpoint.load_meta(folder)
    assert meta.update == 7 and meta.format == checkpoint.FORMAT and "torch" in meta.versions
    assert set(meta.sha256) == {path.name for path in folder.iterdir()} - {"meta.json"}
    # Equal models have equal files, also where a tensor has three names.
    for number in range(6):
        checkpoint.save(tmp_path / str(number), loaded, tokenizers, config, ABOUT, progress, training)
        assert checkpoint.load_meta(tmp_path / str(number)) == meta


@pytest.mark.parametrize(("group", "option", "value"), [("search", "cuda_graphs", False), ("dataset", "weight", 3.0)])
def test_an_option_that_changed_nothing_and_is_refused_now_is_read(group, option, value, last, tmp_path):
    folder = tmp_path / "checkpoint"
    shutil.copytree(last, folder)
    plain = json.loads((folder / "config.json").read_text())
    plain[group][option] = value
    require_refusal(lambda: parse(plain, Config), option)
    (folder / "config.json").write_text(json.dumps(plain))
    sign(folder)
    assert checkpoint.load_model(folder, "best")[2] == checkpoint.load_config(last)


@pytest.mark.parametrize("kind", ["pipe", "device", "cut", "other"])
def test_an_average_reads_whole_checkpoints_of_one_model(kind: str, last: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(last, tmp_path / "other"))
    model = other / checkpoint.MODEL
    tensors = load_file(last / checkpoint.MODEL)
    content = model.read_bytes()
    model.unlink()
    if kind == "pipe":
        os.mkfifo(model)
    elif kind == "device":
        model.symlink_to("/dev/zero")
    elif kind == "cut":
        model.write_bytes(content[:99])
        sign(other)
    else:
        save_file({name: tensor.repeat(2) if tensor.dim() == 1 else tensor for name, tensor in tensors.items()}, model)
        sign(other)
    sentence = f"^{other}/{checkpoint.MODEL} (is|has) .*: (copy|restore|average)"
    require_refusal(lambda: checkpoint.average([last, other]), sentence)


# Never half-written


@pytest.mark.parametrize("broken", ["fsync", "rename", "_save_model", "save_file", "write_json"])
def test_an_error_while_saving_leaves_the_checkpoint_before(broken, run, last, monkeypatch):
    model, tokenizers, config = checkpoint.load_model(last, "last")
    before = checkpoint.load_meta(run / "checkpoints/last")
    names = sorted(path.name for path in last.parent.iterdir())

    def fail(*arguments: object) -> None:
        texts = {
            "_save_model": 'IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })',
            "save_file": "Error while serializing: I/O error: No space left on device (os error 28)",
        }
        if broken in texts:
            raise SafetensorError(texts[broken])
        raise OSError(errno.ENOSPC, "No space left on device")

    new = run / "checkpoints/update-9999999"
    with monkeypatch.context() as patch:
        patch.setattr({"fsync": os, "rename": Path}.get(broken, checkpoint), broken, fail)
        with pytest.raises(OSError) as caught:
            checkpoint.save(new, model, tokenizers, config, ABOUT, {}, {})
        assert caught.value.errno == errno.ENOSPC
    assert not new.exists()
    assert checkpoint.load_meta(run / "checkpoints/last") == before
    checkpoint.load_model(run, "last")
    # And the next attempt is not in the way of what this one left.
    checkpoint.save(new, model, tokenizers, config, ABOUT, {}, {})
    point_link(run / "checkpoints/last", new)
    assert checkpoint.load_meta(run / "checkpoints/last").update == 7
    assert sorted(path.name for path in last.parent.iterdir()) == sorted([*names, new.name])


def test_the_last_checkpoint_is_the_newest_where_a_kill_left_no_link(run: Path) -> None:
    folder = run / "checkpoints"
    update = checkpoint.load_meta(folder / "last").update
    (folder / "last").unlink()
    assert checkpoint.locate(run, "last").name == f"update-{update:07d}"
    # Killed while it was replaced.
    (folder / f"update-{update:07d}").rename(folder / f".update-{update:07d}.old")
    assert checkpoint.load_config(run, "last") and checkpoint.load_meta(checkpoint.locate(run, "last")).update == update


def test_a_link_that_a_copy_turned_into_a_folder_can_move_again(trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "copy", symlinks=False))
    link = run / "checkpoints/last"
    assert link.is_dir() and not link.is_symlink()
    target = next((run / "checkpoints").glob("update-*"))
    point_link(link, target)
    assert link.is_symlink() and link.resolve() == target.resolve()
    checkpoint.load_model(run, "last")
