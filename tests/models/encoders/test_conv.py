"""The convolutional encoder beside its equations as loops, and its refusals."""

import numpy as np
import pytest
import torch

from mt.errors import UserError
from mt.models.config import ModelConfig
from mt.models.encoders.conv import Conv, ConvConfig, Stack
from mt.models.seq2seq import Seq2Seq


def literal(stack: Stack, inputs: np.ndarray) -> np.ndarray:
    """tanh(convolution(x) + x) for each layer, one position and one row of the kernel at a time. inputs: [S, H]."""
    for convolution in stack.convolutions:
        weight, bias = (parameter.detach().double().numpy() for parameter in (convolution.weight, convolution.bias))
        size = weight.shape[2]
        outputs = np.empty_like(inputs)
        for j in range(len(inputs)):
            total = bias + inputs[j]
            for k in range(size):
                if 0 <= j + k - size // 2 < len(inputs):
                    total = total + weight[:, :, k] @ inputs[j + k - size // 2]
            outputs[j] = np.tanh(total)
        inputs = outputs
    return inputs


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
def test_it_equals_its_equations(kernel_size: int, vectors, mask, shake):
    encoder = shake(
        Conv(
            ConvConfig(hidden_size=4, num_layers=3, num_value_layers=2, kernel_size=kernel_size, max_source_length=9), 6
        ),
        scale=0.4,
    )
    encoded = encoder(vectors, mask)
    project, table = (p.detach().double().numpy() for p in (encoder.project.weight, encoder.positions.table.weight))
    for row, length in enumerate(mask.sum(1).tolist()):
        # Position vectors are scaled as word vectors are: by the square root of their size.
        places = table[1 : length + 1] * 6**0.5
        inputs = 0.1 * (vectors[row, :length].double().numpy() + places) @ project.T
        contents = literal(encoder.values, inputs)
        np.testing.assert_allclose(encoded.values[row, :length].detach(), contents, atol=2e-6)
        np.testing.assert_allclose(encoded.final_state[row].detach(), contents.mean(0), atol=2e-6)
        np.testing.assert_allclose(encoded.keys[row, :length].detach(), literal(encoder.keys, inputs), atol=2e-6)


def test_a_source_without_positions_is_refused(vectors, mask):
    encoder = Conv(ConvConfig(hidden_size=4, max_source_length=8), 6)
    assert encoder.max_source_length == 8
    with pytest.raises(UserError) as refusal:
        encoder(vectors, mask)
    assert str(refusal.value) == (
        "a source of 9 tokens is longer than the 8 that the convolutional encoder has positions for: raise "
        "encoder.max_source_length, or choose another encoder"
    )
    # Its length is what counts, and not how much padding follows.
    shorter = mask & (torch.arange(9) < 8)
    assert encoder(vectors, shorter).values[:, :8].any(-1).equal(shorter[:, :8])


@pytest.mark.parametrize("hidden_size", [64, 1024])
def test_kernels_of_any_size_leave_values_in_the_slope_of_the_tanh(hidden_size: int):
    torch.manual_seed(1)
    config = ModelConfig(encoder=ConvConfig(hidden_size=hidden_size, num_layers=6, num_value_layers=3))
    with torch.no_grad():
        memory = Seq2Seq(config, 50, 50).encode(torch.randint(4, 50, (4, 20)), torch.ones(4, 20, dtype=torch.bool))
    assert 0.01 < memory.values.std() < 0.5
    assert memory.values.abs().max() < 0.95
