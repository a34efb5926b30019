"""Stochastic hard attention: its distribution, and samples by their frequency."""

import math

import pytest
import torch
from torch import Tensor

from mt.models.attention.energy import DotConfig, GeneralConfig
from mt.models.attention.stochastic import Stochastic, StochasticConfig
from mt.models.encoders import Encoded

SIZE = 6


def build(shake, scale: float = 0.8, **options) -> Stochastic:
    return shake(Stochastic(StochasticConfig(energy=GeneralConfig(), **options), SIZE, SIZE), scale=scale)


def encoded(values: Tensor) -> Encoded:
    return Encoded(values, values, torch.ones(values.shape[:2], dtype=torch.bool), values[:, 0])


def is_one_hot(weights: Tensor) -> Tensor:
    """Of each row."""
    return (weights == 1).sum(-1) + (weights == 0).sum(-1) == weights.shape[-1]


def test_soft_is_the_softmax_over_the_sentence(batch, shake):
    attention = build(shake)
    memory = attention.init_memory(batch.encoded)
    output = attention(batch.queries, memory)
    energies = attention.energy(batch.queries, memory.keys[0])
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        torch.testing.assert_close(output.weights[row, :, :length], energies[row, :, :length].softmax(-1))
    assert torch.equal(output.weights, output.alpha)


def test_hard_is_the_most_probable_position(batch, shake):
    attention = build(shake)
    memory = attention.init_memory(batch.encoded)
    alpha = attention(batch.queries, memory).alpha
    state = attention.init_state(memory)
    for i, query in enumerate(batch.queries.unbind(1)):
        step = attention.step(query, memory, state, hard=True)
        state = step.state
        for row in range(8):
            best = max(range(11), key=lambda s: alpha[row, i, s].item())
            assert step.attended.stops[row] == best
            assert (step.attended.weights[row].tolist(), step.attended.first[row]) == ([1.0], best)
            assert torch.equal(step.context[row], batch.values[row, best])


def test_in_training_positions_are_sampled_by_their_probability():
    torch.manual_seed(0)
    samples = 20_000
    logits = [0.0, math.log(3.0), math.log(6.0)]
    attention = Stochastic(StochasticConfig(energy=DotConfig(), sample_ratio=1.0), 1, 1).train()
    values = torch.tensor(logits)[:, None].expand(samples, 3, 1)
    memory = attention.init_memory(encoded(values))
    output = attention(torch.ones(samples, 2, 1), memory)
    assert is_one_hot(output.weights).all()
    # Five standard deviations of a share.
    bound = 5 * 0.5 / math.sqrt(samples)
    torch.testing.assert_close(output.weights.mean(0), torch.tensor([[0.1, 0.3, 0.6]] * 2), atol=bound, rtol=0)
    # Steps are sampled apart from one another.
    both = (output.weights[:, 0, 2] * output.weights[:, 1, 2]).mean().item()
    assert both == pytest.approx(0.36, abs=bound)


@pytest.mark.parametrize("stepped", [False, True])
def test_a_sentence_attends_to_samples_or_to_expectations_throughout(stepped: bool, shake):
    torch.manual_seed(1)
    attention = build(shake, sample_ratio=0.3).train()
    values = torch.randn(4000, 5, SIZE)
    queries = torch.randn(4000, 4, SIZE)
    memory = attention.init_memory(encoded(values))
    if stepped:
        state = attention.init_state(memory)
        rows = []
        for query in queries.unbind(1):
            step = attention.step(query, memory, state)
            state = step.state
            rows.append(step.attended.weights)
        weights = torch.stack(rows, 1)
        alpha = None
    else:
        output = attention(queries, memory)
        weights = output.weights
        alpha = output.alpha
    sampled = is_one_hot(weights)
    assert torch.equal(sampled.any(1), sampled.all(1))
    assert sampled[:, 0].float().mean().item() == pytest.approx(0.3, abs=5 * 0.5 / math.sqrt(4000))
    if alpha is not None:
        assert torch.equal(weights[~sampled[:, 0]], alpha[~sampled[:, 0]])
