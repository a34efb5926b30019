"""A tiny language pair, its prepared corpus, and one small run trained on it, shared by all tests that need one."""

import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import absl.logging
import pytest
import torch

from data_prep.prepare import prepare
from mt import Translator, load
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.export.folder import export
from mt.training.start import begin
from mt.training.train import train_and_test

# Without a GPU, Triton's kernels run in its interpreter. It asks when it is imported, if it is installed.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Hydra closes handlers when it sets up logging, and that of absl, which rouge-score brings, would close with it the
# stream that pytest captures.
absl.logging.get_absl_handler().python_handler.setStream(sys.__stderr__)

# One word of each; the empty one may be left out. Word for word, with umlauts and a word in another script.
SLOTS = [
    {"the": "die", "two": "zwei", "three": "drei"},
    {"": "", "big": "großen", "green": "grünen"},
    {"cats": "Katzen", "dogs": "Hunde", "birds": "鳥"},
    {"see": "sehen", "find": "finden", "leave": "verlassen"},
    {"streets": "Straßen", "bridges": "Brücken", "houses": "Häuser"},
]
SIZES = {"train": 240, "dev": 12, "test": 10}

Configure = Callable[..., Config]


@pytest.fixture
def three_threads() -> Iterator[None]:
    """PyTorch, and compiled loops beside it, compute in three threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.en, train.de, dev.en, ..."""
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(1)
    for split, size in SIZES.items():
        pairs = [[draw.choice(list(slot.items())) for slot in SLOTS] for _ in range(size)]
        for side, name in enumerate(("en", "de")):
            lines = [" ".join(pair[side] for pair in sentence if pair[side]) for sentence in pairs]
            (folder / f"{split}.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def plain(texts: Path) -> dict[str, Any]:
    """The configuration of the small run, as plain data."""
    return {
        "dataset": {
            "name": "tiny",
            "source": "en",
            "target": "de",
            "folder": str(texts),
            "tokenizer": {"model_type": "word", "vocab_size": 100},
            "cleaning": {"drop_duplicates": False},
        },
        "embedding": {"embedding_dim": 32, "dropout": 0.0},
        "encoder": {"name": "bilstm", "hidden_size": 32},
        "decoder": {"name": "luong", "hidden_size": 32, "readout_size": 32, "dropout": 0.0},
        "attention": {"name": "general"},
        "optimizer": {"name": "adam", "lr": 0.02, "warmup": 0, "schedule": {"name": "constant"}},
        "training": {"epochs": 12, "batch_tokens": 120, "validate_every": 40, "average_checkpoints": 2, "plots": 2},
        "search": {"name": "beam", "beam_size": 3},
        "device": "cpu",
    }


@pytest.fixture(scope="session")
def configure(plain: dict[str, Any]) -> Configure:
    """Gives the configuration of the small run with some of its options changed: `{"training": {"epochs": 1}}`."""

    def changed(changes: Mapping[str, Any] = {}) -> Config:
        whole = json.loads(json.dumps(plain))
        for name, value in changes.items():
            replaced = isinstance(value, Mapping) and "name" not in value
            whole[name] = {**whole.get(name, {}), **value} if replaced else value
        return parse(whole, Config)

    return changed


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where prepared corpora are kept."""
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture(scope="session")
def corpus(configure: Configure, corpora: Path) -> Corpus:
    return Corpus.open(prepare(configure().dataset, corpora, progress=False))


def finished(config: Config, corpora: Path, folder: Path) -> Path:
    """Trains and tests a run on its corpus, which is prepared where it is not there yet; returns the folder."""
    run = begin(config, Corpus.open(prepare(config.dataset, corpora, progress=False)), folder)
    train_and_test(run)
    return folder


@pytest.fixture(scope="session")
def trained(configure: Configure, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run. It is shared: copy it before changing it."""
    return finished(configure(), corpora, tmp_path_factory.mktemp("runs") / "trained")


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return load(trained, device="cpu")


@pytest.fixture(scope="module")
def hard(trained_hard: Path) -> Translator:
    """A translator whose attention can be hard, and which can decode online."""
    return load(trained_hard, device="cpu")


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run", symlinks=True))


@pytest.fixture
def last(run: Path) -> Path:
    return (run / "checkpoints/last").resolve()


@pytest.fixture(scope="session")
def trained_hard(configure: Configure, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose attention can be hard, and which can decode online."""
    changes = {
        "encoder": {"name": "lstm", "hidden_size": 32},
        "decoder": {"hidden_size": 32, "readout_size": 32, "init_hidden": "zeros"},
        "attention": {"name": "mocha", "chunk_size": 2},
        "training": {"epochs": 2, "average_checkpoints": 1},
        "search": {"name": "greedy"},
    }
    return finished(configure(changes), corpora, tmp_path_factory.mktemp("runs") / "hard")


@pytest.fixture(scope="session")
def graphs(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished run as graphs of ONNX."""
    for library in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(library, reason="the extra onnx is not installed")
    folder = tmp_path_factory.mktemp("exports") / "onnx"
    export(trained, folder, format="onnx")
    return folder
