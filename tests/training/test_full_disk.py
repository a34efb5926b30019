"""A disk without room for a file: one sentence, whoever was writing. A limit on the size of files stands for it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from tests.marks import exhaustive

PROGRAM = """
import json, resource, sys
from pathlib import Path
from data_prep.prepare import prepare
from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import reported
from mt.common.options import parse
from mt.training.train import train_and_test
from mt.training.start import begin

config = parse(json.loads(sys.argv[1]), Config)
run = begin(config, Corpus.open(prepare(config.dataset, Path(sys.argv[2]))), Path(sys.argv[3]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
with reported():
    train_and_test(run)
"""


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        (40_000, "run/checkpoints/update-0000002"),  # of the weights
        # 300: of the first records of TensorBoard, which its own thread writes.
        *exhaustive((300, "run"), (0, "run")),
    ],
)
def test_a_full_disk_is_one_sentence(
    limit: int, named: str, configure: Callable[..., Config], corpus: Corpus, corpora: Path, tmp_path: Path
) -> None:
    options = {"max_updates": 400, "validate_every": 200, "save_every": 2, "log_every": 1, "plots": 0}
    config = configure({"training": options, "search": {"name": "greedy"}}).model_dump_json()
    command = [sys.executable, "-c", PROGRAM, config, str(corpora), str(tmp_path / "run"), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"error: {tmp_path / named}: File too large: free disk space; {tmp_path / 'run'} holds no checkpoint yet, so "
        "start again"
    )
