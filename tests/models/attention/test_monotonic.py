"""The process, followed by a loop in plain Python and by sampling, against what the mechanism computes."""

import pytest
import torch
from torch import Tensor

from mt.models.attention import ATTENTIONS
from mt.models.attention.base import AttentionOutput, Memory
from mt.models.attention.energy import ConcatConfig, DotConfig, EnergyConfig, GeneralConfig
from mt.models.attention.mocha import MoChA, MoChAConfig
from mt.models.attention.monotonic import Monotonic, MonotonicConfig
from mt.models.encoders import Encoded
from mt.step import SELECTED_NONE
from tests.marks import combined
from tests.ops import oracle

MASS_PRESERVATION = (False, True)
SIZE = 6


def build(shake, seed: int = 0, **options) -> Monotonic:
    return shake(Monotonic(MonotonicConfig(energy=GeneralConfig(), **options), SIZE, SIZE), seed)


def probabilities(attention: Monotonic, memory: Memory, queries: Tensor) -> Tensor:
    return torch.sigmoid(attention.energy(queries, memory.keys[0]))


def follow(p: list[list[float]], length: int, mass_preservation: bool, decide) -> list[int | None]:
    """Where each step stops, None where nowhere. `decide` says whether to stop, given p_choose."""
    begin: int | None = 0
    stops: list[int | None] = []
    for row in p:
        if begin is not None:
            result = next((j for j in range(begin, length) if decide(row[j])), None)
            begin = length - 1 if result is None and mass_preservation else result
        stops.append(begin)
    return stops


@pytest.mark.usefixtures("hard_steps")
@pytest.mark.parametrize("mass_preservation", MASS_PRESERVATION)
def test_hard_steps_follow_the_process(mass_preservation: bool, batch, shake):
    seen = {"moved": 0, "stayed": 0, "nowhere": 0, "end": 0}
    for seed in range(5):
        attention = build(shake, seed, mass_preservation=mass_preservation)
        memory = attention.init_memory(batch.encoded)
        p = probabilities(attention, memory, batch.queries)
        state = attention.init_state(memory, hard=True)
        lengths = batch.mask.sum(1).tolist()
        truth = [
            follow(rows.tolist(), length, mass_preservation, lambda p_choose: p_choose >= 0.5)
            for rows, length in zip(p, lengths, strict=True)
        ]
        for i, query in enumerate(batch.queries.unbind(1)):
            step = attention.step(query, memory, state, hard=True)
            state = step.state
            for row, length in enumerate(lengths):
                stop = truth[row][i]
                before = truth[row][i - 1] if i else 0
                assert step.attended.stops[row] == (SELECTED_NONE if stop is None else stop)
                weights = AttentionOutput.stack([step], max(lengths)).weights[row, 0].tolist()
                assert weights == [float(position == stop) for position in range(max(lengths))]
                if not torch.is_grad_enabled():
                    assert step.attended.weights.shape == (8, 1), "compiled, one position, however long the source is"
                expected = torch.zeros(SIZE) if stop is None else batch.values[row, stop]
                assert torch.equal(step.context[row], expected)
                seen["nowhere"] += stop is None
                seen["stayed"] += stop is not None and stop == before
                seen["moved"] += stop is not None and before is not None and stop > before
                seen["end"] += stop == length - 1 and max(p[row, i, before or 0 : length].tolist()) < 0.5
    assert seen["moved"] > 20 and seen["stayed"] > 20
    assert (seen["nowhere"] > 20) == (not mass_preservation)
    assert (seen["end"] > 20) == (mass_preservation)


@pytest.mark.parametrize("mass_preservation", MASS_PRESERVATION)
def test_soft_weights_are_the_expectation(mass_preservation: bool, batch, shake):
    attention = build(shake, mass_preservation=mass_preservation)
    memory = attention.init_memory(batch.encoded)
    weights = attention(batch.queries, memory).weights
    p = probabilities(attention, memory, batch.queries).double()
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        real = p[row : row + 1, :, :length].clone()
        if mass_preservation:
            real[..., -1] = 1.0
        truth = oracle.expected_alignment(real, torch.eye(length)[:1])[0]
        torch.testing.assert_close(weights[row, :, :length].double(), truth, atol=1e-6, rtol=0)


@pytest.mark.usefixtures("hard_steps")
def test_a_tie_stops(batch):
    attention = Monotonic(MonotonicConfig(energy_bias=0.0), SIZE, SIZE).eval()
    with torch.no_grad():
        attention.energy.gain.zero_()
    memory = attention.init_memory(batch.encoded)
    assert (probabilities(attention, memory, batch.queries) == 0.5).all()
    step = attention.step(batch.queries[:, 0], memory, attention.init_state(memory, hard=True), hard=True)
    assert (step.attended.stops == 0).all()


@pytest.mark.usefixtures("hard_steps")
def test_an_energy_just_below_zero_does_not_stop(batch):
    """Though its sigmoid is 0.5 in float32."""
    attention = Monotonic(MonotonicConfig(energy_bias=-1e-9, mass_preservation=False), SIZE, SIZE).eval()
    with torch.no_grad():
        attention.energy.gain.zero_()
    memory = attention.init_memory(batch.encoded)
    assert (probabilities(attention, memory, batch.queries) == 0.5).all()
    step = attention.step(batch.queries[:, 0], memory, attention.init_state(memory, hard=True), hard=True)
    assert (step.attended.stops == SELECTED_NONE).all()


def test_noise_has_its_size_and_is_added_in_training_alone():
    def energies(noise: float, *, training: bool) -> Tensor:
        """One position and one step, where the weight is p_choose itself, of 20,000 sentences."""
        config = MonotonicConfig(energy=DotConfig(), energy_bias=0.25, noise_std=noise, mass_preservation=False)
        attention = Monotonic(config, SIZE, SIZE).train(training)
        zeros = torch.zeros(20_000, 1, SIZE)
        mask = torch.ones(20_000, 1, dtype=torch.bool)
        memory = attention.init_memory(Encoded(zeros, zeros, mask, zeros[:, 0]))
        return torch.logit(attention(zeros, memory).weights.double()).flatten()

    torch.manual_seed(0)
    assert energies(1.5, training=True).mean().item() == pytest.approx(0.25, abs=0.05)
    assert energies(1.5, training=True).std().item() == pytest.approx(1.5, abs=0.05)
    for silent in (energies(1.5, training=False), energies(0.0, training=True)):
        torch.testing.assert_close(silent, torch.full((20_000,), 0.25, dtype=torch.float64))


@combined(
    mass_preservation=MASS_PRESERVATION,
    hard=[False, True],
    energy=[DotConfig(), GeneralConfig(), ConcatConfig(attention_dim=5)],
)
def test_mocha_with_chunks_of_one_is_monotonic_attention(
    energy: EnergyConfig, hard: bool, mass_preservation: bool, batch, shake
):
    mocha = shake(MoChA(MoChAConfig(energy=energy, chunk_size=1, mass_preservation=mass_preservation), SIZE, SIZE))
    monotonic = Monotonic(MonotonicConfig(energy=energy, mass_preservation=mass_preservation), SIZE, SIZE).eval()
    monotonic.load_state_dict({k: v for k, v in mocha.state_dict().items() if not k.startswith("chunk_energy.")})
    ours, theirs = (
        attention(batch.queries, attention.init_memory(batch.encoded), hard=hard) for attention in (mocha, monotonic)
    )
    assert torch.equal(ours.contexts, theirs.contexts) and torch.equal(ours.weights, theirs.weights)


# The losses on expected alignments: latency (Arivazhagan et al. 2019, section 3.3), quantity (Inaguma et al. 2020).
TARGET_LENGTHS = torch.tensor([7, 3, 1, 5, 7, 2, 6, 4])
TARGET = torch.arange(7) < TARGET_LENGTHS[:, None]
KINDS = [kind for kind in ATTENTIONS.values() if "latency_weight" in kind.Config.model_fields]


def priced(kind: type[Monotonic], batch, shake, **options) -> tuple[Monotonic, AttentionOutput, Tensor | None]:
    attention = shake(kind(kind.Config(**options), SIZE, SIZE))
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    return attention, output, attention.auxiliary_loss(output, torch.zeros(8, 7), batch.mask, TARGET)


def test_every_monotonic_attention_has_losses_and_none_without_a_weight(batch, shake):
    assert [kind for kind in ATTENTIONS.values() if issubclass(kind, Monotonic)] == KINDS
    assert all(priced(kind, batch, shake, latency_weight=0.0)[2] is None for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mass_preservation", MASS_PRESERVATION)
def test_the_latency_loss_is_the_lagging_of_expected_delays(
    kind: type[Monotonic], mass_preservation: bool, batch, shake
):
    options = {"latency_weight": 0.3, "mass_preservation": mass_preservation}
    attention, output, loss = priced(kind, batch, shake, **options)
    lengths = batch.mask.sum(1)
    alpha = output.alpha.double()
    # A pointer that has left the sentence has gone over all of it.
    delays = alpha @ torch.arange(1.0, 12.0).double() + (1 - alpha.sum(-1)) * lengths[:, None]
    expected = 0.3 * oracle.differentiable_average_lagging(delays, lengths, TARGET).sum().item()
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    # Its gradient moves stops to the left.
    (by_alpha, by_bias) = torch.autograd.grad(loss, [output.alpha, attention.energy.bias])
    assert by_bias < 0 and not by_alpha[~TARGET].any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_quantity_loss_is_what_is_missing_and_added_to_the_latency(kind: type[Monotonic], batch, shake):
    both, latency, quantity = (
        priced(kind, batch, shake, mass_preservation=False, quantity_weight=q, latency_weight=w)
        for q, w in ((2, 3), (0, 3), (2, 0))
    )
    attention, output, loss = quantity
    missing = sum(abs(n - alpha[:n].sum().item()) for n, alpha in zip(TARGET_LENGTHS, output.alpha, strict=True))
    assert missing > 1 and loss.item() == pytest.approx(2 * float(missing), rel=1e-5)
    assert both[2].item() == pytest.approx(latency[2].item() + loss.item(), rel=1e-6)
    # Its gradient has pointers stop.
    assert torch.autograd.grad(loss, attention.energy.bias)[0] < 0
