"""Preparation by processes that load little, and by a Ray of this machine's own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data_prep.parallel import ordered
from data_prep.prepare import prepare
from mt.common.about import install
from mt.data.dataset import PHRASEBOOK
from tests.data_prep.small import files
from tests.refusals.sentences import require_refusal

_ROOT = Path(__file__).parents[2]
_needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason=f"needs Ray ({install('ray')})")


@_needs_ray
def test_ray_makes_the_corpus_of_processes(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom data_prep.prepare import prepare\n"
        "from mt.data.dataset import PHRASEBOOK\nfrom tests.data_prep.small import small_shards\n"
        "config = PHRASEBOOK.model_copy(update={'workers': 2})\n"
        "with small_shards(100_000, 5_000):\n"
        "    print(prepare(config, Path(sys.argv[1]), progress=False, runner=sys.argv[2]))\n"
    )
    # Ray is left out of this process, whose tests take warnings for errors.
    environment = os.environ | {"PYTHONPATH": str(_ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    made = {}
    for runner in ("ray", "processes"):
        command = [sys.executable, "-c", script, str(tmp_path / runner), runner]
        subprocess.run(command, cwd=_ROOT, env=environment, check=True, timeout=600)
        [folder] = (tmp_path / runner).iterdir()
        made[runner] = files(folder)
    assert made["ray"] == made["processes"]
    assert sum("train/data-" in name for name in made["ray"]) > 5


@_needs_ray
def test_a_cluster_that_does_not_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    sentence = r"^no Ray answers at RAY_ADDRESS=auto: start it \(ray start --head\), or unset RAY_ADDRESS$"
    require_refusal(lambda: list(ordered(abs, [(1,)], 1, "ray")), sentence)


def test_without_ray_what_to_install_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    sentence = r"^runner=ray needs Ray, which is not installed: pip install 'attentive-mt\[ray\]'$"
    require_refusal(lambda: list(ordered(abs, [(1,)], 1, "ray")), sentence)
    require_refusal(lambda: prepare(PHRASEBOOK, tmp_path, progress=False, runner="ray"), sentence)
