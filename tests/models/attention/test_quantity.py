"""The quantity loss of monotonic attentions (Inaguma et al. 2020)."""

import pytest
import torch

from mt.models.attention import ATTENTIONS
from mt.models.attention.monotonic import Monotonic

SIZE = 6
TARGET = torch.arange(7) < torch.tensor([7, 3, 1, 5, 7, 2, 6, 4])[:, None]
MONOTONIC = [kind for kind in ATTENTIONS.values() if issubclass(kind, Monotonic)]


@pytest.fixture(params=MONOTONIC, ids=lambda kind: kind.__name__)
def kind(request) -> type[Monotonic]:
    return request.param


def loss(kind, batch, shake, **options):
    attention = shake(kind(kind.Config(mass_preservation=False, **options), SIZE, SIZE))
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    return attention, output, attention.auxiliary_loss(output, torch.zeros(8, 7), batch.mask, TARGET)


def test_it_is_what_is_missing(kind: type[Monotonic], batch, shake):
    _, output, result = loss(kind, batch, shake, quantity_weight=0.4, latency_weight=0.0)
    missing = sum(
        abs(n - alpha[:n].sum().item()) for n, alpha in zip(TARGET.sum(1).tolist(), output.alpha, strict=True)
    )
    assert missing > 1
    assert result.item() == pytest.approx(0.4 * missing, rel=1e-5)


def test_it_is_added_to_the_latency(kind: type[Monotonic], batch, shake):
    both, latency, quantity = (
        loss(kind, batch, shake, quantity_weight=q, latency_weight=w)[2].item() for q, w in ((2, 3), (0, 3), (2, 0))
    )
    assert both == pytest.approx(latency + quantity, rel=1e-6)


def test_its_gradient_has_pointers_stop(kind: type[Monotonic], batch, shake):
    attention, _, result = loss(kind, batch, shake, quantity_weight=1.0, latency_weight=0.0)
    [by_bias] = torch.autograd.grad(result, [attention.energy.bias])
    assert by_bias < 0
