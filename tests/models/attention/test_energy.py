"""Energies against the papers' formulas, written out for one query and one position at a time."""

import math

import pytest
import torch
from torch import Tensor

from mt.errors import UserError
from mt.models.attention.energy import (
    ConcatConfig,
    DotConfig,
    Energy,
    EnergyConfig,
    GeneralConfig,
    LocationConfig,
    Scaled,
    build_energy,
)
from tests.models.small import encoded
from tests.refusals.sentences import require_refusal

QUERIES = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
VALUES = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))
CONFIGS = [DotConfig(), GeneralConfig(), ConcatConfig(attention_dim=9), LocationConfig(max_source_length=8)]


def dot(a: Tensor, b: Tensor) -> float:
    return math.fsum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))


def by_formula(energy: Energy, h: Tensor, s: Tensor, position: int) -> float:
    """Luong et al. 2015, section 3.1, equation 8; concat: v . tanh(W [h; s]), with one matrix for both."""
    of = dict(energy.named_parameters())
    if "project.weight" in of:
        return dot(h, of["project.weight"] @ s)
    if "positions" in of:
        return dot(of["positions"][position], h)
    if "direction" in of:
        weight = torch.cat((of["project_query.weight"], of["project_value.weight"]), 1)
        return dot(of["direction"], torch.tanh(weight @ torch.cat((h, s)) + of.get("project_value.bias", 0)))
    return dot(h, s)


def at_each(energy: Energy) -> Tensor:
    """[B, T, S] of the formula."""
    sentences = []
    for target, source in zip(QUERIES, VALUES, strict=True):
        sentences.append([[by_formula(energy, h, s, position) for position, s in enumerate(source)] for h in target])
    return torch.tensor(sentences)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
@torch.no_grad()
def test_energies_are_those_of_the_papers(config: EnergyConfig, shake):
    energy = shake(build_energy(config, 6, 6))
    torch.testing.assert_close(energy(QUERIES, energy.keys(encoded(VALUES))), at_each(energy))
    if config.name != "concat":
        assert len(list(energy.parameters())) == (config.name != "dot")
    else:
        assert energy.project_value.bias is None and energy.project_query.bias is None


@torch.no_grad()
def test_normalized_concat(shake):
    """Raffel et al. 2017, equation 16: g v / |v| . tanh(W s + V h + b) + r."""
    scaled = shake(Scaled(build_energy(CONFIGS[2], 6, 6, normalized=True), bias=-3.0))
    energy = scaled.energy
    length = math.sqrt(dot(energy.direction, energy.direction))
    assert energy.project_value.bias.any()
    expected = scaled.gain / length * at_each(energy) + scaled.bias
    torch.testing.assert_close(scaled(QUERIES, energy.keys(encoded(VALUES))), expected)


def test_location_has_scores_for_so_many_positions():
    energy = build_energy(LocationConfig(max_source_length=4), 6, 6)
    assert energy.max_source_length == 4
    assert energy.keys(encoded(VALUES[:, :4])).shape == (2, 4, 6)
    long = "^a source of 5 tokens is longer than the 4 that location attention has scores for: raise "
    option = r"attention.energy.max_source_length \(attention.max_source_length for attention=location\)"
    require_refusal(lambda: energy.keys(encoded(VALUES)), long, option)
    # Its length is what counts, and not how much padding follows, nor where the other sources of a batch are.
    mask = torch.arange(5) < torch.tensor([[4], [2]])
    assert torch.equal(energy.keys(encoded(VALUES, mask))[:, :4], energy.keys(encoded(VALUES[:, :4])))
    later = energy.keys(encoded(VALUES, mask)._replace(first_position=torch.tensor([0, 2])))
    assert torch.equal(later[1, :2], energy.positions[2:])
    with pytest.raises(UserError, match="a source of 5 tokens"):
        energy.keys(encoded(VALUES, mask)._replace(first_position=torch.tensor([0, 3])))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_the_gain_begins_at_one_over_the_root_of_the_terms(config: EnergyConfig):
    scaled = Scaled(build_energy(config, 6, 6, normalized=True), bias=-1.5)
    assert scaled.gain.item() == pytest.approx((9 if config.name == "concat" else 6) ** -0.5)
    assert scaled.bias is not None and scaled.bias.item() == -1.5
    with torch.autocast("cpu", torch.bfloat16):
        assert scaled(QUERIES, scaled.keys(encoded(VALUES))).dtype == torch.float32
