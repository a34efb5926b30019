import math

import torch
from hypothesis import given, settings, strategies as st

from mt.kernels.sequences import masked_softmax


@given(size=st.sampled_from([1.0, 50.0, 1e4]), positions=st.integers(1, 40), data=st.data(), seed=st.integers(0, 2**31))
@settings(max_examples=50, deadline=None)
def test_is_the_softmax_of_the_real_positions(size: float, positions: int, data: st.DataObject, seed: int):
    """Without any, weights and gradients are zero."""
    length = data.draw(st.integers(0, positions))
    energy = size * torch.randn(3, positions, generator=torch.Generator().manual_seed(seed))
    energy[:, length:] = data.draw(st.sampled_from([0.0, 1e9, -math.inf]))
    energy.requires_grad_()
    truth = energy[:, :length].detach().double().requires_grad_()
    mask = torch.arange(positions) < length
    upstream = torch.randn(3, positions, generator=torch.Generator().manual_seed(seed + 1))
    weights = masked_softmax(energy, mask)
    true_weights = truth.softmax(-1)
    torch.testing.assert_close(weights[:, :length].double(), true_weights, atol=1e-6, rtol=0)
    assert not weights[:, length:].any()
    weights.backward(upstream)
    true_weights.backward(upstream[:, :length].double())
    assert energy.grad is not None and truth.grad is not None
    torch.testing.assert_close(energy.grad[:, :length].double(), truth.grad, atol=1e-5, rtol=0)
    assert not energy.grad[:, length:].any()
