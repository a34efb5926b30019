import pytest
import torch

from mt.device import autocast, choose
from mt.errors import UserError


def test_auto_takes_what_is_there() -> None:
    assert choose("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda:99", "mps"])
def test_an_absent_device_is_refused(name: str) -> None:
    if name == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(UserError, match=f"^device={name} is not on this machine: choose device=auto or device=cpu$"):
        choose(name)


@pytest.mark.parametrize("name", ["gpu", "cuda:", "xla", ""])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"^device={name} is no choice: .*There is: auto, cpu, cuda, cuda:1, mps$"):
        choose(name)


def test_cuda_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(UserError, match=r"^device=cuda is not on this machine"):
        choose("cuda")


def test_precision_of_products() -> None:
    matrix = torch.ones(2, 2)
    with autocast(torch.device("cpu"), "bf16"):
        assert (matrix @ matrix).dtype == torch.bfloat16
    with autocast(torch.device("cpu"), "fp32"):
        assert (matrix @ matrix).dtype == torch.float32
