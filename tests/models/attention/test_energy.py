"""Energies against the papers' formulas, written out for one query and one position at a time."""

import math

import pytest
import torch
from torch import Tensor

from mt.errors import UserError
from mt.models.attention.energy import (
    ConcatConfig,
    DotConfig,
    EnergyConfig,
    GeneralConfig,
    LocationConfig,
    Scaled,
    build_energy,
)
from mt.models.encoders import Encoded

QUERIES = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
VALUES = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))


def encoded(values: Tensor, mask: Tensor | None = None) -> Encoded:
    mask = torch.ones(values.shape[:2], dtype=torch.bool) if mask is None else mask
    return Encoded(values, values, mask, values[:, 0])


def at_each(formula, queries: Tensor, values: Tensor) -> Tensor:
    """[B, T, S] of formula(h, s)."""
    rows = [[[formula(h, s) for s in source] for h in target] for target, source in zip(queries, values, strict=True)]
    return torch.tensor(rows)


def dot(a: Tensor, b: Tensor) -> float:
    return math.fsum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))


def test_dot():
    energy = build_energy(DotConfig(), 4, 4)
    values = VALUES[..., :4]
    torch.testing.assert_close(energy(QUERIES, energy.keys(encoded(values))), at_each(dot, QUERIES, values))


def test_general(shake):
    energy = shake(build_energy(GeneralConfig(), 4, 6))
    weight = energy.project.weight.detach()
    expected = at_each(lambda h, s: dot(h, weight @ s), QUERIES, VALUES)
    torch.testing.assert_close(energy(QUERIES, energy.keys(encoded(VALUES))), expected)


def test_concat(shake):
    """Luong et al. 2015, equation 8: v . tanh(W [h; s]), with one matrix for both."""
    energy = shake(build_energy(ConcatConfig(attention_dim=7), 4, 6))
    weight = torch.cat((energy.project_query.weight, energy.project_value.weight), 1).detach()
    assert energy.project_value.bias is None and energy.project_query.bias is None
    v = energy.direction.detach()
    expected = at_each(lambda h, s: dot(v, torch.tanh(weight @ torch.cat((h, s)))), QUERIES, VALUES)
    torch.testing.assert_close(energy(QUERIES, energy.keys(encoded(VALUES))), expected)


def test_location(shake):
    """Luong et al. 2015, section 3.1: W h, a score for each position, whatever stands there."""
    energy = shake(build_energy(LocationConfig(max_source_length=8), 4, 6))
    scores = energy(QUERIES, energy.keys(encoded(VALUES)))
    weight = energy.positions.detach()
    expected = [[[dot(weight[s], h) for s in range(5)] for h in target] for target in QUERIES]
    torch.testing.assert_close(scores, torch.tensor(expected))
    assert torch.equal(energy(QUERIES, energy.keys(encoded(-3 * VALUES))), scores)
    scores.sum().backward()
    assert energy.positions.grad[:5].all() and not energy.positions.grad[5:].any()


def test_location_has_scores_for_so_many_positions():
    energy = build_energy(LocationConfig(max_source_length=4), 4, 6)
    assert energy.max_source_length == 4
    assert energy.keys(encoded(VALUES[:, :4])).shape == (2, 4, 4)
    with pytest.raises(UserError) as refusal:
        energy.keys(encoded(VALUES))
    assert str(refusal.value) == (
        "a source of 5 tokens is longer than the 4 that location attention has scores for: raise "
        "attention.energy.max_source_length (attention.max_source_length for attention=location), or choose another "
        "energy"
    )
    # Its length is what counts, and not how much padding follows, nor where the other sources of a batch are.
    mask = torch.arange(5) < torch.tensor([[4], [2]])
    assert torch.equal(energy.keys(encoded(VALUES, mask))[:, :4], energy.keys(encoded(VALUES[:, :4])))
    energy.keys(encoded(VALUES, mask)._replace(first_position=torch.tensor([0, 2])))
    with pytest.raises(UserError, match="a source of 5 tokens"):
        energy.keys(encoded(VALUES, mask)._replace(first_position=torch.tensor([0, 3])))


def test_location_scores_positions_that_come_later_by_their_place(shake):
    energy = shake(build_energy(LocationConfig(max_source_length=8), 4, 6))
    keys = energy.keys(encoded(VALUES)._replace(first_position=torch.tensor([0, 3])))
    assert torch.equal(keys, torch.stack((energy.positions[:5], energy.positions[3:])))


def test_normalized_concat(shake):
    """Raffel et al. 2017, equation 16: g v / |v| . tanh(W s + V h + b) + r."""
    scaled = shake(Scaled(build_energy(ConcatConfig(attention_dim=7), 4, 6, normalized=True), bias=-3.0))
    energy = scaled.energy
    gain = scaled.gain.item()
    r = scaled.bias.item()
    of_query = energy.project_query.weight.detach()
    of_value = energy.project_value.weight.detach()
    bias = energy.project_value.bias.detach()
    v = energy.direction.detach()
    unit = v / math.sqrt(dot(v, v))
    expected = at_each(
        lambda s, h: gain * dot(unit, torch.tanh(of_query @ s + of_value @ h + bias)) + r, QUERIES, VALUES
    )
    torch.testing.assert_close(scaled(QUERIES, energy.keys(encoded(VALUES))), expected)


@pytest.mark.parametrize(
    ("config", "terms"),
    [(DotConfig(), 6), (GeneralConfig(), 6), (ConcatConfig(attention_dim=9), 9), (LocationConfig(), 6)],
)
def test_the_gain_begins_at_one_over_the_root_of_the_terms(config: EnergyConfig, terms: int):
    scaled = Scaled(build_energy(config, 6, 6, normalized=True), bias=-1.5)
    assert scaled.gain.item() == pytest.approx(terms**-0.5)
    assert scaled.bias is not None and scaled.bias.item() == -1.5
    assert Scaled(build_energy(config, 6, 6, normalized=True)).bias is None


def test_half_precision_is_scaled_in_single(shake):
    scaled = shake(Scaled(build_energy(GeneralConfig(), 4, 6)))
    assert scaled(QUERIES, scaled.energy.keys(encoded(VALUES))).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert scaled(QUERIES, scaled.energy.keys(encoded(VALUES))).dtype == torch.float32
