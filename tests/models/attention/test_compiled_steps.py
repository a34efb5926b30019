"""Hard steps are the same compiled, as where nobody wants a gradient, and in PyTorch."""

import torch

from mt.models.attention import arriving, build_attention


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
            for name in ("stops", "first", "energies"):
                assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
            assert all(torch.equal(*parts) for parts in zip(ours.state, theirs.state, strict=True))
            torch.testing.assert_close(ours.weights, theirs.weights, atol=1e-6, rtol=0)
            torch.testing.assert_close(ours.context, theirs.context, atol=3e-6, rtol=1e-5)
            stopped += int((ours.stops >= 0).sum())
            memory = arriving.trim(attention, memory, state)
    assert stopped > 30


def test_which_energies_are_compiled(monotonic, batch):
    """All of the table; none of a subclass that may compute something else."""
    attention = build_attention(monotonic.config, 6, 6)
    query = batch.queries[:, 0]
    assert attention.energy.as_plain(query) is not None
    kind = type(attention.energy.energy)
    attention.energy.energy = type("Other", (kind,), {})(monotonic.config.energy, 6, 6)
    assert attention.energy.as_plain(query) is None
