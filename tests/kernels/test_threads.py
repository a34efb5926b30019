"""Calls in PyTorch's threads, and one after another where PyTorch has others than GNU OpenMP's."""

import os
import threading
from functools import partial

import pytest
import torch

from mt.kernels import threads
from mt.kernels.threads import at_once, keep_programs, openmp_region


@pytest.fixture(params=["openmp", "one thread"])
def region(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where calls are made."""
    if request.param == "one thread":
        monkeypatch.setattr(threads, "openmp_region", lambda: None)
    elif openmp_region() is None:
        pytest.skip("PyTorch computes with another OpenMP than GNU's here")
    return request.param


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 20])
def test_each_call_is_made_once_and_pytorch_computes_on(region: str, calls: int):
    x = torch.randn(300, 300, generator=torch.Generator().manual_seed(1))
    before = x @ x
    done = list[int]()
    at_once([partial(done.append, call) for call in range(calls)])
    assert sorted(done) == list(range(calls))
    assert torch.equal(x @ x, before)


@pytest.mark.skipif(openmp_region() is None, reason="PyTorch computes with another OpenMP than GNU's here")
def test_calls_are_made_at_once():
    barrier = threading.Barrier(2)
    at_once([partial(barrier.wait, timeout=60)] * 2)  # one after the other would break the barrier


def test_an_error_is_raised_after_the_other_calls(region: str):
    done = list[int]()
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1 // 0, partial(done.append, 1), partial(done.append, 2)])
    assert sorted(done) == [1, 2]


@pytest.mark.parametrize(("convolutions", "bound"), [(False, "16"), (True, "1024")])
def test_programs_of_onednn_are_bounded_where_nobody_has_bounded_them(convolutions, bound, monkeypatch):
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    keep_programs(convolutions=convolutions)
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == bound
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    keep_programs(convolutions=convolutions)
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"
