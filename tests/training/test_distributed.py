"""Several processes: what they learn, what they read, and how they end."""

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from data_prep.prepare import prepare
from mt.config import Config
from mt.data.corpus import Corpus

WORKER = Path(__file__).with_name("worker.py")
NOISY: dict[str, Any] = {
    "embedding": {"embedding_dim": 32, "dropout": 0.3},
    "optimizer": {"name": "adam", "lr": 0.01, "warmup": 10, "schedule": {"name": "constant"}},
    "training": {"epochs": 9, "batch_tokens": 60, "gradient_accumulation": 4, "max_grad_norm": 0.5},
}
CASES: dict[str, dict[str, Any]] = {
    "general": {},
    "monotonic": {
        "attention": {"name": "mocha", "chunk_size": 2, "noise_std": 1.0},
        "training": {"normalization": "sentence"},
    },
    "stochastic": {"attention": {"name": "stochastic"}},
    # What nothing uses has no gradient, and no moment.
    "unused": {"attention": {"name": "none"}, "encoder": {"name": "conv", "hidden_size": 32}},
    "epoch": {"training": {"epochs": 1, "batch_tokens": 40}},
}


def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(size: int, command: Sequence[object], folder: Path) -> list[subprocess.Popen]:
    """Processes as another launcher than torchrun would start them: nobody looks after them but they themselves."""
    meeting, processes = port(), []
    for rank in range(size):
        several = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": size,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": meeting,
        }
        variables = {name: str(value) for name, value in several.items()} if size > 1 else {}
        processes.append(
            subprocess.Popen(
                [sys.executable, *map(str, command)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return processes


def ended(processes: Sequence[subprocess.Popen], seconds: float = 300) -> list[tuple[int, str, str]]:
    """Status, output and errors of each."""
    try:
        found = [process.communicate(timeout=seconds) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *texts) for process, texts in zip(processes, found, strict=True)]


@pytest.fixture(scope="module")
def learnt(
    configure: Callable[..., Config], corpora: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Path]:
    """What 1, 2, 3 and 4 processes made of every case."""
    folder = tmp_path_factory.mktemp("distributed")
    corpus = prepare(configure().dataset, corpora, progress=False)
    plain = {}
    for name, changes in CASES.items():
        training = NOISY["training"] | changes.get("training", {})
        plain[name] = configure(NOISY | changes | {"training": training}).model_dump(mode="json")
    (folder / "cases.json").write_text(json.dumps(plain))
    found = {}
    for size in (1, 2, 3, 4):
        found[size] = folder / str(size)
        found[size].mkdir()
        command = [WORKER, folder / "cases.json", corpus, found[size]]
        results = ended(start(size, command, folder))
        assert [status for status, *_ in results] == [0] * size, results
    return found


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("case", CASES)
def test_an_update_does_not_depend_on_the_number_of_processes(case: str, size: int, learnt: dict[int, Path]) -> None:
    alone, together = (json.loads((learnt[count] / "losses.json").read_text())[case] for count in (1, size))
    np.testing.assert_allclose(together, alone, rtol=1e-6, atol=1e-6)
    assert max(norm for *_, norm in alone) > 0.5, "clipping is active"
    assert case != "stochastic" or any(extra for _, _, extra, _ in alone)
    before, after = (load_file(learnt[count] / f"{case}.safetensors") for count in (1, size))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, rtol=0, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_processes_read_every_example_once_in_an_epoch(size: int, learnt: dict[int, Path], corpus: Corpus) -> None:
    seen = [Counter(json.loads((learnt[size] / f"seen-{rank}.json").read_text())) for rank in range(size)]
    assert sum(seen, Counter()) == {str(i): 1 for i in range(len(corpus.split("train")))}
    assert min(each.total() for each in seen) > 0
