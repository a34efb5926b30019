"""Adding an attention, as docs/extending.md says: a file, its line in the table, `scripts/options.py`. In a copy of the
repository, a training run then takes it up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COPIED = ("mt", "data_prep", "conf", "tests", "scripts", "train.py", "pyproject.toml")
MODULE = '''"""Attention that is even over the source."""

from typing import Literal

from torch import Tensor

from mt.models.attention.global_ import GeneralAttentionConfig, Global


class EvenConfig(GeneralAttentionConfig):
    name: Literal["even"] = "even"  # type: ignore[assignment]


class Even(Global):
    Config = EvenConfig

    def _weights(self, energies: Tensor, visible: Tensor) -> Tensor:
        return (visible / visible.sum(-1, keepdim=True)).float().expand(energies.shape)
'''
IMPORT = "from mt.models.attention.even import Even"
ENTRY = '    "even": Even,'


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with one attention more."""
    folder = tmp_path_factory.mktemp("repository")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / "mt/models/attention/even.py").write_text(MODULE)
    table = folder / "mt/models/attention/__init__.py"
    lines = table.read_text().splitlines()
    lines.insert(lines.index("from mt.models.attention.global_ import ("), IMPORT)
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
    options += " attention=even search=greedy device=cpu folder=outputs/run"
    run(copy, "scripts/options.py")
    [named] = [line for line in (copy / "conf/config.yaml").read_text().splitlines() if "- attention:" in line]
    assert named.endswith(", even")
    run(copy, "train.py", f"dataset.folder={texts}", *options.split())
    assert (copy / "outputs/run/results.json").exists()
