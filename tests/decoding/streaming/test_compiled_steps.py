"""Whole models decode the same by compiled hard steps and by those in PyTorch."""

from typing import Any

import numpy as np
import pytest

from mt.decoding.streaming.session import Streaming
from mt.kernels import hard_step as kernel
from mt.kernels.hard_step import hard_loops
from mt.models.attention.monotonic import Monotonic
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SearchConfig

pytestmark = pytest.mark.skipif(hard_loops() is None, reason="numba cannot compile here")
LIMITS = {"max_ratio": 1.2, "max_extra": 4}
SEARCHES = [GreedyConfig(**LIMITS), BeamConfig(beam_size=4, n_best=4, **LIMITS), OnlineConfig(**LIMITS)]
ATTENTIONS: list[dict[str, Any]] = [
    {"name": "monotonic", "mass_preservation": False},
    {"name": "mocha", "chunk_size": 3},
    {"name": "matcha"},
    {"name": "milk"},
]


@pytest.fixture(params=ATTENTIONS, ids=lambda options: options["name"])
def attention(request):
    return request.param


@pytest.fixture(params=["concat", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("dot", "general"))])
def model(request, attention, setting) -> Streaming:
    return setting(attention | {"energy": {"name": request.param}})


@pytest.fixture
def compiled(monkeypatch):
    """compiled(whether): decides how hard steps are taken, and fails where they are taken otherwise."""

    def by(chosen: bool) -> None:
        monkeypatch.undo()
        if chosen:
            monkeypatch.delattr(Monotonic, "_attend")
        else:
            monkeypatch.setattr(kernel, "is_compiled", lambda query, values: False)
            monkeypatch.delattr(kernel, "hard_step")

    return by


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.name)
def test_searches(compiled, model, offline, sentences, search: SearchConfig):
    sources = [*sentences(5), [], *sentences(3, least=20, most=40)]
    compiled(True)
    actual = offline(model, sources, search)
    compiled(False)
    expected = offline(model, sources, search)
    assert sum(int((hypothesis.windows.stops >= 0).sum()) for hypothesis in expected) > 20
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.tokens == theirs.tokens
        for name in ("stops", "looked_at"):
            np.testing.assert_array_equal(getattr(ours.windows, name), getattr(theirs.windows, name))
        weights = theirs.windows.dense()
        np.testing.assert_allclose(ours.windows.dense(weights.shape[1]), weights, atol=1e-6, rtol=0)
        assert ours.log_prob == pytest.approx(theirs.log_prob, rel=1e-6)
