"""The law of attention, for every mechanism in the table: `forward` is `step` in a loop, for any batch."""

from functools import partial

import pytest
import torch

from mt.models.attention import build_attention
from mt.models.attention.base import Attention, AttentionOutput, Memory
from mt.models.attention.coverage import Coverage
from mt.models.attention.forced import forced_step
from mt.models.attention.location_aware import LocationAware
from mt.step import SELECTED_NONE

SIZE = 6


@pytest.fixture
def attention(case, shake) -> Attention:
    return shake(build_attention(case.config, SIZE, SIZE))


@pytest.fixture
def memory(attention, batch) -> Memory:
    return attention.init_memory(batch.encoded)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=3e-6, rtol=1e-5)


def test_forward_is_step_in_a_loop(attention, case, batch, memory):
    fast = attention(batch.queries, memory, hard=case.hard)
    slow = Attention.forward(attention, batch.queries, memory, hard=case.hard)
    assert fast.weights.dtype == torch.float32
    assert fast.weights.any() == attention.uses_source, "a case in which nothing is attended to tests nothing"
    for ours, theirs in zip(fast, slow, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            close(ours, theirs)


def test_forward_has_the_gradients_of_the_loop(attention, case, batch):
    gradients = []
    upstream = [torch.randn(8, 7, width, generator=torch.Generator().manual_seed(1)) for width in (SIZE, 11)]
    for run in (attention, partial(Attention.forward, attention)):
        values = batch.values.clone().requires_grad_()
        queries = batch.queries.clone().requires_grad_()
        memory = attention.init_memory(batch._replace(values=values).encoded)
        output = run(queries, memory, hard=case.hard)
        total = (output.contexts * upstream[0]).sum() + (output.weights * upstream[1]).sum()
        leaves = [values, queries, *attention.parameters()]
        gradients.append(torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True))
    assert gradients[0][0].any() == attention.uses_source
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5 * max(1.0, float(theirs.abs().max())), rtol=1e-4)


def test_a_sentence_alone_is_attended_to_as_in_any_batch(attention, case, batch):
    output = attention(batch.queries, attention.init_memory(batch.encoded), hard=case.hard)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        one = slice(row, row + 1)
        alone = batch._replace(values=batch.values[one, :length], mask=batch.mask[one, :length]).encoded
        of_one = attention(batch.queries[one], attention.init_memory(alone), hard=case.hard)
        close(output.contexts[row], of_one.contexts[0])
        close(output.weights[row, :, :length], of_one.weights[0])
        assert not output.weights[row, :, length:].any()


def test_padding_gets_no_gradient(attention, case, batch):
    values = batch.values.clone().requires_grad_()
    output = attention(batch.queries, attention.init_memory(batch._replace(values=values).encoded), hard=case.hard)
    (output.contexts.sum() + output.weights.square().sum()).backward()
    assert values.grad is not None
    assert not values.grad[~batch.mask].any()


def test_contexts_are_the_weighted_values_and_weights_a_share_of_one(attention, case, batch, memory):
    output = attention(batch.queries, memory, hard=case.hard)
    close(output.contexts, output.weights @ batch.values.masked_fill(~batch.mask[..., None], 0.0))
    assert (output.weights >= 0).all()
    sums = output.weights.sum(-1)
    assert (sums <= 1 + 1e-6).all()
    assert (sums >= 1 - 1e-6).all() >= attention.mass_preservation


def test_keys_and_values_are_told_apart(attention, case, batch, memory):
    """Weights come from the keys, contexts from the values."""
    before = attention(batch.queries, memory, hard=case.hard)
    after = attention(batch.queries, memory._replace(values=memory.values.flip(-1)), hard=case.hard)
    assert torch.equal(before.weights, after.weights)
    close(after.contexts, before.contexts.flip(-1))


def test_rows_can_be_kept_dropped_and_reordered_between_steps(attention, case, batch, memory):
    """What a beam search does to memory and state."""
    index = torch.tensor([5, 5, 0, 7, 3])
    first = attention.step(batch.queries[:, 0], memory, attention.init_state(memory, hard=case.hard), hard=case.hard)
    straight = attention.step(batch.queries[:, 1], memory, first.state, hard=case.hard)
    chosen = Memory(tuple(keys[index] for keys in memory.keys), memory.values[index], memory.mask[index])
    assert all(len(part) == 8 for part in first.state)
    moved = attention.step(batch.queries[index, 1], chosen, tuple(part[index] for part in first.state), hard=case.hard)
    close(moved.context, straight.context[index])
    close(AttentionOutput.stack([moved], 11).weights, AttentionOutput.stack([straight], 11).weights[index])


def test_a_step_leaves_nothing_behind_and_says_where_it_stopped(attention, case, batch, memory):
    """Hard steps alone have stops."""
    generator = torch.get_rng_state()
    before = [part.clone() for part in attention.init_state(memory, hard=case.hard)]
    state = attention.init_state(memory, hard=case.hard)
    step, again = (attention.step(batch.queries[:, 0], memory, state, hard=case.hard).attended for _ in range(2))
    assert torch.equal(step.weights, again.weights) and torch.equal(torch.get_rng_state(), generator)
    assert all(torch.equal(part, earlier) for part, earlier in zip(state, before, strict=True))
    assert (step.stops is not None) == case.hard
    if case.hard:
        assert step.stops.dtype == torch.int64
        selected = step.weights.any(-1)
        assert (step.stops[~selected] == SELECTED_NONE).all() and (step.stops[selected] >= 0).all()
        assert (step.stops[selected] < batch.mask.sum(1)[selected]).all()


def test_half_precision_values_give_half_precision_contexts(attention, case, batch, memory):
    memory = memory._replace(values=memory.values.bfloat16())
    for output in (
        attention(batch.queries, memory, hard=case.hard),
        Attention.forward(attention, batch.queries, memory, hard=case.hard),
    ):
        assert (output.contexts.dtype, output.weights.dtype) == (torch.bfloat16, torch.float32)


def test_a_step_that_is_forced_to_what_it_does_anyway_is_the_same(attention, case, batch, memory):
    """Its state, too, so that later steps go on from there; a position that is forced is all that is attended to."""
    state = attention.init_state(memory, hard=case.hard)
    width = memory.mask.shape[1]
    for query in batch.queries.unbind(1):
        step = attention.step(query, memory, state, hard=case.hard)
        weights = AttentionOutput.stack([step], width).weights[:, 0]
        forced = forced_step(attention, step, memory, state, weights)
        close(forced.context, step.context)
        if step.attended.stops is not None:
            assert forced.attended.stops.tolist() == step.attended.stops.tolist()
        # A soft attention over chunks goes on from where it may have stopped, of which the weights do not tell.
        if case.hard or step.alpha is None or step.alpha.equal(weights):
            for ours, theirs in zip(forced.state, step.state, strict=True):
                close(ours.float(), theirs.float())
        state = step.state
    first = torch.zeros_like(weights)
    first[:, 0] = 1.0
    forced = forced_step(attention, step, memory, state, first)
    close(forced.context, batch.values[:, 0])
    assert AttentionOutput.stack([forced], width).weights[:, 0].equal(first)
    # The next step knows of what was forced, and not of what it would have done.
    if isinstance(attention, Coverage | LocationAware):
        close(forced.state[0], first + (state[0] if isinstance(attention, Coverage) else 0.0))
