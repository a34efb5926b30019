"""Calls in PyTorch's threads, and in Python's where PyTorch has others than GNU OpenMP's."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest
import torch

from mt.kernels import threads
from mt.kernels.threads import at_once


@pytest.fixture(params=["openmp", "python"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "python":
        monkeypatch.setattr(threads, "_openmp_region", lambda: None)
    elif threads._openmp_region() is None:
        pytest.skip("PyTorch computes with another OpenMP than GNU's here")
    yield


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("calls", [0, 1, 2, 3, 20])
def test_each_call_is_made_once(calls: int):
    done = list[int]()
    at_once([partial(done.append, call) for call in range(calls)])
    assert sorted(done) == list(range(calls))


@pytest.mark.usefixtures("ways")
def test_calls_are_made_at_once():
    barrier = threading.Barrier(2)
    at_once([partial(barrier.wait, timeout=60)] * 2)  # one after the other would break the barrier


@pytest.mark.usefixtures("ways")
def test_an_error_is_raised_after_the_other_calls():
    done = list[int]()
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1 // 0, partial(done.append, 1), partial(done.append, 2)])
    assert sorted(done) == [1, 2]


@pytest.mark.usefixtures("ways")
def test_pytorch_computes_on_afterwards():
    x = torch.randn(300, 300, generator=torch.Generator().manual_seed(1))
    before = x @ x
    for _ in range(3):
        at_once([lambda: None] * 2)
        assert torch.equal(x @ x, before)
