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

QUERIES = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
VALUES = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))


def at_each(formula, queries: Tensor, values: Tensor) -> Tensor:
    """[B, T, S] of formula(h, s)."""
    rows = [[[formula(h, s) for s in source] for h in target] for target, source in zip(queries, values, strict=True)]
    return torch.tensor(rows)


def dot(a: Tensor, b: Tensor) -> float:
    return math.fsum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))


def test_dot():
    energy = build_energy(DotConfig(), 4, 4)
    values = VALUES[..., :4]
    torch.testing.assert_close(energy(QUERIES, energy.keys(values)), at_each(dot, QUERIES, values))


def test_general(shake):
    energy = shake(build_energy(GeneralConfig(), 4, 6))
    weight = energy.project.weight.detach()
    expected = at_each(lambda h, s: dot(h, weight @ s), QUERIES, VALUES)
    torch.testing.assert_close(energy(QUERIES, energy.keys(VALUES)), expected)


def test_concat(shake):
    """Luong et al. 2015, equation 8: v . tanh(W [h; s]), with one matrix for both."""
    energy = shake(build_energy(ConcatConfig(attention_dim=7), 4, 6))
    weight = torch.cat((energy.project_query.weight, energy.project_value.weight), 1).detach()
    assert energy.project_value.bias is None and energy.project_query.bias is None
    v = energy.direction.detach()
    expected = at_each(lambda h, s: dot(v, torch.tanh(weight @ torch.cat((h, s)))), QUERIES, VALUES)
    torch.testing.assert_close(energy(QUERIES, energy.keys(VALUES)), expected)


def test_location(shake):
    """Luong et al. 2015, section 3.1: W h, a score for each position, whatever stands there."""
    energy = shake(build_energy(LocationConfig(max_source_length=8), 4, 6))
    scores = energy(QUERIES, energy.keys(VALUES))
    weight = energy.positions.detach()
    expected = [[[dot(weight[s], h) for s in range(5)] for h in target] for target in QUERIES]
    torch.testing.assert_close(scores, torch.tensor(expected))
    assert torch.equal(energy(QUERIES, energy.keys(-3 * VALUES)), scores)
    scores.sum().backward()
    assert energy.positions.grad[:5].all() and not energy.positions.grad[5:].any()


def test_location_has_scores_for_so_many_positions():
    energy = build_energy(LocationConfig(max_source_length=4), 4, 6)
    assert energy.longest == 4
    assert energy.keys(VALUES[:, :4]).shape == (2, 4, 4)
    with pytest.raises(UserError) as refusal:
        energy.keys(VALUES)
    assert str(refusal.value) == (
        "a source of 5 tokens is longer than the 4 that location attention has scores for: raise "
        "attention.energy.max_source_length, or choose another energy"
    )


@pytest.mark.parametrize("config", [GeneralConfig(), ConcatConfig(), LocationConfig()])
def test_parameters_start_as_small_numbers(config: EnergyConfig):
    for parameter in build_energy(config, 16, 16).parameters():
        assert 0 < parameter.abs().max() <= 1


def test_normalized_concat(shake):
    """Raffel et al. 2017, equation 16: g v / |v| . tanh(W s + V h + b) + r."""
    scaled = shake(Scaled(build_energy(ConcatConfig(attention_dim=7), 4, 6, normalized=True), energy_bias=-3.0))
    energy, gain, offset = scaled.energy, scaled.gain.item(), scaled.offset.item()
    of_query, of_value = energy.project_query.weight.detach(), energy.project_value.weight.detach()
    bias = energy.project_value.bias.detach()
    v = energy.direction.detach()
    unit = v / math.sqrt(dot(v, v))
    expected = at_each(
        lambda s, h: gain * dot(unit, torch.tanh(of_query @ s + of_value @ h + bias)) + offset, QUERIES, VALUES
    )
    torch.testing.assert_close(scaled(QUERIES, energy.keys(VALUES)), expected)


def test_normalized_general(shake):
    """Raffel et al. 2017, equation 17: g s . W h + r."""
    scaled = shake(Scaled(build_energy(GeneralConfig(), 4, 6, normalized=True), energy_bias=-3.0))
    weight, gain, offset = scaled.energy.project.weight.detach(), scaled.gain.item(), scaled.offset.item()
    expected = at_each(lambda s, h: gain * dot(s, weight @ h) + offset, QUERIES, VALUES)
    torch.testing.assert_close(scaled(QUERIES, scaled.energy.keys(VALUES)), expected)


@pytest.mark.parametrize(
    ("config", "terms"),
    [(DotConfig(), 6), (GeneralConfig(), 6), (ConcatConfig(attention_dim=9), 9), (LocationConfig(), 6)],
)
def test_the_gain_begins_at_one_over_the_root_of_the_terms(config: EnergyConfig, terms: int):
    scaled = Scaled(build_energy(config, 6, 6, normalized=True), offset=-1.5)
    assert scaled.gain.item() == pytest.approx(terms**-0.5)
    assert scaled.offset is not None and scaled.offset.item() == -1.5
    assert Scaled(build_energy(config, 6, 6, normalized=True)).offset is None


def test_normalized_energy_does_not_depend_on_the_size_of_v(shake):
    energy = shake(build_energy(ConcatConfig(attention_dim=7), 4, 6, normalized=True))
    before = energy(QUERIES, energy.keys(VALUES))
    with torch.no_grad():
        energy.direction.mul_(100)
    torch.testing.assert_close(energy(QUERIES, energy.keys(VALUES)), before)


def test_half_precision_is_scaled_in_single(shake):
    scaled = shake(Scaled(build_energy(GeneralConfig(), 4, 6)))
    assert scaled(QUERIES, scaled.energy.keys(VALUES)).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert scaled(QUERIES, scaled.energy.keys(VALUES)).dtype == torch.float32


def test_dot_of_unequal_sizes_is_refused():
    with pytest.raises(UserError) as refusal:
        build_energy(DotConfig(), 4, 6)
    assert str(refusal.value) == (
        "dot attention compares decoder states of size 4 with encoder states of size 6, which must be equal: set "
        "decoder.hidden_size to the encoder's size (twice encoder.hidden_size for a bidirectional one), or choose "
        "attention=general"
    )
