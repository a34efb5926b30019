"""Adding an attention, as docs/extending.md says: a file, its line in the table, a YAML. In a copy of the repository, a
training run then takes it up without another edit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COPIED = ("mt", "data_prep", "conf", "tests", "scripts", "train.py", "pyproject.toml")
MODULE = '''"""Attention by the cosine of query and value."""

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from mt.models.attention.base import Attention, AttentionStep, Memory, State
from mt.step import Attended
from mt.models.encoders import Encoded
from mt.ops.sequences import masked_softmax
from mt.common.options import Options

SMALLEST = 1e-4
"""Norm that is divided by; torch's own is 0 in float16."""


class CosineConfig(Options):
    name: Literal["cosine"] = "cosine"
    temperature: float = Field(0.1, gt=0, le=10)
    """Of the softmax."""


class Cosine(Attention):
    Config = CosineConfig

    def __init__(self, config: CosineConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.temperature = config.temperature
        self.project = nn.Linear(value_size, query_size, bias=False)

    def init_memory(self, encoded: Encoded) -> Memory:
        keys = nn.functional.normalize(self.project(encoded.values), dim=-1, eps=SMALLEST)
        return Memory((keys,), encoded.values, encoded.mask)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        cosines = (memory.keys[0] @ nn.functional.normalize(query, dim=-1, eps=SMALLEST)[..., None])[..., 0]
        weights = masked_softmax(cosines / self.temperature, memory.mask)
        context = (weights.to(memory.values.dtype)[:, None] @ memory.values)[:, 0]
        return AttentionStep(context, Attended(weights), state)
'''
YAML = """name: cosine
temperature: 0.1  # of the softmax
"""
IMPORT = "from mt.models.attention.cosine import Cosine"
ENTRY = '    "cosine": Cosine,'


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with one attention more."""
    folder = tmp_path_factory.mktemp("repository")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / "mt/models/attention/cosine.py").write_text(MODULE)
    (folder / "conf/attention/cosine.yaml").write_text(YAML)
    table = folder / "mt/models/attention/__init__.py"
    lines = table.read_text().splitlines()
    lines.insert(lines.index("from mt.models.attention.coverage import Coverage"), IMPORT)
    lines.insert(lines.index("ATTENTIONS: dict[str, type[Attention]] = {") + 1, ENTRY)
    table.write_text("\n".join(lines) + "\n")
    return folder


def run(folder: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_a_run_trains_with_it(copy: Path, texts: Path):
    options = "encoder.hidden_size=16 decoder.hidden_size=16 training.epochs=1 training.max_updates=2 training.plots=0"
    options += " dataset=files dataset.source=en dataset.target=de dataset.tokenizer.vocab_size=60 dataset.workers=1"
    options += " attention=cosine search=greedy device=cpu folder=outputs/run"
    run(copy, "train.py", f"dataset.folder={texts}", *options.split())
    assert (copy / "outputs/run/results.json").exists()
