"""The process, followed by a loop in plain Python and by drawing lots, against what the mechanism computes."""

import math
import random

import pytest
import torch
from torch import Tensor

from mt.models.attention import Memory
from mt.models.attention.energy import ConcatConfig, DotConfig, EnergyConfig, GeneralConfig
from mt.models.attention.mocha import MoChA, MoChAConfig
from mt.models.attention.monotonic import Monotonic, MonotonicConfig
from mt.ops import oracle

EXHAUSTED = ("zeros", "last")
SIZE = 6


def build(shake, seed: int = 0, **options) -> Monotonic:
    return shake(Monotonic(MonotonicConfig(energy=GeneralConfig(), **options), SIZE, SIZE), seed)


def probabilities(attention: Monotonic, memory: Memory, queries: Tensor) -> Tensor:
    return torch.sigmoid(attention.energy(queries, memory.keys[0]))


def follow(p: list[list[float]], length: int, exhausted: str, decide) -> list[int | None]:
    """Where each step stops, None where nowhere. `decide` says whether to stop, given the probability."""
    begin: int | None = 0
    stops: list[int | None] = []
    for row in p:
        if begin is not None:
            found = next((j for j in range(begin, length) if decide(row[j])), None)
            begin = length - 1 if found is None and exhausted == "last" else found
        stops.append(begin)
    return stops


@pytest.mark.parametrize("exhausted", EXHAUSTED)
def test_hard_steps_follow_the_process(exhausted: str, batch, shake):
    seen = {"moved": 0, "stayed": 0, "nowhere": 0, "end": 0}
    for seed in range(5):
        attention = build(shake, seed, exhausted=exhausted)
        memory = attention.remember(batch.values, batch.mask)
        p, state = probabilities(attention, memory, batch.queries), attention.start(memory)
        lengths = batch.mask.sum(1).tolist()
        truth = [
            follow(rows.tolist(), length, exhausted, lambda probability: probability >= 0.5)
            for rows, length in zip(p, lengths, strict=True)
        ]
        for i, query in enumerate(batch.queries.unbind(1)):
            read = attention.step(query, memory, state, hard=True)
            state = read.state
            for row, length in enumerate(lengths):
                stop, before = truth[row][i], truth[row][i - 1] if i else 0
                assert read.stops[row] == (batch.mask.shape[1] if stop is None else stop)
                assert read.weights[row].nonzero().flatten().tolist() == ([] if stop is None else [stop])
                expected = torch.zeros(SIZE) if stop is None else batch.values[row, stop]
                assert torch.equal(read.context[row], expected)
                seen["nowhere"] += stop is None
                seen["stayed"] += stop is not None and stop == before
                seen["moved"] += stop is not None and before is not None and stop > before
                seen["end"] += stop == length - 1 and max(p[row, i, before or 0 : length].tolist()) < 0.5
    assert seen["moved"] > 20 and seen["stayed"] > 20
    assert (seen["nowhere"] > 20) == (exhausted == "zeros")
    assert (seen["end"] > 20) == (exhausted == "last")


@pytest.mark.parametrize("exhausted", EXHAUSTED)
def test_soft_weights_are_the_expectation(exhausted: str, batch, shake):
    attention = build(shake, exhausted=exhausted)
    memory = attention.remember(batch.values, batch.mask)
    _, weights = attention(batch.queries, memory)
    p = probabilities(attention, memory, batch.queries).double()
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        real = p[row : row + 1, :, :length].clone()
        if exhausted == "last":
            real[..., -1] = 1.0
        truth = oracle.expected_alignment(real, torch.eye(length)[:1])[0]
        torch.testing.assert_close(weights[row, :, :length].double(), truth, atol=1e-6, rtol=0)


@pytest.mark.parametrize("exhausted", EXHAUSTED)
def test_drawing_lots_agrees_with_the_expectation(exhausted: str, batch, shake):
    lots, attention = random.Random(3), build(shake, exhausted=exhausted)
    memory = attention.remember(batch.values, batch.mask)
    _, weights = attention(batch.queries, memory)
    row, length, draws = 3, 7, 4000
    p = probabilities(attention, memory, batch.queries)[row].tolist()
    counts = torch.zeros(7, 11)
    for _ in range(draws):
        for i, stop in enumerate(follow(p, length, exhausted, lambda probability: lots.random() < probability)):
            if stop is not None:
                counts[i, stop] += 1
    # Five standard deviations of a share.
    torch.testing.assert_close(counts / draws, weights[row].detach(), atol=5 * 0.5 / math.sqrt(draws), rtol=0)
    assert (exhausted == "last") == (weights[row].sum(-1) > 1 - 1e-6).all()


@pytest.mark.parametrize("exhausted", EXHAUSTED)
def test_sharp_probabilities_read_alike_soft_and_hard(exhausted: str, batch, shake):
    attention = build(shake, exhausted=exhausted)
    with torch.no_grad():
        attention.energy.gain.fill_(1e6)
    memory = attention.remember(batch.values, batch.mask)
    p = probabilities(attention, memory, batch.queries)
    assert ((p == 0) | (p == 1)).all() and p.any() and not p.all()
    for soft, hard in zip(attention(batch.queries, memory), attention(batch.queries, memory, hard=True), strict=True):
        torch.testing.assert_close(soft, hard, atol=1e-6, rtol=0)


def test_a_tie_stops(batch):
    attention = Monotonic(MonotonicConfig(energy_bias=0.0), SIZE, SIZE).eval()
    with torch.no_grad():
        attention.energy.gain.zero_()
    memory = attention.remember(batch.values, batch.mask)
    assert (probabilities(attention, memory, batch.queries) == 0.5).all()
    assert (attention.step(batch.queries[:, 0], memory, attention.start(memory), hard=True).stops == 0).all()


def test_an_energy_just_below_zero_does_not_stop(batch):
    """Though its sigmoid is 0.5 in float32."""
    attention = Monotonic(MonotonicConfig(offset=-1e-9, exhausted="zeros"), SIZE, SIZE).eval()
    with torch.no_grad():
        attention.energy.gain.zero_()
    memory = attention.remember(batch.values, batch.mask)
    assert (probabilities(attention, memory, batch.queries) == 0.5).all()
    assert (attention.step(batch.queries[:, 0], memory, attention.start(memory), hard=True).stops == 11).all()


def test_a_first_step_begins_at_the_first_position(batch, shake):
    attention = build(shake)
    memory = attention.remember(batch.values, batch.mask)
    (start,) = attention.start(memory)
    assert start.tolist() == [[1.0] + [0.0] * 10] * 8


def test_noise_has_its_size_and_is_met_in_training_alone():
    def energies(noise: float, *, training: bool) -> Tensor:
        """One position and one step, where the weight is p itself, of 20,000 sentences."""
        config = MonotonicConfig(energy=DotConfig(), energy_bias=0.25, noise_std=noise, mass_preservation=False)
        attention, zeros = Monotonic(config, SIZE, SIZE).train(training), torch.zeros(20_000, 1, SIZE)
        memory = attention.remember(zeros, torch.ones(20_000, 1, dtype=torch.bool))
        return torch.logit(attention(zeros, memory)[1].double()).flatten()

    torch.manual_seed(0)
    assert energies(1.5, training=True).mean().item() == pytest.approx(0.25, abs=0.05)
    assert energies(1.5, training=True).std().item() == pytest.approx(1.5, abs=0.05)
    for silent in (energies(1.5, training=False), energies(0.0, training=True)):
        torch.testing.assert_close(silent, torch.full((20_000,), 0.25, dtype=torch.float64))


@pytest.mark.parametrize("energy", [DotConfig(), GeneralConfig(), ConcatConfig(attention_dim=5)])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("exhausted", EXHAUSTED)
def test_mocha_of_width_one_is_monotonic_attention(energy: EnergyConfig, hard: bool, exhausted: str, batch, shake):
    mocha = shake(MoChA(MoChAConfig(energy=energy, chunk_size=1, exhausted=exhausted), SIZE, SIZE))
    monotonic = Monotonic(MonotonicConfig(energy=energy, exhausted=exhausted), SIZE, SIZE).eval()
    monotonic.load_state_dict({k: v for k, v in mocha.state_dict().items() if not k.startswith("chunk_energy.")})
    ours, theirs = (
        attention(batch.queries, attention.remember(batch.values, batch.mask), hard=hard)
        for attention in (mocha, monotonic)
    )
    assert torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1])
