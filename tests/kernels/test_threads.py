"""Calls in PyTorch's threads, and in Python's where PyTorch has others than GNU OpenMP's."""

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch

from mt.kernels import threads
from mt.kernels.threads import at_once, in_own_threads, in_region, keep_programs, openmp_region

Way = Callable[[Sequence[Callable[[], object]]], None]


@pytest.fixture(params=["openmp", "python"])
def way(request: pytest.FixtureRequest) -> Way:
    """How calls are made at once."""
    if request.param == "python":
        return in_own_threads
    if (region := openmp_region()) is None:
        pytest.skip("PyTorch computes with another OpenMP than GNU's here")
    return partial(in_region, region)


@pytest.mark.parametrize("calls", [2, 3, 20])
def test_each_call_is_made_once(way: Way, calls: int):
    done = list[int]()
    way([partial(done.append, call) for call in range(calls)])
    assert sorted(done) == list(range(calls))


@pytest.mark.parametrize("calls", [0, 1, 2, 20])
def test_few_calls_are_made_too(calls: int):
    done = list[int]()
    at_once([partial(done.append, call) for call in range(calls)])
    assert sorted(done) == list(range(calls))


def test_calls_are_made_at_once(way: Way):
    barrier = threading.Barrier(2)
    way([partial(barrier.wait, timeout=60)] * 2)  # one after the other would break the barrier


def test_an_error_is_raised_after_the_other_calls(way: Way):
    done = list[int]()
    with pytest.raises(ZeroDivisionError):
        way([lambda: 1 // 0, partial(done.append, 1), partial(done.append, 2)])
    assert sorted(done) == [1, 2]


def test_pytorch_computes_on_afterwards(way: Way):
    x = torch.randn(300, 300, generator=torch.Generator().manual_seed(1))
    before = x @ x
    for _ in range(3):
        way([lambda: None] * 2)
        assert torch.equal(x @ x, before)


def test_a_later_job_has_a_bound_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "_chosen", [])
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    assert keep_programs() is None and os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "40"
    note = keep_programs(convolutions=True)
    assert note == (
        "note: an earlier job of this process has oneDNN keep 40 programs, and 1024 suit this one, which may be "
        "slower: train it by itself, or set ONEDNN_PRIMITIVE_CACHE_CAPACITY=1024"
    )
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "1024"


def test_a_bound_of_the_environment_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "_chosen", [])
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    assert keep_programs() is keep_programs(convolutions=True) is None
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"
