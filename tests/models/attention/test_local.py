"""Local attention against the formulas of Luong et al. 2015, section 3.2, one sentence and one step at a time."""

import math

import pytest
import torch

from mt.models.attention.energy import ConcatConfig, DotConfig, EnergyConfig, GeneralConfig, LocationConfig
from mt.models.attention.local import LocalM, LocalP
from tests.marks import combined

SIZE = 6
ENERGIES = [DotConfig(), GeneralConfig(), ConcatConfig(attention_dim=5), LocationConfig(max_source_length=12)]
# Narrower than most sentences (7, 11), as wide as some (4), and wider than all.
WINDOWS = [1, 2, 4, 20]


def around(energies: list[float], centre: float, window: int, *, gaussian: bool) -> torch.Tensor:
    """The weights over one sentence: energies of its positions, the centre p_t, D."""
    middle = math.floor(centre)
    inside = [s for s in range(len(energies)) if middle - window <= s <= middle + window]
    total = sum(math.exp(energies[s]) for s in inside)
    weights = [math.exp(energies[s]) / total if s in inside else 0.0 for s in range(len(energies))]
    if gaussian:
        sigma = window / 2
        weights = [w * math.exp(-((s - centre) ** 2) / (2 * sigma**2)) for s, w in enumerate(weights)]
    return torch.tensor(weights)


def predicted_centre(attention: LocalP, query: torch.Tensor, length: int) -> float:
    """p_t = (S - 1) sigmoid(v . tanh(W h))."""
    hidden = torch.tanh(attention.project.weight.detach().double() @ query.double())
    return (length - 1) * torch.sigmoid(attention.position.weight.detach().double()[0] @ hidden).item()


@pytest.mark.parametrize("kind", [LocalM, LocalP])
@combined(energy=ENERGIES, window=WINDOWS)
def test_weights_are_a_softmax_around_a_centre(kind, energy: EnergyConfig, window: int, batch, shake):
    """Of local-m the number of the step, of local-p a predicted position, under a Gaussian."""
    attention = shake(kind(kind.Config(energy=energy, window=window), SIZE, SIZE))
    memory = attention.init_memory(batch.encoded)
    weights = attention(batch.queries, memory).weights
    energies = attention.energy(batch.queries, memory.keys[0])
    predicted = kind is LocalP
    centres = set()
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        for step, query in enumerate(batch.queries[row]):
            # Beyond the end of the source, local-m stays there.
            centre = predicted_centre(attention, query, length) if predicted else min(step, length - 1)
            centres.add(math.floor(centre))
            expected = around(energies[row, step, :length].tolist(), centre, window, gaussian=predicted)
            torch.testing.assert_close(weights[row, step, :length], expected, atol=2e-6, rtol=0)
    assert len(centres) > 6, "centres at both edges and between"
