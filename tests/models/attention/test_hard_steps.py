"""What a hard step looks at: positions from the last stop on, each once. Its compiled form is that of PyTorch."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.kernels.hard_step import hard_loops
from mt.models.attention import arriving, build_attention
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory
from mt.models.attention.energy import DotConfig
from mt.models.attention.lookback import MAtChAConfig, MILkConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.attention.monotonic import Monotonic, MonotonicConfig
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE
from tests.models.small import encoded

SIZE = 4


@pytest.fixture(
    params=[MonotonicConfig, MoChAConfig, MAtChAConfig, MILkConfig], ids=lambda c: c.model_fields["name"].default
)
def build(request) -> Callable[..., Attention]:
    def built(**options: Any) -> Attention:
        config = request.param(energy=DotConfig(), energy_bias=0.0, **options)
        attention = build_attention(config, SIZE, SIZE)
        with torch.no_grad():
            attention.energy.gain.fill_(1.0)
        return attention.eval().requires_grad_(False)

    return built


def steps(attention: Attention, memory: Memory, queries: Tensor) -> Iterator[AttentionStep]:
    state = attention.init_state(memory, hard=True)
    for query in queries.unbind(1):
        step = attention.step(query, memory, state, hard=True)
        state = step.state
        yield step


@pytest.mark.usefixtures("hard_steps")
def test_nothing_is_looked_at_where_nothing_can_be_selected(build):
    attention = build(mass_preservation=False)
    values = torch.full((2, 40, SIZE), -1.0)
    memory = attention.init_memory(encoded(values))
    first, second = steps(attention, memory, torch.ones(2, 2, SIZE))
    assert all((step.attended.stops == SELECTED_NONE).all() for step in (first, second))
    assert first.attended.looked_at.tolist() == [40, 40] and second.attended.looked_at.tolist() == [0, 0]
    waiting = memory._replace(complete=torch.tensor([False, False]))
    third = attention.step(torch.ones(2, SIZE), waiting, first.state, hard=True)
    assert (third.attended.stops == NEEDS_MORE_SOURCE).all() and not third.attended.looked_at.any()


def test_compiled_steps_are_those_of_torch(monotonic, batch, shake, monkeypatch):
    """With every energy, rows of any length, of which some are not complete and some have lost what came before. All at
    once, compiled steps are to the last bit those that are taken one by one."""
    stopped = 0
    for seed in range(6):
        attention = shake(build_attention(monotonic.config, 6, 6), seed)
        whole = memory = attention.init_memory(batch.encoded)
        if seed % 2:
            whole = memory = memory._replace(complete=torch.arange(len(batch.mask)) % 3 > 0)
        state = attention.init_state(memory, hard=True)
        for query in batch.queries.unbind(1):
            with torch.no_grad():
                ours = attention.step(query, memory, state, hard=True)
            theirs = attention.step(query, memory, state, hard=True)
            state = theirs.state
            for name in ("stops", "looked_at"):
                assert torch.equal(getattr(ours.attended, name), getattr(theirs.attended, name)), name
            assert all(torch.equal(*parts) for parts in zip(ours.state, theirs.state, strict=True))
            weights = (AttentionOutput.stack([step], batch.mask.shape[1]).weights for step in (ours, theirs))
            torch.testing.assert_close(*weights, atol=1e-6, rtol=0)
            torch.testing.assert_close(ours.context, theirs.context, atol=3e-6, rtol=1e-5)
            stopped += int((ours.attended.stops >= 0).sum())
            memory = arriving.trim(attention, memory, state)
        with torch.no_grad(), monkeypatch.context() as without:
            if hard_loops() is not None:
                without.delattr(Monotonic, "_attend")
            together = attention(batch.queries, whole, hard=True)
            one_by_one = Attention.forward(attention, batch.queries, whole, hard=True)
        assert together.p_choose is None
        for name in ("alpha", "weights", "contexts"):
            assert torch.equal(getattr(together, name), getattr(one_by_one, name)), name
    assert stopped > 30
