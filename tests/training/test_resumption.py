"""Optimizer, random state and progress of a checkpoint: those that fit are restored anywhere, others are refused."""

import io
import json
import os
import pickle  # noqa: TID251 - to make a hostile one
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from mt import checkpoint
from mt.common.options import Options, parse
from mt.config import Config
from mt.config.optimizer import OptimizerConfig
from mt.data.corpus import Corpus
from mt.errors import UserError
from mt.training import saving
from mt.training.loop import Progress
from mt.training.optimizer import build_optimizer, moments, restore_moments
from mt.training.start import resume

OPTIMIZERS = ["adam", "adamw", "sgd", "adadelta", "adagrad"]


class Chosen(Options):
    optimizer: OptimizerConfig


@pytest.fixture
def refused(configure: Callable[..., Config], corpus: Corpus, run: Path, last: Path) -> Callable[[], str]:
    """The sentence that refuses the run, whose sums are made to fit as somebody who means harm would."""

    def sentence() -> str:
        meta = json.loads((last / "meta.json").read_text())
        meta["sha256"] = {name: checkpoint.sha256(last / name) for name in meta["sha256"]}
        (last / "meta.json").write_text(json.dumps(meta))
        metrics = (run / "metrics.jsonl").read_bytes()
        with pytest.raises(UserError) as caught:
            resume(configure(), corpus, run)
        assert metrics == (run / "metrics.jsonl").read_bytes()
        assert not (run / ".lock").exists()
        return str(caught.value)

    return sentence


def model() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(1, 1))


def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """One update, in which the last layer has no part."""
    optimizer.zero_grad()
    model[:2](torch.randn(5, 3)).square().sum().backward()
    optimizer.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on_to_the_bit(name: str, tmp_path: Path) -> None:
    config = parse({"optimizer": {"name": name}}, Chosen).optimizer
    straight = model()
    optimizer = build_optimizer(config, straight)
    for _ in range(3):
        step(straight, optimizer)
    save_file(moments(straight, optimizer), tmp_path / checkpoint.TRAINING)
    weights = {key: tensor.clone() for key, tensor in straight.state_dict().items()}
    generator = torch.get_rng_state()
    step(straight, optimizer)

    resumed = model()
    resumed.load_state_dict(weights)
    again = build_optimizer(config, resumed)
    restore_moments(tmp_path, config, resumed, again, 3)
    torch.set_rng_state(generator)
    step(resumed, again)
    for one, other in zip(straight.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


def grown(tensor: Tensor) -> Tensor:
    return torch.zeros([size + 1 for size in tensor.shape])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda moment: torch.zeros(1), r"has shape \[1\], expected \[\d+, \d+\]"),
        (lambda moment: torch.zeros(()), r"has shape \[\], expected"),
        (grown, r"has shape \[\d+, \d+\], expected \[\d+, \d+\]"),
        (lambda moment: moment.T.contiguous(), "has shape"),
        (Tensor.double, r"is torch\.float64, expected torch\.float32"),
        (Tensor.half, r"is torch\.float16, expected torch\.float32"),
    ],
)
def test_moments_that_do_not_fit_their_parameter(
    damage: Callable[[Tensor], Tensor], sentence: str, last: Path, refused: Callable[[], str]
) -> None:
    tensors = load_file(last / "training.safetensors")
    name = next(name for name, tensor in tensors.items() if tensor.dim() == 2 and len(set(tensor.shape)) == 2)
    save_file(tensors | {name: damage(tensors[name])}, last / "training.safetensors")
    message = refused()
    assert f"training.safetensors does not fit its model: {name} " in message
    assert re.search(sentence, message) and message.endswith("; copy the checkpoint again")


def test_moments_that_are_missing_or_too_many(last: Path, refused: Callable[[], str]) -> None:
    path = last / "training.safetensors"
    tensors = load_file(last / "training.safetensors")
    name = next(name for name in tensors if name.endswith(".exp_avg"))
    save_file({key: tensor for key, tensor in tensors.items() if key != name}, path)
    assert refused().startswith(f"{path} lacks a moment of {name.removesuffix('.exp_avg')}, and has others")
    save_file(tensors | {"other.exp_avg": torch.zeros(3)}, path)
    assert "other.exp_avg has shape [3], expected no such tensor; copy the checkpoint again" in refused()
    save_file(tensors | {"huge": torch.zeros(10_000_000, dtype=torch.uint8)}, path)
    assert "huge has shape [10000000], expected no such tensor" in refused()


@pytest.mark.parametrize("count", [-1.0, 1e9, float("nan"), float("inf")])
def test_steps_that_were_not_made(count: float, last: Path, refused: Callable[[], str]) -> None:
    tensors = load_file(last / "training.safetensors")
    name = next(name for name in tensors if name.endswith(".step"))
    save_file(tensors | {name: torch.tensor(count)}, last / "training.safetensors")
    assert re.search(rf"{name} is .* after \d+ updates: copy the checkpoint again", refused())


class Bomb:
    """A pickle of this would make a folder when it is loaded."""

    def __reduce__(self) -> tuple:
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("kind", ["pickle", "torch", "truncated", "empty"])
def test_what_is_no_safetensors_file_is_not_run(
    kind: str, last: Path, refused: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = io.BytesIO()
    path = last / "training.safetensors"
    if kind == "torch":
        torch.save({"optimizer": Bomb()}, content)
    path.write_bytes(
        {
            "pickle": pickle.dumps(Bomb()),
            "torch": content.getvalue(),
            "truncated": path.read_bytes()[:-5],
            "empty": b"",
        }[kind]
    )
    assert "training.safetensors is not a safetensors file" in refused()
    assert not Path("exploded").exists()


def test_a_missing_training_state(last: Path, configure: Callable[..., Config], corpus: Corpus, run: Path) -> None:
    (last / "training.safetensors").unlink()
    with pytest.raises(UserError, match=r"training\.safetensors is missing: restore it from where"):
        resume(configure(), corpus, run)
    with pytest.raises(UserError, match=r"training\.safetensors is missing, so training cannot go on from this checkp"):
        checkpoint.load_training(last, {})


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"update": "7"}, 'progress.update="7" is not possible'),
        ({"update": -1}, "progress.update=-1 is not possible: input should be greater than or equal to 0"),
        ({"update": 1.5}, "progress.update=1.5 is not possible"),
        ({"update": 10**30}, "progress.update=1"),
        ({"update": None}, "progress.update=null is not possible"),
        ({"epoch": 0}, "progress.epoch=0 is not possible"),
        ({"position": -3}, "progress.position=-3 is not possible"),
        ({"position": 10**6}, "is damaged (updates out of order)"),
        ({"tokens": []}, "progress.tokens=[] is not possible"),
        ({"seconds": "long"}, 'progress.seconds="long" is not possible'),
        ({"seconds": -1.0}, "progress.seconds=-1.0 is not possible"),
        ({"seconds": float("nan")}, "progress.seconds=NaN is not possible"),
        ({"seconds": float("inf")}, "progress.seconds=Infinity is not possible"),
        ({"best": 3.0}, "progress.best=3.0 is not possible"),
        ({"best": {"bleu": "x", "loss": 1.0}}, 'progress.best.bleu="x" is not possible'),
        ({"best": {}}, "is damaged (a best validation without bleu or loss)"),
        ({"best": {"bleu": 3.0}}, "is damaged (a best validation without bleu or loss)"),
        ({"best": None}, "is damaged (validations that do not add up)"),
        ({"validations": 3}, "progress.validations=3 is not possible"),
        ({"validations": ["x"]}, 'progress.validations.0="x" is not possible'),
        ({"validations": []}, "is damaged (validations that do not add up)"),
        ({"validations": [3, 2]}, "is damaged (updates out of order)"),
        ({"validations": [10**6]}, "is damaged (updates out of order)"),
        ({"bad_validations": []}, "progress.bad_validations=[] is not possible"),
        ({"bad_validations": [-1]}, "progress.bad_validations.0=-1 is not possible"),
        ({"bad_validations": [10**6]}, "is damaged (validations that do not add up)"),
        ({"validation_due": 1}, "progress.validation_due=1 is not possible"),
        ({"more": 1}, "progress.more=1 is not possible"),
    ],
)
def test_a_progress_that_no_run_can_make(values: dict, sentence: str, last: Path, refused: Callable[[], str]) -> None:
    result = json.loads((last / "progress.json").read_text())
    (last / "progress.json").write_text(json.dumps(result | {"progress": result["progress"] | values}))
    message = refused()
    assert str(last / "progress.json") in message and sentence in message


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"progress": 3}', '{"a": ' + "[" * 200_000])
def test_a_progress_of_something_else(content: str, last: Path, refused: Callable[[], str]) -> None:
    (last / "progress.json").write_text(content)
    assert str(last / "progress.json") in refused()


@pytest.mark.parametrize("state", ["", "0", "xy", "00" * 16, "ff" * 5056])
def test_a_random_state_of_something_else(state: str, last: Path, refused: Callable[[], str]) -> None:
    result = json.loads((last / "progress.json").read_text())
    (last / "progress.json").write_text(json.dumps(result | {"random": state}))
    assert "progress.json holds no state of random generators: copy the checkpoint again" in refused()


def test_a_run_of_gpus_goes_on_without_any(
    run: Path, last: Path, configure: Callable[..., Config], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run on two GPUs leaves: their random states. Tensors on disk do not know where they were."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    states = [torch.full((16,), i, dtype=torch.uint8) for i in (1, 2)]
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: states)
    result = json.loads((last / "progress.json").read_text())
    made = saving.snapshot(Progress(**result["progress"]), {})
    assert made["random_cuda"] == ["01" * 16, "02" * 16]
    monkeypatch.undo()
    (last / "progress.json").write_text(json.dumps(made))
    meta = json.loads((last / "meta.json").read_text())
    meta["sha256"]["progress.json"] = checkpoint.sha256(last / "progress.json")
    (last / "meta.json").write_text(json.dumps(meta))
    with monkeypatch.context() as none:
        none.setattr(torch.cuda, "is_available", lambda: False)
        none.setattr(torch.cuda, "device_count", lambda: 0)
        resume(configure(), corpus, run).close()

    # On a machine with one GPU the first state is its own.
    taken = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: taken.append((state.tolist(), device)))
    saving.restore_generators(last, saving.load_snapshot(last, "bleu"))
    assert taken == [([1] * 16, 0)]
