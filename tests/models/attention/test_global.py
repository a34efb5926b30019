"""Soft attentions over the whole source: their softmax, and the weights by the papers' equations, in float64 loops."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from mt.models.attention import ATTENTIONS
from mt.models.attention.coverage import Coverage, CoverageConfig
from mt.models.attention.energy import ENERGIES, build_energy
from mt.models.attention.global_ import Global
from mt.models.attention.location_aware import LocationAware, LocationAwareConfig
from mt.models.attention.none import NoAttention, NoneConfig
from tests.marks import combined
from tests.ops import oracle

SIZE = 6
GLOBAL = {
    name: kind
    for name, kind in ATTENTIONS.items()
    if issubclass(kind, Global) and (kind._attend, kind._weights) == (Global._attend, Global._weights)
}
"""Those whose weights are the softmax of an energy."""


def test_every_energy_is_an_attention_of_its_own_name_and_concat_is_bahdanau():
    energies = {name: build_energy(kind.Config(), SIZE, SIZE) for name, kind in GLOBAL.items()}
    assert {name: type(energy) for name, energy in energies.items()} == {
        {"concat": "bahdanau"}.get(name, name): kind for name, kind in ENERGIES.items()
    }


@combined(name=GLOBAL, scaled=[False, True])
def test_weights_are_the_softmax_of_the_energies_of_real_positions(name: str, scaled: bool, batch, shake):
    attention: Any = shake(GLOBAL[name](GLOBAL[name].Config(scaled=scaled), SIZE, SIZE))
    memory = attention.init_memory(batch.encoded)
    weights = attention(batch.queries, memory).weights
    energies = attention.energy(batch.queries, memory.keys[0])
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        torch.testing.assert_close(weights[row, :, :length], energies[row, :, :length].softmax(-1))


@pytest.mark.parametrize("name", GLOBAL)
def test_scaled_is_a_gain_and_a_normalized_direction(name: str):
    """Without it, an attention has the parameters of its energy in the form of the paper, and no others."""
    kind = GLOBAL[name]
    plain, scaled = ({k for k, _ in kind(kind.Config(scaled=s), 6, 6).named_parameters()} for s in (False, True))
    added = {"energy.gain"} | ({"energy.energy.project_value.bias"} if "energy.direction" in plain else set())
    assert scaled == {parameter.replace("energy.", "energy.energy.", 1) for parameter in plain} | added


def covered(queries: Tensor, keys: Tensor, mask: Tensor, of_coverage: Tensor, direction: Tensor) -> Tensor:
    """See et al. 2017, equations 10 and 11, one position at a time. queries: W s; keys: U h + b; of_coverage: w."""
    sentences = []
    for query, key, real in zip(queries.double(), keys.double(), mask, strict=True):
        length = int(real.sum())
        coverage = torch.zeros(length, dtype=torch.float64)
        steps = []
        for s in query:
            of_positions = [torch.tanh(s + key[j] + of_coverage.double() * coverage[j]) for j in range(length)]
            weights = torch.stack([direction.double() @ hidden for hidden in of_positions]).softmax(0)
            coverage = coverage + weights
            steps.append(pad(weights, (0, len(real) - length)))
        sentences.append(torch.stack(steps))
    return torch.stack(sentences)


def test_coverage_has_the_weights_and_gradients_of_the_paper(batch, shake):
    """The gradient is that of the loop in float64, in which all steps before have a part."""
    attention = shake(Coverage(CoverageConfig(attention_dim=5), SIZE, SIZE))
    energy = attention.energy
    actual = attention(batch.queries, attention.init_memory(batch.encoded)).weights
    queries = batch.queries @ energy.project_query.weight.T
    keys = batch.values @ energy.project_value.weight.T + attention.project_coverage.bias
    expected = covered(queries, keys, batch.mask, attention.project_coverage.weight[:, 0], energy.direction)
    torch.testing.assert_close(actual.double(), expected, atol=2e-6, rtol=1e-5)
    upstream = torch.randn(8, 7, 11, generator=torch.Generator().manual_seed(2))
    leaves = (attention.project_coverage.weight, energy.project_query.weight, energy.direction)
    gradients = (torch.autograd.grad((weights * upstream).sum(), leaves) for weights in (actual, expected))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4 * float(theirs.abs().max()), rtol=1e-3)


@pytest.mark.parametrize("reach", [0, 1, 4, 15])
def test_location_aware_has_the_weights_of_the_paper(reach: int, batch, shake):
    config = LocationAwareConfig(attention_dim=5, filters=3, filter_reach=reach)
    attention = shake(LocationAware(config, SIZE, SIZE))
    actual = attention(batch.queries, attention.init_memory(batch.encoded)).weights
    queries = batch.queries @ attention.project_query.weight.T
    keys = batch.values @ attention.project_value.weight.T + attention.project_value.bias
    located = attention.locate.weight[:, 0], attention.project_location.weight, attention.direction
    expected = oracle.location_aware_attention(queries, keys, batch.mask, *located)
    torch.testing.assert_close(actual.double(), expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("context", ["zeros", "last"])
def test_no_attention_is_to_nothing_or_to_the_end_of_each_sentence(context: str, batch):
    attention = NoAttention(NoneConfig(context=context), SIZE, SIZE)
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    assert attention.uses_source == (context == "last") and not list(attention.parameters())
    expected = torch.eye(11)[batch.mask.sum(1) - 1] * attention.uses_source  # [B, S]
    assert torch.equal(output.weights, expected[:, None].expand(8, 7, 11)) and output.contexts.shape == (8, 7, SIZE)
