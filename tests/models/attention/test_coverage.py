import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from mt.models.attention.coverage import Coverage, CoverageConfig
from mt.models.encoders import Encoded

SIZE = 6


def equations(
    queries: Float[Tensor, "B T H"],
    keys: Float[Tensor, "B S H"],
    mask: Bool[Tensor, "B S"],
    of_coverage: Float[Tensor, " H"],
    direction: Float[Tensor, " H"],
) -> Float[Tensor, "B T S"]:
    """See et al. 2017, equations 10 and 11, one position at a time. queries: W s; keys: U h + b; of_coverage: w."""
    rows = []
    for query, key, real in zip(queries.double(), keys.double(), mask, strict=True):
        length = int(real.sum())
        coverage = torch.zeros(length, dtype=torch.float64)
        steps = []
        for s in query:
            energies = []
            for j in range(length):
                energies.append(direction.double() @ torch.tanh(s + key[j] + of_coverage.double() * coverage[j]))
            weights = torch.stack(energies).softmax(0)
            coverage = coverage + weights
            steps.append(pad(weights, (0, len(real) - length)))
        rows.append(torch.stack(steps))
    return torch.stack(rows)


def test_weights_and_gradients_are_those_of_the_paper(batch, shake):
    """The gradient is that of the loop in float64, in which all steps before have a part."""
    attention = shake(Coverage(CoverageConfig(attention_dim=5), SIZE, SIZE))
    energy = attention.energy
    actual = attention(batch.queries, attention.init_memory(batch.encoded)).weights
    expected = equations(
        batch.queries @ energy.project_query.weight.T,
        batch.values @ energy.project_value.weight.T + attention.project_coverage.bias,
        batch.mask,
        attention.project_coverage.weight[:, 0],
        energy.direction,
    )
    torch.testing.assert_close(actual.double(), expected, atol=2e-6, rtol=1e-5)
    upstream = torch.randn(8, 7, 11, generator=torch.Generator().manual_seed(2))
    leaves = (attention.project_coverage.weight, energy.project_query.weight, energy.direction)
    gradients = (torch.autograd.grad((weights * upstream).sum(), leaves) for weights in (actual, expected))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4 * float(theirs.abs().max()), rtol=1e-3)


def test_it_can_go_through_a_source_without_coming_back():
    """Where all places and queries are alike, what has been attended to is left for what has not."""
    attention = Coverage(CoverageConfig(attention_dim=1), 1, 1)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.zero_()
        attention.project_coverage.weight.fill_(-2.0)
        attention.energy.project_value.weight.fill_(1.0)
        attention.energy.direction.fill_(60.0)
    values = torch.linspace(0.8, 0.0, 5)[None, :, None]
    mask = torch.ones(1, 5, dtype=torch.bool)
    memory = attention.init_memory(Encoded(values, values, mask, values[:, 0]))
    weights = attention(torch.zeros(1, 5, 1), memory).weights[0]
    assert weights.argmax(-1).tolist() == [0, 1, 2, 3, 4]
    assert weights.sum(0).tolist() == pytest.approx([1] * 5, abs=0.2)
