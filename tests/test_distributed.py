"""A process group without processes: what one of several sees of it."""

from pathlib import Path

import pytest
import torch

from mt.distributed import ALONE, ProcessGroup, code_digest
from mt.errors import UserError


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_are_all_there_is(size: int) -> None:
    items = list(range(5))
    shares = [ProcessGroup(rank, size).share(items) for rank in range(size)]
    assert sorted(item for share in shares for item in share) == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_alone_nobody_is_talked_to(tmp_path: Path) -> None:
    module = torch.nn.Linear(1, 1)
    assert ALONE.is_first and ALONE.merged([1, None, 2]) == [1, None, 2] and ALONE.decided_by_first(lambda: 3) == 3
    assert ALONE.data_parallel(module) is module and ALONE.maximum(4) == 4
    assert ALONE.all_reduce(torch.tensor([1.5])).item() == 1.5
    ALONE.require_alike({"seed": 1})
    ALONE.require_shared(tmp_path / "nowhere")
    assert not [*tmp_path.iterdir()]


class Told(ProcessGroup):
    """Of two processes, of which the other says something else."""

    def all_gather(self, value):
        facts = value[1]
        return [value, ("other", {**facts, "seed": 2})] if isinstance(facts, dict) else [value, (False, "other")]

    def decided_by_first(self, decide):
        return decide()


def test_what_differs_is_told() -> None:
    with pytest.raises(UserError, match=r"seed is 1 in process 0 \(on .*\) and 2 in process 1 \(on other\): start all"):
        Told(0, 2).require_alike({"attention": "general", "seed": 1})


def test_a_folder_that_is_not_shared(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"process 1 \(on other\) does not see the files of process 0 .* that all machines share"
    ):
        Told(0, 2).require_shared(tmp_path)
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
    with pytest.raises(UserError, match=sentence):
        ProcessGroup(3, 4, local_rank=3).device(name)


def test_each_process_has_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert ProcessGroup(3, 4, local_rank=1).device("auto") == torch.device("cuda", 1)
    assert chosen == [1]


def test_other_code_has_another_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = code_digest()
    assert ours == code_digest()
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.setattr("mt.distributed.__file__", str(tmp_path / "a.py"))
    one = code_digest()
    (tmp_path / "a.py").write_text("x = 2")
    assert len({ours, one, code_digest()}) == 3
