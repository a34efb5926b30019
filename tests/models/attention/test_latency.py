"""The latency loss of monotonic attentions (Arivazhagan et al. 2019, section 3.3)."""

import pytest
import torch
from torch import Tensor

from mt.models.attention import ATTENTIONS
from mt.models.attention.base import AttentionOutput
from mt.models.attention.monotonic import Monotonic

SIZE = 6
TARGET_LENGTHS = torch.tensor([7, 3, 1, 5, 7, 2, 6, 4])
TARGET = torch.arange(7) < TARGET_LENGTHS[:, None]
MONOTONIC = [kind for kind in ATTENTIONS.values() if issubclass(kind, Monotonic)]


@pytest.fixture(params=MONOTONIC, ids=lambda kind: kind.__name__)
def kind(request) -> type[Monotonic]:
    return request.param


def lagging(delays: list[float], source: int) -> float:
    """Equations 11 to 14 of one sentence."""
    pace = source / len(delays)
    written = 0.0
    total = 0.0
    for i, delay in enumerate(delays):
        written = max(delay, written + pace) if i else delay
        total += written - i * pace
    return total / len(delays)


def with_loss(attention: Monotonic, batch) -> tuple[AttentionOutput, Tensor | None]:
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    return output, attention.auxiliary_loss(output, torch.zeros(8, 7), batch.mask, TARGET)


def test_every_monotonic_attention_has_it():
    assert [kind for kind in ATTENTIONS.values() if "latency_weight" in kind.Config.model_fields] == MONOTONIC


@pytest.mark.parametrize("mass_preservation", [False, True])
def test_it_is_the_weighted_lagging_of_the_expected_delays(
    kind: type[Monotonic], mass_preservation: bool, batch, shake
):
    attention = shake(kind(kind.Config(latency_weight=0.3, mass_preservation=mass_preservation), SIZE, SIZE))
    output, loss = with_loss(attention, batch)
    expected = 0.0
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        delays = []
        for alpha in output.alpha[row, : TARGET_LENGTHS[row], :length].detach().double():
            # A pointer that has left the sentence has gone over all of it.
            delays.append(sum(a * (j + 1) for j, a in enumerate(alpha.tolist())) + (1 - alpha.sum().item()) * length)
        expected += 0.3 * lagging(delays, length)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_without_weight_there_is_none(kind: type[Monotonic], batch, shake):
    assert with_loss(shake(kind(kind.Config(latency_weight=0.0), SIZE, SIZE)), batch)[1] is None


@pytest.mark.parametrize("mass_preservation", [False, True])
def test_its_gradient_moves_stops_to_the_left(kind: type[Monotonic], mass_preservation: bool, batch, shake):
    attention = shake(kind(kind.Config(latency_weight=1.0, mass_preservation=mass_preservation), SIZE, SIZE))
    output, loss = with_loss(attention, batch)
    (by_alpha, by_bias) = torch.autograd.grad(loss, [output.alpha, attention.energy.bias])
    assert by_bias < 0
    moved = output.alpha - 1e-3 * by_alpha
    positions = torch.arange(11.0)
    means = [(alpha[TARGET] @ positions).sum() / alpha[TARGET].sum() for alpha in (moved, output.alpha)]
    assert means[0] < means[1]
    assert not by_alpha[~TARGET].any()
