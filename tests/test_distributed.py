"""A process group without processes: what one of several sees of it."""

from pathlib import Path

import pytest
import torch

from mt.distributed import ProcessGroup
from tests.refusals.sentences import require_refusal


class Told(ProcessGroup):
    """Of two processes, of which the other says something else."""

    def all_gather(self, value):
        facts = value[1]
        return [value, ("other", {**facts, "seed": 2})] if isinstance(facts, dict) else [value, (False, "other")]

    def decided_by_first(self, decide):
        return decide()


def test_what_differs_is_told() -> None:
    facts = r"seed is 1 in process 0 \(on .*\) and 2 in process 1 \(on other\): start all"
    require_refusal(lambda: Told(0, 2).require_alike({"attention": "general", "seed": 1}), facts)


def test_a_folder_that_is_not_shared(tmp_path: Path) -> None:
    facts = r"process 1 \(on other\) does not see the files of process 0 .* that all"
    require_refusal(lambda: Told(0, 2).require_shared(tmp_path), facts)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cuda:1", "device=cuda:1 is one device, and 4 processes train together: choose device=cuda, which gives each"),
        ("mps", "device=mps is one device"),
        ("cuda", "this machine has 2 GPUs and more processes than that: start one for each GPU"),
    ],
)
def test_devices_of_several(name: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    require_refusal(lambda: ProcessGroup(3, 4, local_rank=3).device(name), sentence)
