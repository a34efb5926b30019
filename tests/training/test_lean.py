"""What a training does not load: it would be seconds before the first update, and memory in every process."""

import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT, Program

PROGRAM = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
print(sorted({"pandas", "datasets", "matplotlib", "torch._dynamo"} & {*sys.modules}), file=sys.stderr)
"""


def test_training_loads_nothing_that_prepares_draws_or_compiles(texts: Path, tmp_path: Path) -> None:
    options = [
        "dataset=files", f"dataset.folder={texts}", "dataset.source=en", "dataset.target=de", "dataset.workers=1",
        "dataset.tokenizer.model_type=word", "embedding.embedding_dim=8", "encoder.hidden_size=8",
        "decoder.hidden_size=8", "decoder.readout_size=8", "search=greedy", "device=cpu", "training.max_updates=2",
        "training.plots=0",
    ]  # fmt: skip
    Program(ROOT / "train.py", [*options, "folder=prepares"], tmp_path).finish()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "train.py"), *options, "folder=finds-it-prepared"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "[]"
