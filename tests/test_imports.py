"""What commands and modules do not load: it would be seconds before anything happens, and memory in every process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = "dataset=files dataset.folder={texts} dataset.source=en dataset.target=de dataset.tokenizer.model_type=word"
# Of the small run, whose corpus is prepared already.
TINY = "dataset.name=tiny dataset.tokenizer.vocab_size=100 dataset.cleaning.drop_duplicates=false corpora={corpora}"
FEW = f"{TINY} attention=general training.max_updates=2 training.plots=0 device=cpu folder={{tmp}}/run"
DRAWING = "hydra omegaconf tensorboard matplotlib datasets torch._dynamo sacrebleu jiwer"


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("scripts/translate.py {trained} {texts}/test.en --device cpu", DRAWING),
        pytest.param(f"train.py {DATA} {FEW}", "pandas datasets matplotlib torch._dynamo", marks=pytest.mark.slow),
        (f"-m data_prep {DATA} dry_run=true hydra.run.dir={{tmp}}", "torch"),
    ],
)
def test_what_takes_long_is_not_loaded(command, heavy, trained, texts, corpora, tmp_path) -> None:
    words = command.format(trained=trained, texts=texts, corpora=corpora, tmp=tmp_path).split()
    assert not {*heavy.split()} & loaded(*words)


def test_no_name_of_the_package_loads_torch() -> None:
    assert "torch" not in loaded("-c", "import mt; [getattr(mt, name) for name in mt.__all__]")


@pytest.mark.parametrize("program", ["train.py", "mt/__main__.py", "data_prep/__main__.py"])
def test_workers_import_nothing_of_the_program(program: str) -> None:
    """Each worker runs the program's file under this name first, and would load all that training needs."""
    script = f"import runpy; assert runpy.run_path({program!r}, run_name='__mp_main__')"
    assert not {"torch", "hydra", "datasets", "numpy"} & loaded("-c", script)


def loaded(*words: str) -> set[str]:
    """Returns the modules that Python loads with these words."""
    command = [sys.executable, "-X", "importtime", *words]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert len(names) > 20
    return names
