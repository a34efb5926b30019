import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("program", ["train.py", "mt/__main__.py", "data_prep/__main__.py"])
def test_workers_import_nothing_of_the_program(program: str) -> None:
    """Each worker runs the program's file under this name first, and would load all that training needs."""
    script = (
        "import runpy, sys\n"
        f"assert runpy.run_path({program!r}, run_name='__mp_main__')\n"
        "print(*sorted({'torch', 'hydra', 'datasets', 'numpy'} & sys.modules.keys()))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=_ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "\n"


def test_preparation_does_without_torch(tmp_path: Path) -> None:
    script = (
        "import runpy, sys\n"
        f"sys.argv = ['data_prep', 'dry_run=true', 'dataset.limit=500', 'hydra.run.dir={tmp_path}']\n"
        "runpy.run_module('data_prep', run_name='__main__')\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=_ROOT, stdout=subprocess.DEVNULL, check=True)
