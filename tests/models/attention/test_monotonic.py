"""The process, followed by a loop in plain Python, and its expectation, against what each mechanism computes; then the
losses on expected alignments."""

import math
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from mt.models.attention.base import AttentionOutput, Memory
from mt.models.attention.energy import ConcatConfig, DotConfig, EnergyConfig, GeneralConfig
from mt.models.attention.lookback import MAtChA, MILk
from mt.models.attention.mocha import MoChA
from mt.models.attention.monotonic import Monotonic, MonotonicConfig
from mt.step import SELECTED_NONE
from tests.components import loss_beside
from tests.models.small import encoded
from tests.ops import oracle

SIZE = 6


class Kind(NamedTuple):
    attention: type[Monotonic]
    chunk_size: int | None
    """None where its chunk has no fixed size."""

    def __str__(self) -> str:
        return f"{self.attention.__name__}-{self.chunk_size}"

    def build(self, shake: Any, **options: Any) -> Monotonic:
        sizes = {"chunk_size": self.chunk_size} if self.attention is MoChA else {}
        return shake(self.attention(self.attention.Config(**sizes, **options), SIZE, SIZE))

    def first(self, before: int, stop: int) -> int:
        """The first position that is attended to, given the stop before this one."""
        if self.chunk_size is not None:
            return max(0, stop - self.chunk_size + 1)
        return before if self.attention is MAtChA else 0


KINDS = [Kind(Monotonic, 1), Kind(MoChA, 2), Kind(MoChA, 20), Kind(MAtChA, None), Kind(MILk, None)]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
either_mass = pytest.mark.parametrize("mass_preservation", [False, True])
either_energy = pytest.mark.parametrize(
    "energy", [GeneralConfig(), ConcatConfig(attention_dim=5)], ids=lambda e: e.name
)


def energies(attention: Monotonic, memory: Memory, queries: Tensor) -> tuple[Tensor, Tensor]:
    """p and u; where the stop alone is attended to, u is of no effect."""
    p = attention.energy(queries, memory.keys[0]).sigmoid()
    u = p if attention.chunk_energy is None else attention.chunk_energy(queries, memory.keys[1])
    return p.detach(), u.detach()


def shares(u: list[float], first: int, last: int) -> Tensor:
    """The softmax of u[first .. last], over the whole sentence."""
    chunk = [math.exp(x) if first <= s <= last else 0.0 for s, x in enumerate(u)]
    return torch.tensor([x / sum(chunk) for x in chunk])


@pytest.mark.usefixtures("hard_steps")
@every_kind
@either_energy
@either_mass
def test_hard_steps_follow_the_process(kind: Kind, energy: EnergyConfig, mass_preservation: bool, batch, shake):
    attention = kind.build(shake, energy=energy, mass_preservation=mass_preservation)
    with torch.no_grad():
        attention.energy.bias.zero_()
    memory = attention.init_memory(batch.encoded)
    p, u = energies(attention, memory, batch.queries)
    state = attention.init_state(memory, hard=True)
    pointers = [0] * 8
    seen = {"moved": 0, "wide": 0, "without": 0}
    for i, query in enumerate(batch.queries.unbind(1)):
        step = attention.step(query, memory, state, hard=True)
        state = step.state
        weights = AttentionOutput.stack([step], 11).weights[:, 0]
        for row, length in enumerate(batch.mask.sum(1).tolist()):
            before = pointers[row]
            wanted = [j for j in range(before, length) if p[row, i, j] >= 0.5]
            # A pointer that has left the sentence is at its length, where there is nothing to stop at.
            stop = wanted[0] if wanted else length - 1 if mass_preservation else length
            pointers[row] = stop
            expected = torch.zeros(11)
            if stop < length:
                first = kind.first(before, stop)
                expected[:length] = shares(u[row, i, :length].tolist(), first, stop)
                seen["wide"] += stop > first
            assert step.attended.stops[row] == (stop if stop < length else SELECTED_NONE)
            torch.testing.assert_close(weights[row], expected, atol=1e-6, rtol=0)
            seen["moved"] += stop > before
            seen["without"] += not wanted
    assert seen["moved"] > 5 and seen["without"] > 5 and (seen["wide"] > 5) == (kind.chunk_size != 1)
    assert attention.chunk_size == (kind.chunk_size if kind.attention is MoChA else None)


@every_kind
@either_energy
@either_mass
def test_soft_weights_are_the_expectation(kind: Kind, energy: EnergyConfig, mass_preservation: bool, batch, shake):
    attention = kind.build(shake, energy=energy, mass_preservation=mass_preservation)
    memory = attention.init_memory(batch.encoded)
    weights = attention(batch.queries, memory).weights
    p, u = energies(attention, memory, batch.queries)
    p = p * batch.mask[:, None]
    if mass_preservation:
        p = p.masked_fill(memory.is_last()[:, None], 1.0)
    start = torch.eye(11)[:1].expand(8, -1)
    alpha = oracle.expected_alignment(p, start)
    if kind.attention is MAtChA:
        previous = torch.cat((start[:, None].double(), alpha[:, :-1]), 1)
        truth = oracle.adaptive_chunkwise_attention(previous, p, u)
    else:
        truth = oracle.chunkwise_attention(alpha, u, kind.chunk_size or 11)
    torch.testing.assert_close(weights.double(), truth, atol=1e-6, rtol=0)
    assert mass_preservation == (weights.sum(-1) > 1 - 1e-5).all()


@pytest.mark.usefixtures("hard_steps")
@pytest.mark.parametrize(("bias", "stop"), [(0.0, 0), (-1e-9, SELECTED_NONE)], ids=["a tie stops", "below zero"])
def test_the_decision_is_on_the_energy(bias: float, stop: int, batch):
    """Just below 0, its sigmoid is 0.5 in float32, too."""
    attention = Monotonic(MonotonicConfig(energy_bias=bias, mass_preservation=False), SIZE, SIZE).eval()
    with torch.no_grad():
        attention.energy.gain.zero_()
    memory = attention.init_memory(batch.encoded)
    assert (energies(attention, memory, batch.queries)[0] == 0.5).all()
    step = attention.step(batch.queries[:, 0], memory, attention.init_state(memory, hard=True), hard=True)
    assert (step.attended.stops == stop).all()


def test_noise_has_its_size_and_is_added_in_training_alone():
    def noisy(noise: float, *, training: bool) -> Tensor:
        """One position and one step, where the weight is p_choose itself, of 20,000 sentences."""
        config = MonotonicConfig(energy=DotConfig(), energy_bias=0.25, noise_std=noise, mass_preservation=False)
        attention = Monotonic(config, SIZE, SIZE).train(training)
        zeros = torch.zeros(20_000, 1, SIZE)
        memory = attention.init_memory(encoded(zeros))
        return torch.logit(attention(zeros, memory).weights.double()).flatten()

    torch.manual_seed(0)
    drawn = noisy(1.5, training=True)
    assert drawn.mean().item() == pytest.approx(0.25, abs=0.05) and drawn.std().item() == pytest.approx(1.5, abs=0.05)
    for silent in (noisy(1.5, training=False), noisy(0.0, training=True)):
        torch.testing.assert_close(silent, torch.full((20_000,), 0.25, dtype=torch.float64))


# The losses on expected alignments: latency (Arivazhagan et al. 2019, section 3.3), quantity (Inaguma et al. 2020).
TARGET_LENGTHS = torch.tensor([7, 3, 1, 5, 7, 2, 6, 4])
TARGET = torch.arange(7) < TARGET_LENGTHS[:, None]


def priced(batch, shake, **options: Any) -> tuple[Monotonic, AttentionOutput, Tensor | None]:
    attention = Kind(Monotonic, 1).build(shake, **options)
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    priced_by = Monotonic.Config(**options)
    return attention, output, loss_beside(priced_by, attention, output, torch.zeros(8, 7), batch.mask, TARGET)


@either_mass
def test_the_latency_loss_is_the_lagging_of_expected_delays(mass_preservation: bool, batch, shake):
    attention, output, loss = priced(batch, shake, latency_weight=0.3, mass_preservation=mass_preservation)
    lengths = batch.mask.sum(1)
    alpha = output.alpha.double()
    # A pointer that has left the sentence has gone over all of it.
    delays = alpha @ torch.arange(1.0, 12.0).double() + (1 - alpha.sum(-1)) * lengths[:, None]
    expected = 0.3 * oracle.differentiable_average_lagging(delays, lengths, TARGET).sum().item()
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    # Its gradient moves stops to the left.
    by_alpha, by_bias = torch.autograd.grad(loss, [output.alpha, attention.energy.bias])
    assert by_bias < 0 and not by_alpha[~TARGET].any()


def test_the_quantity_loss_is_what_is_missing_and_added_to_the_latency(batch, shake):
    both, latency, quantity = (
        priced(batch, shake, mass_preservation=False, quantity_weight=q, latency_weight=w)
        for q, w in ((2, 3), (0, 3), (2, 0))
    )
    attention, output, loss = quantity
    missing = sum(abs(n - alpha[:n].sum().item()) for n, alpha in zip(TARGET_LENGTHS, output.alpha, strict=True))
    assert missing > 1 and loss.item() == pytest.approx(2 * float(missing), rel=1e-5)
    assert both[2].item() == pytest.approx(latency[2].item() + loss.item(), rel=1e-6)
    # Its gradient has pointers stop.
    assert torch.autograd.grad(loss, attention.energy.bias)[0] < 0
