"""Stochastic hard attention: its draws by their frequency, and REINFORCE against every sequence of positions."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from mt.models.attention import Memory, AttentionOutput
from mt.models.attention.energy import DotConfig, GeneralConfig
from mt.models.attention.stochastic import Hard, StochasticConfig

SIZE = 6
SOURCE, TARGET = torch.ones(1, 3, dtype=torch.bool), torch.ones(1, 2, dtype=torch.bool)


def build(shake, scale: float = 0.8, **options) -> Hard:
    return shake(Hard(StochasticConfig(energy=GeneralConfig(), **options), SIZE, SIZE), scale=scale)


def matrix(attention: Hard) -> Tensor:
    """The energy's W."""
    return next(parameter for parameter in attention.energy.parameters() if parameter.dim() == 2)


def is_one_hot(weights: Tensor) -> Tensor:
    """Of each row."""
    return (weights == 1).sum(-1) + (weights == 0).sum(-1) == weights.shape[-1]


def test_soft_is_the_softmax_over_the_sentence(batch, shake):
    attention = build(shake)
    memory = attention.init_memory(batch.encoded)
    reads = attention.reads(batch.queries, memory)
    energies = attention.energy(batch.queries, memory.keys[0])
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        torch.testing.assert_close(reads.weights[row, :, :length], energies[row, :, :length].softmax(-1))
    assert torch.equal(reads.weights, reads.alpha)


def test_hard_is_the_likeliest_position(batch, shake):
    attention = build(shake)
    memory = attention.init_memory(batch.encoded)
    alpha, state = attention.reads(batch.queries, memory).alpha, attention.init_state(memory)
    for i, query in enumerate(batch.queries.unbind(1)):
        read = attention.step(query, memory, state, hard=True)
        state = read.state
        for row in range(8):
            likeliest = max(range(11), key=lambda s: alpha[row, i, s].item())
            assert read.stops[row] == likeliest
            assert torch.equal(read.weights[row], torch.eye(11)[likeliest])
            assert torch.equal(read.context[row], batch.values[row, likeliest])


def test_in_training_positions_are_drawn_as_often_as_they_are_likely():
    torch.manual_seed(0)
    draws, logits = 20_000, [0.0, math.log(3.0), math.log(6.0)]
    attention = Hard(StochasticConfig(energy=DotConfig(), sampled=1.0), 1, 1).train()
    values = torch.tensor(logits)[:, None].expand(draws, 3, 1)
    memory = attention.remember(values, torch.ones(draws, 3, dtype=torch.bool))
    reads = attention.reads(torch.ones(draws, 2, 1), memory)
    assert is_one_hot(reads.weights).all()
    # Five standard deviations of a share.
    bound = 5 * 0.5 / math.sqrt(draws)
    torch.testing.assert_close(reads.weights.mean(0), torch.tensor([[0.1, 0.3, 0.6]] * 2), atol=bound, rtol=0)
    # Steps are drawn apart from one another.
    both = (reads.weights[:, 0, 2] * reads.weights[:, 1, 2]).mean().item()
    assert both == pytest.approx(0.36, abs=bound)


@pytest.mark.parametrize("stepped", [False, True])
def test_a_sentence_reads_either_draws_or_expectations_throughout(stepped: bool, shake):
    torch.manual_seed(1)
    attention = build(shake, sampled=0.3).train()
    values, queries = torch.randn(4000, 5, SIZE), torch.randn(4000, 4, SIZE)
    memory = attention.remember(values, torch.ones(4000, 5, dtype=torch.bool))
    if stepped:
        state, rows = attention.init_state(memory), []
        for query in queries.unbind(1):
            read = attention.step(query, memory, state)
            state = read.state
            rows.append(read.weights)
        weights, alpha = torch.stack(rows, 1), None
    else:
        reads = attention.reads(queries, memory)
        weights, alpha = reads.weights, reads.alpha
    drawn = is_one_hot(weights)
    assert torch.equal(drawn.any(1), drawn.all(1))
    assert drawn[:, 0].float().mean().item() == pytest.approx(0.3, abs=5 * 0.5 / math.sqrt(4000))
    if alpha is not None:
        assert torch.equal(weights[~drawn[:, 0]], alpha[~drawn[:, 0]])


# REINFORCE


class Speaker:
    """log p(y | s, x) of fixed target words, from the contexts."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(4)
        self.values = torch.randn(1, 3, SIZE, generator=generator)
        self.queries = torch.randn(1, 2, SIZE, generator=generator)
        self.output = torch.randn(SIZE, 5, generator=generator)

    def losses(self, contexts: Tensor) -> Tensor:
        """The cross entropy of the words 1, 3: [1, 2]."""
        log_probs = (contexts @ self.output).log_softmax(-1)
        return -torch.stack((log_probs[:, 0, 1], log_probs[:, 1, 3]), 1)

    def gradients(self, attention: Hard) -> tuple[AttentionOutput, Tensor]:
        """What a training pass reads, and its gradient in the energy's matrix."""
        reads = attention.reads(self.queries, self.remember(attention))
        losses = self.losses(reads.contexts)
        total = losses.sum() + attention.auxiliary_loss(reads, losses.detach(), SOURCE, TARGET)
        return reads, torch.autograd.grad(total, matrix(attention))[0]

    def remember(self, attention: Hard) -> Memory:
        return attention.remember(self.values, SOURCE)


def expected_gradient(attention: Hard, speaker: Speaker) -> Tensor:
    """That of - E[log p(y | s, x)], over all sequences s."""
    alpha = attention.eval().reads(speaker.queries, speaker.remember(attention)).alpha[0]
    total = torch.zeros(())
    for positions in itertools.product(range(3), repeat=2):
        share = alpha[0, positions[0]] * alpha[1, positions[1]]
        total = total + share * speaker.losses(speaker.values[:, list(positions)]).sum()
    return torch.autograd.grad(total, matrix(attention))[0]


@pytest.mark.parametrize("baseline", [0.0, -7.5])
def test_reinforce_has_the_gradient_of_the_expected_log_probability(baseline: float, shake):
    torch.manual_seed(2)
    attention, speaker = build(shake, 0.3, sampled=1.0, reinforce=1.0, entropy=0.0), Speaker()
    truth = expected_gradient(attention, speaker)
    found: dict[tuple[int, ...], Tensor] = {}
    for _ in range(300):
        attention.train().average.fill_(baseline)
        reads, gradient = speaker.gradients(attention)
        positions = tuple(reads.weights[0].argmax(-1).tolist())
        found[positions] = gradient * reads.alpha[0, range(2), positions].prod().detach()
    assert len(found) == 3**2
    assert truth.abs().max() > 0.01
    torch.testing.assert_close(sum(found.values()), truth, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("sampled", [0.0, 0.5])
def test_expected_contexts_are_learnt_from_without_reinforce(sampled: float, shake):
    torch.manual_seed(3)
    speaker, gradients = Speaker(), []
    for reinforce in (0.0, 1.0):
        attention = build(shake, sampled=sampled, reinforce=reinforce, entropy=0.0).train()
        attention.average.fill_(3.0)
        reads, gradient = speaker.gradients(attention)
        while sampled and is_one_hot(reads.weights).all():
            reads, gradient = speaker.gradients(attention)
        gradients.append(gradient)
    assert gradients[0].abs().max() > 0.1
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=1e-5)


def reads_of(rows: list[list[float]], *, drawn: int = 0) -> AttentionOutput:
    """Steps that draw one position out of each distribution: [1, T, S]."""
    alpha = torch.tensor([rows], requires_grad=True)
    weights = torch.zeros_like(alpha).index_fill(-1, torch.tensor(drawn), 1.0)
    return AttentionOutput(torch.zeros(1, len(rows), 1), weights, alpha)


def test_extra_loss_worked_out_by_hand():
    attention = Hard(StochasticConfig(sampled=1.0, reinforce=2.0, entropy=3.0), 1, 1).eval()
    attention.average.fill_(-4.0)
    reads, mask = reads_of([[0.25, 0.75], [0.5, 0.5], [0.125, 0.875]]), torch.tensor([[True, True, False]])
    extra = attention.auxiliary_loss(reads, torch.tensor([[1.0, 0.5, 0.0]]), torch.ones(1, 2, dtype=torch.bool), mask)
    # The reward is -1.5, by 2.5 above the baseline; log 1/4 + log 1/2 = -3 log 2. The third step is padding.
    chosen, entropy = -3 * math.log(2), 0.25 * math.log(4) + 0.75 * math.log(4 / 3) + math.log(2)
    assert extra.item() == pytest.approx(-2 * 2.5 * chosen - 3 * entropy, rel=1e-5)
    (gradient,) = torch.autograd.grad(extra, reads.alpha)
    # - 2 * 2.5 / alpha where it was drawn, and 3 (1 + log alpha) everywhere.
    expected = [
        [-20 + 3 * (1 + math.log(0.25)), 3 * (1 + math.log(0.75))],
        [-10 + 3 * (1 + math.log(0.5)), 3 * (1 + math.log(0.5))],
        [0.0, 0.0],
    ]
    torch.testing.assert_close(gradient[0], torch.tensor(expected))


def test_the_entropy_term_evens_the_attention_out(shake):
    attention, speaker = build(shake, sampled=0.0, reinforce=0.0, entropy=1.0).train(), Speaker()

    def extra() -> Tensor:
        reads = attention.reads(speaker.queries, speaker.remember(attention))
        return attention.auxiliary_loss(reads, torch.zeros(1, 2), SOURCE, TARGET)

    before = extra()
    before.backward()
    with torch.no_grad():
        matrix(attention).sub_(0.01 * matrix(attention).grad)
    assert 0 < -before < -extra() <= 2 * math.log(3)


def test_the_baseline_starts_at_the_first_reward_and_then_follows_slowly():
    attention = Hard(StochasticConfig(baseline=0.75), 1, 1).train()
    source, target = torch.ones(2, 1, dtype=torch.bool), torch.ones(2, 2, dtype=torch.bool)
    reads = AttentionOutput(torch.zeros(2, 2, 1), torch.ones(2, 2, 1), torch.ones(2, 2, 1))

    def after(*losses: float) -> float:
        """The baseline after a batch of two sentences with these losses, in halves at two steps."""
        attention.auxiliary_loss(reads, torch.tensor(losses)[:, None].expand(2, 2) / 2, source, target)
        return attention.average.item()

    assert math.isnan(attention.average)
    assert after(1.0, 3.0) == -2.0
    assert after(6.0, 6.0) == -3.0  # 0.75 * -2 + 0.25 * -6
    attention.eval()
    assert after(100.0, 100.0) == -3.0
    again = Hard(StochasticConfig(baseline=0.75), 1, 1)
    again.load_state_dict(attention.state_dict())
    assert again.average.item() == -3.0


def test_where_nothing_was_likely_gradients_stay_finite():
    attention = Hard(StochasticConfig(reinforce=1.0, entropy=1.0), 1, 1).train()
    attention.average.fill_(0.0)
    reads = reads_of([[0.0, 1.0], [1e-45, 1.0]])
    extra = attention.auxiliary_loss(reads, torch.ones(1, 2), SOURCE[:, :2], TARGET)
    assert extra.isfinite()
    assert torch.autograd.grad(extra, reads.alpha)[0].isfinite().all()
