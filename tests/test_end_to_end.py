"""`python train.py` as a user runs it: from text to results, killed on the way, and gone on with."""

import json
import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from mt.errors import UserError

ROOT = Path(__file__).parents[1]
COSTS = {"seconds", "tokens_per_second", "training_seconds", "training_tokens_per_second", "peak_memory_mb"}
OPTIONS = [
    "dataset=files", "dataset.source=en", "dataset.target=de", "dataset.tokenizer.model_type=word",
    "embedding.embedding_dim=16", "encoder.hidden_size=8", "decoder.hidden_size=16", "decoder.readout_size=16", "attention=mocha",
    "optimizer.warmup=5", "search=greedy", "device=cpu",
    "training.epochs=3", "training.batch_tokens=100", "training.save_every=3", "training.average_checkpoints=2",
    "training.log_every=1", "training.plots=1",
]  # fmt: skip


@pytest.fixture
def train(texts: Path, tmp_path: Path) -> Callable[..., subprocess.Popen]:
    def started(*arguments: str) -> subprocess.Popen:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(ROOT / "train.py"), *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True)

    return started


def finish(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def timeless(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in COSTS}


def records(folder: Path) -> list[dict[str, Any]]:
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [timeless(json.loads(line)) for line in lines if line.endswith("\n")]


def test_killed_at_a_random_moment_and_resumed_it_ends_as_if_nothing_had_been(
    train: Callable[..., subprocess.Popen], texts: Path, tmp_path: Path
) -> None:
    options = [*OPTIONS, f"dataset.folder={texts}"]
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    out = finish(train(*options, f"folder={straight}"))
    assert "\n  bleu  " in out and "nrefs:" not in out and out.endswith(f"{straight}\n")
    assert "\nupdate " in out and "\r" not in out

    whole = records(straight)
    total = whole[-1]["update"]
    # Anywhere from the first checkpoint on, in the middle of an epoch or of writing a checkpoint as it may fall.
    moment, delay = random.randrange(4, total // 2), random.random() / 50
    process = train(*options, f"folder={killed}")
    while process.poll() is None and not (records(killed) and records(killed)[-1]["update"] >= moment):
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL and not (killed / "results.json").exists()

    finish(train(f"resume={killed}"))
    about = f"killed {delay:.3f} s after update {moment} of {total}"
    assert records(killed) == whole, about
    results = [timeless(json.loads((folder / "results.json").read_text())) for folder in (straight, killed)]
    assert results[0] == results[1], about
    for name in ("best", "last"):
        one, other = (load_file(folder / f"checkpoints/{name}/model.safetensors") for folder in (straight, killed))
        assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one), about
    left = [sorted(path.name for path in (folder / "checkpoints").iterdir()) for folder in (straight, killed)]
    assert left[0] == left[1], about


def test_interrupted_from_the_keyboard(train: Callable[..., subprocess.Popen], texts: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = train(*OPTIONS, f"dataset.folder={texts}", f"folder={run}", "training.epochs=1000")
    while process.poll() is None and not (run / "checkpoints/last").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    sentence = err.splitlines()[-1]
    assert sentence.startswith("interrupted: the checkpoint of update ")
    assert sentence.endswith(f" is whole: go on with `python train.py resume={run}`")


# What cannot be resumed; `main` gets what Hydra would compose.


def resumed(run: Path, *overrides: str) -> str:
    main = runpy.run_path(str(ROOT / "train.py"))["main"]
    with pytest.raises(UserError) as caught:
        main({"resume": str(run), "folder": "unused"}, [f"resume={run}", *overrides])
    return str(caught.value)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    assert "is not a run folder: it holds no checkpoints/last" in resumed(tmp_path)


@pytest.mark.parametrize(
    "override",
    [
        "seed=2",
        "embedding.embedding_dim=64",
        "attention=mocha",
        "training.batch_tokens=7",
        "training.metric=loss",
        "dataset.folder=x",
    ],
)
def test_what_would_be_another_run(override: str, trained: Path) -> None:
    key = override.split("=")[0]
    assert resumed(trained, override).startswith(
        f"{key} cannot change when a run is resumed, since it would be another"
    )


def test_text_that_is_gone(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = Path(shutil.copytree(trained, tmp_path / "run", symlinks=True))
    path = (run / "checkpoints/last").resolve() / "config.json"
    config = json.loads(path.read_text())
    config["dataset"]["folder"] = str(tmp_path / "gone")
    path.write_text(json.dumps(config))
    assert "gone lacks train.en" in resumed(run)
