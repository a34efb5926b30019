"""Stochastic hard attention: its samples by their frequency, and how it learns from them."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from mt.models.attention.base import Attention, AttentionOutput, Memory
from mt.models.attention.energy import DotConfig, GeneralConfig
from mt.models.attention.stochastic import Stochastic, StochasticConfig
from tests.components import loss_beside
from tests.models.small import encoded

SIZE = 6


def build(shake, scale: float = 0.8, **options) -> Stochastic:
    return shake(Stochastic(StochasticConfig(energy=GeneralConfig(), **options), SIZE, SIZE), scale=scale)


def is_one_hot(weights: Tensor) -> Tensor:
    """Of each row."""
    return (weights == 1).sum(-1) + (weights == 0).sum(-1) == weights.shape[-1]


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


def test_a_sentence_attends_to_samples_or_to_expectations_throughout(shake):
    torch.manual_seed(1)
    attention = build(shake, sample_ratio=0.3).train()
    memory = attention.init_memory(encoded(torch.randn(4000, 5, SIZE)))
    queries = torch.randn(4000, 4, SIZE)
    output = attention(queries, memory)
    stepped = Attention.forward(attention, queries, memory)
    for weights in (output.weights, stepped.weights):
        sampled = is_one_hot(weights)
        assert torch.equal(sampled.any(1), sampled.all(1))
        assert sampled[:, 0].float().mean().item() == pytest.approx(0.3, abs=5 * 0.5 / math.sqrt(4000))
    sampled = is_one_hot(output.weights)[:, 0]
    assert torch.equal(output.weights[~sampled], output.alpha[~sampled])


# REINFORCE: its gradient against every sequence of positions, and its baseline.
SOURCE = torch.ones(1, 3, dtype=torch.bool)
TARGET = torch.ones(1, 2, dtype=torch.bool)


def matrix(attention: Stochastic) -> Tensor:
    """The energy's W."""
    return next(parameter for parameter in attention.energy.parameters() if parameter.dim() == 2)


class Speaker:
    """log p(y | s, x) of fixed target words, from the contexts."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(4)
        self.values = torch.randn(1, 3, SIZE, generator=generator)
        self.queries = torch.randn(1, 2, SIZE, generator=generator)
        self.output = torch.randn(SIZE, 5, generator=generator)

    def losses(self, contexts: Tensor) -> Tensor:
        """The cross entropy of the words 1, 3, the second of which depends on both contexts: [1, 2]."""
        log_probs = (contexts.cumsum(1) @ self.output).log_softmax(-1)
        return -torch.stack((log_probs[:, 0, 1], log_probs[:, 1, 3]), 1)

    def gradients(self, attention: Stochastic) -> tuple[AttentionOutput, Tensor]:
        """What a training pass attends to, and its gradient in the energy's matrix."""
        output = attention(self.queries, self.memory(attention))
        losses = self.losses(output.contexts)
        options = StochasticConfig(reinforce_weight=1.0, entropy_weight=0.0)
        total = losses.sum() + loss_beside(options, attention, output, losses.detach(), SOURCE, TARGET)
        return output, torch.autograd.grad(total, matrix(attention))[0]

    def memory(self, attention: Stochastic) -> Memory:
        return attention.init_memory(encoded(self.values))


def expected_gradient(attention: Stochastic, speaker: Speaker) -> Tensor:
    """That of - E[log p(y | s, x)], over all sequences s."""
    alpha = attention.eval()(speaker.queries, speaker.memory(attention)).alpha[0]
    total = torch.zeros(())
    for positions in itertools.product(range(3), repeat=2):
        share = alpha[0, positions[0]] * alpha[1, positions[1]]
        total = total + share * speaker.losses(speaker.values[:, list(positions)]).sum()
    return torch.autograd.grad(total, matrix(attention))[0]


@pytest.mark.parametrize("baseline", [math.nan, 0.0, -7.5])
def test_reinforce_has_the_gradient_of_the_expected_log_probability(baseline: float, shake):
    torch.manual_seed(2)
    attention = build(shake, 0.3, sample_ratio=1.0)
    speaker = Speaker()
    truth = expected_gradient(attention, speaker)
    result: dict[tuple[int, ...], Tensor] = {}
    for _ in range(300):
        attention.train().baseline.fill_(baseline)
        output, gradient = speaker.gradients(attention)
        positions = tuple(output.weights[0].argmax(-1).tolist())
        result[positions] = gradient * output.alpha[0, range(2), positions].prod().detach()
    assert len(result) == 3**2
    assert truth.abs().max() > 0.01
    torch.testing.assert_close(sum(result.values()), truth, atol=1e-6, rtol=1e-4)


def steps_of(rows: list[list[float]]) -> AttentionOutput:
    """Steps that sampled the first position of each distribution: [1, T, S]."""
    alpha = torch.tensor([rows], requires_grad=True)
    weights = torch.zeros_like(alpha).index_fill(-1, torch.tensor(0), 1.0)
    return AttentionOutput(torch.zeros(1, len(rows), 1), weights, alpha)


def test_auxiliary_loss_worked_out_by_hand():
    options = StochasticConfig(sample_ratio=1.0, reinforce_weight=2.0, entropy_weight=3.0)
    attention = Stochastic(options, 1, 1).eval()
    attention.baseline.fill_(-2.0)
    output = steps_of([[0.25, 0.75], [0.5, 0.5], [0.125, 0.875]])
    mask = torch.tensor([[True, True, False]])
    source_mask = torch.ones(1, 2, dtype=torch.bool)
    loss = loss_beside(options, attention, output, torch.tensor([[1.0, 0.5, 0.0]]), source_mask, mask)
    # The rewards are -1 and -0.5, by 1 and 1.5 above the baseline; the returns 2.5 and 1.5. The third step is padding.
    log_p = 2.5 * math.log(0.25) + 1.5 * math.log(0.5)
    entropy = 0.25 * math.log(4) + 0.75 * math.log(4 / 3) + math.log(2)
    assert loss.item() == pytest.approx(-2 * log_p - 3 * entropy, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, output.alpha)
    # - 2 R / alpha where it was sampled, and 3 (1 + log alpha) everywhere.
    expected = [
        [-20 + 3 * (1 + math.log(0.25)), 3 * (1 + math.log(0.75))],
        [-6 + 3 * (1 + math.log(0.5)), 3 * (1 + math.log(0.5))],
        [0.0, 0.0],
    ]
    torch.testing.assert_close(gradient[0], torch.tensor(expected))


def test_what_was_not_sampled_learns_nothing_from_rewards():
    scores = torch.tensor([[[0.0, 1.0], [2.0, -1.0]]], requires_grad=True)
    alpha = scores.softmax(-1)
    attention = Stochastic(StochasticConfig(), 1, 1).eval()
    options = StochasticConfig(reinforce_weight=1.0, entropy_weight=0.0)
    expectation = AttentionOutput(torch.zeros(1, 2, 1), alpha, alpha)
    loss = loss_beside(options, attention, expectation, torch.ones(1, 2), SOURCE[:, :2], TARGET)
    assert torch.autograd.grad(loss, scores)[0].abs().max() < 1e-6


def test_the_baseline_starts_at_the_first_reward_and_then_follows_slowly():
    attention = Stochastic(StochasticConfig(baseline_decay=0.75), 1, 1).train()

    def after(loss: float) -> float:
        attention.after_update(loss)
        return attention.baseline.item()

    assert math.isnan(attention.baseline)
    assert after(2.0) == -2.0
    assert after(6.0) == -3.0  # 0.75 * -2 + 0.25 * -6
    again = Stochastic(StochasticConfig(baseline_decay=0.75), 1, 1)
    again.load_state_dict(attention.state_dict())
    assert again.baseline.item() == -3.0


def test_where_nothing_was_likely_gradients_stay_finite():
    options = StochasticConfig(reinforce_weight=1.0, entropy_weight=1.0)
    attention = Stochastic(options, 1, 1).train()
    attention.baseline.fill_(0.0)
    output = steps_of([[0.0, 1.0], [1e-45, 1.0]])
    extra = loss_beside(options, attention, output, torch.ones(1, 2), SOURCE[:, :2], TARGET)
    assert extra.isfinite()
    assert torch.autograd.grad(extra, output.alpha)[0].isfinite().all()
