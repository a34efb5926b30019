"""Hard steps are the same compiled, as where nobody wants a gradient, and in PyTorch."""

import torch

from mt.kernels.hard_step import hard_loops
from mt.models.attention import Attention, AttentionOutput, arriving, build_attention
from mt.models.attention.mocha import MoChA, MoChAConfig
from mt.models.attention.monotonic import Monotonic


def test_a_compiled_step_is_that_of_torch(monotonic, batch, shake):
    """With every energy, rows of any length, of which some are not complete and some have lost what came before."""
    stopped = 0
    for seed in range(6):
        attention = shake(build_attention(monotonic.config, 6, 6), seed)
        memory = attention.init_memory(batch.encoded)
        state = attention.init_state(memory, hard=True)
        if seed % 2:
            memory = memory._replace(complete=torch.arange(len(batch.mask)) % 3 > 0)
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
    assert stopped > 30


def test_all_compiled_steps_are_those_of_torch(monotonic, batch, shake, monkeypatch):
    """And to the last bit those that are taken one by one."""
    stopped = 0
    for seed in range(6):
        attention = shake(build_attention(monotonic.config, 6, 6), seed)
        memory = attention.init_memory(batch.encoded)
        if seed % 2:
            memory = memory._replace(complete=torch.arange(len(batch.mask)) % 3 > 0)
        theirs = attention(batch.queries, memory, hard=True)
        with torch.no_grad(), monkeypatch.context() as without:
            if hard_loops() is not None:
                without.delattr(Monotonic, "_attend")
            ours = attention(batch.queries, memory, hard=True)
            one_by_one = Attention.forward(attention, batch.queries, memory, hard=True)
        assert torch.equal(ours.alpha, theirs.alpha) and ours.p_choose is theirs.p_choose is None
        torch.testing.assert_close(ours.weights, theirs.weights, atol=1e-6, rtol=0)
        torch.testing.assert_close(ours.contexts, theirs.contexts, atol=3e-6, rtol=1e-5)
        for name in ("alpha", "weights", "contexts"):
            assert torch.equal(getattr(ours, name), getattr(one_by_one, name)), name
        stopped += int(ours.alpha.sum())
    assert stopped > 100


def test_all_steps_of_a_subclass_are_as_it_says(batch, shake):
    """It overrides what a compiled loop knows nothing of."""

    class Halved(MoChA):
        opts_into = ("forward",)

        def _weights(self, alignment, queries, memory):
            return super()._weights(alignment, queries, memory) / 2

    attention = shake(Halved(MoChAConfig(), 6, 6))
    with torch.no_grad():
        output = attention(batch.queries, attention.init_memory(batch.encoded), hard=True)
    assert output.weights.any() and output.weights.sum(-1).max() < 0.51


def test_which_energies_are_compiled(monotonic, batch):
    """All of the table; none of a subclass that may compute something else."""
    attention = build_attention(monotonic.config, 6, 6)
    query = batch.queries[:, 0]
    assert attention.energy.as_plain(query, batch.values) is not None
    kind = type(attention.energy.energy)
    attention.energy.energy = type("Other", (kind,), {})(monotonic.config.energy, 6, 6)
    assert attention.energy.as_plain(query, batch.values) is None
