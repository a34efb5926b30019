"""What is no checkpoint, or a hostile one, or none to go on from; and what the sentence names. Nothing is changed."""

import argparse
import io
import json
import math
import os
import pickle  # noqa: TID251 - to make hostile ones
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import mt
from mt import checkpoint
from mt.cli.arguments import load_translator
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import TokenizerConfig, Tokenizers, train
from mt.export.folder import export
from mt.training.saving import average_checkpoints
from mt.training.start import resume, run_of
from tests.refusals.sentences import content, require_refusal, sign


# What is done to a checkpoint, whether its sums are made to fit again, as somebody who means harm would, and what the
# sentence says. Of a file: None takes it away, text and bytes take its place, a mapping is merged into its JSON, and a
# function is given its bytes or its tensors.
def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    return bytes([content[0] ^ 1]) + content[1:]


class Bomb:
    """A pickle of this would make a folder when it is loaded."""

    def __reduce__(self) -> tuple:
        return os.mkdir, ("exploded",)


def by_torch() -> bytes:
    file = io.BytesIO()
    torch.save({"optimizer": Bomb()}, file)
    return file.getvalue()


CHANGED = r"is not the file that was saved \(its SHA-256 differs\): copy the checkpoint again"
NO_TENSORS = "is not a safetensors file"
UNFIT = "does not fit config.json"
OLD_OR_NEW = "is a checkpoint of format {}, and this version reads 2: load it with the version that wrote it"
DEEP = '{"format": 2, "update": 1' + "[" * 200_000
HUGE = 10**12
LOADED: list[tuple[str, Any, bool, str]] = [
    *((name, flipped, False, f"{name} {CHANGED}") for name in ("config.json", "tokenizer.model", "model.safetensors")),
    ("model.safetensors", half, False, CHANGED),
    *((name, None, False, f"{name} is missing: restore it") for name in ("config.json", "tokenizer.model")),
    ("model.safetensors", None, False, ""),
    ("config.json", half, True, "cannot be read as JSON"),
    ("model.safetensors", half, True, NO_TENSORS),
    ("tokenizer.model", half, True, "is not a SentencePiece model"),
    ("model.safetensors", pickle.dumps(Bomb()), True, NO_TENSORS),
    ("model.safetensors", by_torch(), True, NO_TENSORS),
    *(("meta.json", text, False, "copy the checkpoint again") for text in ("{", "null", DEEP)),
    ("meta.json", {"sha256": ["a"]}, False, r'meta.json: sha256=\["a"\] is not possible'),
    ("meta.json", {"sha256": {"config.json": 1}}, False, r"meta.json: sha256\.config\.json=1 is not possible"),
    ("meta.json", {"sha256": {}}, False, "meta.json lists no SHA-256 of config.json: copy the checkpoint again"),
    ("meta.json", {"update": -1}, False, "meta.json: update=-1 is not possible"),
    ("meta.json", {"ema_decay": 1.0}, False, "meta.json: ema_decay=1.0 is not possible"),
    ("meta.json", {"more": 1}, False, "meta.json: unknown option more"),
    *(
        ("meta.json", {"sha256+": {name: "0"}}, False, "is missing: restore it from where the checkpoint was copied")
        for name in ("../last/config.json", "a\0b", "x" * 5000, "")
    ),
    *(("meta.json", {"format": known}, False, re.escape(OLD_OR_NEW.format(known))) for known in (1, "2")),
    *(
        ("config.json", {f"{part}+": {"_target_": "os.mkdir", "path": "x"}}, True, f"unknown option {part}._target_")
        for part in ("encoder", "optimizer")
    ),
    ("config.json", {"encoder+": {"hidden_size": 30}}, True, UNFIT),
    ("config.json", {"decoder+": {"hidden_size": 10**6}}, True, UNFIT),
    ("config.json", {"attention+": {"name": "bahdanau"}}, True, UNFIT),
    ("config.json", {"embedding+": {"tie_output": False}}, True, UNFIT),
    # Before memory is asked for.
    ("config.json", {"decoder+": {"hidden_size": HUGE**3}}, True, ""),
    ("config.json", {"decoder+": {"num_layers": HUGE}}, True, ""),
    ("config.json", {"attention+": {"name": "bahdanau", "attention_dim": HUGE}}, True, ""),
]


def merged(plain: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """`plain` with some values in place of its own; one whose name ends with + is merged into what is there."""
    inside = {name[:-1]: plain[name[:-1]] | value for name, value in values.items() if name.endswith("+")}
    return plain | {name: value for name, value in values.items() if not name.endswith("+")} | inside


def damage(folder: Path, file: str, change: Any, signed: bool) -> None:
    path = folder / file
    if change is None:
        path.unlink()
    elif isinstance(change, dict):
        path.write_text(json.dumps(merged(json.loads(path.read_text()), change)))
    else:
        made = change(path.read_bytes()) if callable(change) else change
        path.write_bytes(made.encode() if isinstance(made, str) else made)
    if signed:
        sign(folder)


@pytest.mark.parametrize(("file", "change", "signed", "facts"), LOADED)
def test_a_checkpoint(file, change, signed, facts, last, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    damage(last, file, change, signed)
    before = content(tmp_path)
    require_refusal(lambda: checkpoint.load_model(last, "last"), re.escape(str(last)) if facts else "", facts)
    assert content(tmp_path) == before and not Path("exploded").exists()


def test_weights_that_are_missing(last: Path) -> None:
    tensors = load_file(last / "model.safetensors")
    lost = max(tensors, key=lambda name: tensors[name].numel())
    save_file({name: tensor for name, tensor in tensors.items() if name != lost}, last / "model.safetensors")
    sign(last)
    facts = f"it lacks {tensors[lost].numel()} of the model's numbers; copy the checkpoint again"
    require_refusal(lambda: checkpoint.load_model(last, "last"), facts)


@pytest.mark.parametrize("size", [30, 15])
def test_another_tokenizer(size: int, last: Path, texts: Path) -> None:
    text = (texts / "train.en").read_text() + "some other words are here and they make another vocabulary"
    other = train(TokenizerConfig(model_type="word", vocab_size=size), text.splitlines())
    Tokenizers(other, other).save(last)
    require_refusal(lambda: checkpoint.load_model(last, "last"), "tokenizer.model is not the file that was saved")
    sign(last)
    require_refusal(lambda: checkpoint.load_model(last, "last"), f"{UNFIT} and the tokenizer beside it")


def rounded(run: Path) -> list[Path]:
    """Two exports of a run in int8."""
    folders = [run.parent / "one", run.parent / "two"]
    for folder in folders:
        export(run, folder, dtype="int8")
    return folders


def without_best(remove: Callable[[Path], object]) -> Callable[[Path], Path]:
    return lambda run: [remove(run / "checkpoints/best"), checkpoint.locate(run, "best")][1]


PLACES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda run: mt.load(run / "absent"), "absent is not a run folder: .* give the folder that training printed"),
    (lambda run: mt.load("a" * 5000), "a is not a run folder: it holds no checkpoints/best; give the folder that t"),
    (lambda run: mt.load("a" * 5000, engine="onnx"), "a holds no graphs for engine=onnx: make them with mt export"),
    (lambda run: mt.load(run, checkpoint="beast"), "run has no checkpoint beast; it has: .*best, last, update-"),
    (
        without_best(lambda best: (best / "meta.json").unlink()),
        "checkpoints/best holds no file meta.json: copy the che",
    ),
    (without_best(lambda best: shutil.rmtree(best.resolve())), "checkpoints/best leads to no folder: copy the checkpo"),
    (without_best(Path.unlink), "has no checkpoint best; it has: average, last, update-"),
    (
        lambda run: run_of(Path(shutil.copytree(run / "checkpoints/last", run.parent / "alone"))),
        "alone is a checkpoint without its run: resume the run folder that training",
    ),
    (lambda run: average_checkpoints([run], run / "mean"), "there is nothing to average: give two checkpoints or more"),
    (lambda run: average_checkpoints([run, run], run / "mean"), "a checkpoint is given twice"),
    (lambda run: average_checkpoints(rounded(run), run / "mean"), "holds weights that were rounded to int8, and their"),
    (lambda run: average_checkpoints([run, run / "none"], run / "mean"), "none is not a run folder"),
    (lambda run: average_checkpoints([run, run / "checkpoints/last"], run / "checkpoints"), "exists, and a checkpoint"),
]


@pytest.mark.parametrize(("call", "facts"), PLACES, ids=[facts for _, facts in PLACES])
def test_a_place(call: Callable[[Path], Any], facts: str, run: Path) -> None:
    require_refusal(lambda: call(run), facts)
    assert not (run / "mean").exists()


def test_a_run_where_torch_is_absent(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mt.decoding.torch_network", None)  # its import fails, as without torch
    command = r"pip install 'attentive-mt\[train\]'"
    sentence = rf"^{run} needs torch, which is not installed: {command}, or give an export with engine=onnx$"
    require_refusal(lambda: mt.load(run), sentence)
    typed = argparse.Namespace(run=run, checkpoint=None, device="cpu", engine="torch")  # of `mt serve`, too
    require_refusal(lambda: load_translator(typed), sentence.replace("engine=onnx", "--engine onnx"))


# What a run goes on from. Of `training.safetensors`, a function is given its tensors, and the name of one of a matrix.
def moment(change: Callable[[Tensor], Tensor]) -> Callable[[dict[str, Tensor], str], dict[str, Tensor]]:
    return lambda tensors, name: tensors | {name: change(tensors[name])}


def steps(count: float) -> Callable[[dict[str, Tensor], str], dict[str, Tensor]]:
    return lambda tensors, name: tensors | {name.replace("exp_avg", "step"): torch.tensor(count)}


MOMENTS: list[tuple[Callable[[dict[str, Tensor], str], dict[str, Tensor]], str]] = [
    (moment(lambda tensor: torch.zeros(1)), r"does not fit its model: NAME has shape \[1\] of float32, expected "),
    (moment(lambda tensor: torch.tensor(0.0)), r"NAME has shape \[\]"),
    (moment(lambda tensor: tensor.T.contiguous()), "NAME has shape"),
    (moment(Tensor.double), "NAME has shape .* of float64, expected shape .* of float32"),
    (lambda all, name: {key: all[key] for key in all if key != name}, "lacks a moment of STEM, and has others"),
    (lambda all, _: {key: all[key] for key in all if key[-3:] != "_sq"}, "lacks a moment of .*, and has others"),
    (lambda all, _: all | {"other.exp_avg": torch.zeros(3)}, "other.exp_avg has .*, expected no such tensor; copy"),
    *((steps(count), r"STEM.step is .* after \d+ updates: copy the") for count in (-1.0, 1e9, math.nan)),
]
UNORDERED = r"is damaged \(updates out of order\)"
UNSUMMED = r"is damaged \(validations that do not add up\)"
NO_BEST = r"is damaged \(a best validation without bleu or loss\)"
OTHER_FORMAT = "is a run of format .*, and this version goes on with 2: resume it"
NO_STATE = "holds no state of random generators: copy the checkpoint again"
# A sentence of its own, or else: the option and its value are not possible.
PROGRESS: list[tuple[str, Any, str]] = [
    *(("update", value, "") for value in ("7", -1)),
    ("epoch", 0, ""),
    ("position", -3, ""),
    ("position", 10**6, UNORDERED),
    *(("seconds", value, "") for value in ("long", math.nan)),
    ("best", {"bleu": "x", "loss": 1.0}, 'progress.best.bleu="x" is not possible'),
    ("best", {}, NO_BEST),
    ("best", None, UNSUMMED),
    ("validations", [], UNSUMMED),
    ("validations", [3, 2], UNORDERED),
    ("validation_due", 1, ""),
    ("loss_scale", {"factor": 0.0}, r"progress\.loss_scale\.factor=0.0 is not possible"),
    ("loss_scale", {"left_out": -1}, r"progress\.loss_scale\.left_out=-1 is not possible"),
    ("more", 1, ""),
]
RESUMED: list[tuple[str, Any, str]] = [
    ("training.safetensors", None, "is missing: restore it from where"),
    *(
        ("training.safetensors", content, NO_TENSORS)
        for content in (pickle.dumps(Bomb()), by_torch(), lambda content: content[:-5], b"")
    ),
    *(
        ("progress.json", {"progress+": {name: value}}, facts or rf"progress\.{name}=.* is not possible")
        for name, value, facts in PROGRESS
    ),
    *(("progress.json", text, "") for text in ("", "{}", '{"a": ' + "[" * 200_000)),
    *(("progress.json", {"random": state}, NO_STATE) for state in ("", "xy", "ff" * 5056)),
    (
        "progress.json",
        {"progress+": {"update": 10**6, "epoch": 9**6}},
        r"is damaged \(update 1,000,000, and .* \d+\): copy",
    ),
    ("meta.json", {"update": 10**6}, r" has 1,000,000\): copy the checkpoint again"),
    ("../../run.json", None, "run.json is missing: copy the whole run folder again"),
    *(("../../run.json", f'{{"format": {known}}}', OTHER_FORMAT) for known in ("3", '"2"', "null")),
    ("../../run.json", "[]", "run.json is no JSON object: copy the whole run folder again"),
]


@pytest.fixture
def require_resume_refused(configure, corpus, run, tmp_path, monkeypatch):
    """require_resume_refused(facts, ...): going on with the run is, and leaves it as it is."""
    monkeypatch.chdir(tmp_path)

    def require(*facts: str) -> None:
        before = content(run)
        require_refusal(lambda: resume(configure(), corpus, run), *facts)
        assert content(run) == before and not Path("exploded").exists()

    return require


@pytest.mark.parametrize(("file", "change", "facts"), RESUMED)
def test_a_run_to_go_on_with(file, change, facts, last, require_resume_refused):
    damage(last, file, change, signed=change is not None and "run.json" not in file)
    named = facts.startswith(("run.json", "is a run"))
    require_resume_refused("" if named else re.escape(file), facts)


@pytest.mark.parametrize(("change", "facts"), MOMENTS, ids=[facts for _, facts in MOMENTS])
def test_moments_of_an_optimizer(change, facts, last, require_resume_refused):
    tensors = load_file(last / "training.safetensors")
    names = (name for name, tensor in tensors.items() if name.endswith(".exp_avg") and tensor.dim() == 2)
    name = next(name for name in names if len(set(tensors[name].shape)) == 2)
    save_file(change(tensors, name), last / "training.safetensors")
    sign(last)
    facts = facts.replace("NAME", re.escape(name)).replace("STEM", re.escape(name.removesuffix(".exp_avg")))
    require_resume_refused(re.escape("training.safetensors"), facts)


def test_another_corpus(trained: Path, configure: Callable[..., Config], corpus: Corpus) -> None:
    other = Corpus(corpus.split, corpus.tokenizers, corpus.meta | {"fingerprint": "other"})
    facts = "was trained on another corpus: .* restore them, or start a new run"
    require_refusal(lambda: resume(configure(), other, trained), facts)


def test_a_run_of_the_format_before(run: Path, require_resume_refused: Callable[..., None]) -> None:
    """As it was: no run.json, checkpoints of format 1 with a training.pt."""
    (run / "run.json").unlink()
    for meta in run.glob("checkpoints/*/meta.json"):
        meta.write_text(json.dumps({"format": 1, "update": 144, "sha256": {}}))
        (meta.parent / "training.safetensors").unlink(missing_ok=True)
    require_resume_refused(OLD_OR_NEW.format(1))


@pytest.mark.parametrize("name", ["checkpoints", "tensorboard", "metrics.jsonl", ".lock"])
def test_links(name: str, run: Path, configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> None:
    """Nothing is written through them; a file that is replaced whole takes the place of one."""
    outside = tmp_path / "outside"
    if (run / name).exists():
        (run / name).rename(outside)
    else:
        outside.write_text("mine")
    (run / name).symlink_to(outside)
    before = content(outside), outside.is_file() and outside.read_bytes()
    if name == "metrics.jsonl":
        resume(configure(), corpus, run).close()
        assert not (run / name).is_symlink()
    else:
        sentence = f"{name} is a link to .*, and nothing is written through links: remove it"
        require_refusal(lambda: resume(configure(), corpus, run), sentence)
    assert before == (content(outside), outside.is_file() and outside.read_bytes())
