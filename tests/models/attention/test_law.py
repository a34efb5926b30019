"""The law of attention, for every mechanism in the table: `forward` is `step` in a loop, for any batch."""

import pytest
import torch

from mt.models.attention import Attention, Memory, build_attention

SIZE = 6


@pytest.fixture
def attention(case, shake) -> Attention:
    return shake(build_attention(case.config, SIZE, SIZE))


def looped(attention: Attention, memory: Memory, queries: torch.Tensor, hard: bool):
    state, contexts, weights = attention.start(memory), [], []
    for query in queries.unbind(1):
        read = attention.step(query, memory, state, hard=hard)
        state = read.state
        contexts.append(read.context)
        weights.append(read.weights)
    return torch.stack(contexts, 1), torch.stack(weights, 1)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-6, rtol=1e-5)


def test_forward_is_step_in_a_loop(attention, case, batch):
    memory = attention.remember(batch.values, batch.mask)
    fast, slow = attention(batch.queries, memory, hard=case.hard), looped(attention, memory, batch.queries, case.hard)
    assert fast[1].dtype == torch.float32
    assert fast[1].any() != attention.blind, "a case in which nothing is read tests nothing"
    for ours, theirs in zip(fast, slow, strict=True):
        close(ours, theirs)


def test_forward_has_the_gradients_of_the_loop(attention, case, batch):
    gradients = []
    upstream = [torch.randn(8, 7, width, generator=torch.Generator().manual_seed(1)) for width in (SIZE, 11)]
    for run in (lambda *arguments: attention(*arguments, hard=case.hard), None):
        values, queries = batch.values.clone().requires_grad_(), batch.queries.clone().requires_grad_()
        memory = attention.remember(values, batch.mask)
        outputs = run(queries, memory) if run else looped(attention, memory, queries, case.hard)
        total = sum((output * weight).sum() for output, weight in zip(outputs, upstream, strict=True))
        leaves = [values, queries, *attention.parameters()]
        gradients.append(torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True))
    assert gradients[0][0].any() != attention.blind
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5 * max(1.0, float(theirs.abs().max())), rtol=1e-4)


def test_a_sentence_alone_reads_as_in_any_batch(attention, case, batch):
    contexts, weights = attention(batch.queries, attention.remember(batch.values, batch.mask), hard=case.hard)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        alone = attention.remember(batch.values[row : row + 1, :length], batch.mask[row : row + 1, :length])
        context, weight = attention(batch.queries[row : row + 1], alone, hard=case.hard)
        close(contexts[row], context[0])
        close(weights[row, :, :length], weight[0])
        assert not weights[row, :, length:].any()


def test_padding_gets_no_gradient(attention, case, batch):
    values = batch.values.clone().requires_grad_()
    contexts, weights = attention(batch.queries, attention.remember(values, batch.mask), hard=case.hard)
    (contexts.sum() + weights.square().sum()).backward()
    assert values.grad is not None
    assert not values.grad[~batch.mask].any()


def test_contexts_are_the_weighted_values_and_weights_a_share_of_one(attention, case, batch):
    contexts, weights = attention(batch.queries, attention.remember(batch.values, batch.mask), hard=case.hard)
    close(contexts, weights @ batch.values.masked_fill(~batch.mask[..., None], 0.0))
    assert (weights >= 0).all()
    assert (weights.sum(-1) <= 1 + 1e-6).all()


def test_rows_can_be_kept_dropped_and_reordered_between_steps(attention, case, batch):
    """What a beam search does to memory and state."""
    index = torch.tensor([5, 5, 0, 7, 3])
    memory = attention.remember(batch.values, batch.mask)
    first = attention.step(batch.queries[:, 0], memory, attention.start(memory), hard=case.hard)
    straight = attention.step(batch.queries[:, 1], memory, first.state, hard=case.hard)
    chosen = Memory(tuple(keys[index] for keys in memory.keys), memory.values[index], memory.mask[index])
    assert all(len(part) == 8 for part in first.state)
    moved = attention.step(batch.queries[index, 1], chosen, tuple(part[index] for part in first.state), hard=case.hard)
    close(moved.context, straight.context[index])
    close(moved.weights, straight.weights[index])


def test_a_step_leaves_nothing_behind(attention, case, batch):
    memory = attention.remember(batch.values, batch.mask)
    before = [part.clone() for part in attention.start(memory)]
    state = attention.start(memory)
    reads = [attention.step(batch.queries[:, 0], memory, state, hard=case.hard) for _ in range(2)]
    assert torch.equal(reads[0].weights, reads[1].weights)
    assert all(torch.equal(part, earlier) for part, earlier in zip(state, before, strict=True))


def test_stops_are_given_by_hard_steps_alone(attention, case, batch):
    memory = attention.remember(batch.values, batch.mask)
    read = attention.step(batch.queries[:, 0], memory, attention.start(memory), hard=case.hard)
    if not case.hard:
        assert read.stops is None
    else:
        assert read.stops.dtype == torch.int64
        nowhere = ~read.weights.any(-1)
        assert (read.stops[nowhere] == batch.mask.shape[1]).all()
        assert (read.stops[~nowhere] < batch.mask.sum(1)[~nowhere]).all()


def test_half_precision_values_give_half_precision_contexts(attention, case, batch):
    memory = attention.remember(batch.values, batch.mask)
    memory = memory._replace(values=memory.values.bfloat16())
    contexts, weights = attention(batch.queries, memory, hard=case.hard)
    assert (contexts.dtype, weights.dtype) == (torch.bfloat16, torch.float32)
