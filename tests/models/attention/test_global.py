import pytest
import torch

from mt.models.attention.energy import ConcatConfig, DotConfig, EnergyConfig, GeneralConfig, LocationConfig
from mt.models.attention.global_ import Global, GlobalConfig


@pytest.mark.parametrize(
    "energy", [DotConfig(), GeneralConfig(), ConcatConfig(attention_dim=5), LocationConfig(max_source_length=11)]
)
def test_weights_are_the_softmax_of_the_energies_of_real_positions(energy: EnergyConfig, batch, shake):
    attention = shake(Global(GlobalConfig(energy=energy), 6, 6))
    memory = attention.remember(batch.values, batch.mask)
    _, weights = attention(batch.queries, memory)
    energies = attention.energy(batch.queries, memory.keys[0])
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        torch.testing.assert_close(weights[row, :, :length], energies[row, :, :length].softmax(-1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(8, 7))


def test_worked_out_by_hand():
    attention = Global(GlobalConfig(energy=DotConfig()), 1, 1)
    memory = attention.remember(torch.tensor([[[0.0], [1.0], [5.0]]]), torch.tensor([[True, True, False]]))
    read = attention.step(torch.tensor([[1.0986123]]), memory, ())
    # exp(0) = 1 and exp(log 3) = 3.
    torch.testing.assert_close(read.weights, torch.tensor([[0.25, 0.75, 0.0]]))
    torch.testing.assert_close(read.context, torch.tensor([[0.75]]))
    assert read.stops is None
