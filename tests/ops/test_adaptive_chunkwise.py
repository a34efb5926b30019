"""Against the equation's double sum over starts and stops, in float64."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn.functional import pad

import mt.ops.adaptive_chunkwise
from mt.ops.adaptive_chunkwise import adaptive_chunkwise_attention
from tests.ops import oracle

KINDS = ("any", "zeros and ones", "extremes", "ones", "zeros", "sharp")
STARTS = ("distribution", "one position")


def test_worked_out_by_hand():
    # From 0 (0.5): stops at 1 (0.25), shared as 1 : 3, or passes to 2 and stops there (0.25), shared as 1 : 3 : 4.
    # From 1 (0.5): stops at 1 (0.25), or passes to 2 and stops there (0.25), shared as 3 : 4.
    previous = torch.tensor([0.5, 0.5, 0.0])
    p = torch.tensor([0.0, 0.5, 1.0])
    energy = torch.tensor([0.0, math.log(3.0), math.log(4.0)])
    truth = torch.tensor([0.0625 + 0.03125, 0.1875 + 0.09375 + 0.25 + 0.75 / 7, 0.125 + 1 / 7])
    torch.testing.assert_close(adaptive_chunkwise_attention(previous, p, energy), truth)


@given(
    kind=st.sampled_from(KINDS),
    start=st.sampled_from(STARTS),
    size=st.sampled_from([1.0, 50.0, 300.0]),
    positions=st.integers(1, 20),
    padded=st.integers(0, 8),
    fill=st.sampled_from([-math.inf, 0.0, 1e4]),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_equals_the_equation(
    probabilities,
    energies,
    assert_agree,
    kind: str,
    start: str,
    size: float,
    positions: int,
    padded: int,
    fill: float,
    seed: int,
):
    shape = (2, 3, positions)
    previous = pad(probabilities(start, shape, seed), (0, padded))
    p = pad(probabilities(kind, shape, seed + 1), (0, padded))
    energy = pad(energies(size, shape, seed), (0, padded), value=fill)
    assert_agree(adaptive_chunkwise_attention, oracle.adaptive_chunkwise_attention, (previous, p, energy), seed)


def test_padding_has_no_weight_and_no_gradient(probabilities, energies):
    previous = probabilities("distribution", (2, 7), 1)
    p = probabilities("any", (2, 7), 2)
    energy = torch.randn(2, 7)
    upstream = torch.randn(2, 12)
    alone = [x.clone().requires_grad_() for x in (previous, p, energy)]
    beta = adaptive_chunkwise_attention(*alone)
    beta.backward(upstream[:, :7])
    for fill in (-math.inf, 0.0, 1e4):
        padded = [pad(x, (0, 5), value=v).requires_grad_() for x, v in ((previous, 0.0), (p, 0.0), (energy, fill))]
        padded_beta = adaptive_chunkwise_attention(*padded)
        padded_beta.backward(upstream)
        torch.testing.assert_close(padded_beta, pad(beta, (0, 5)), atol=1e-7, rtol=0)
        assert not padded_beta[:, 7:].any()
        for long, short in zip(padded, alone, strict=True):
            assert long.grad is not None and short.grad is not None
            assert long.grad.isfinite().all()
            torch.testing.assert_close(long.grad[:, :7], short.grad, atol=1e-6, rtol=0)
        # Of p on padding the gradient is that of the equation, as in expected_alignment: whoever masks p drops it.
        assert padded[0].grad is not None and not padded[0].grad[:, 7:].any()
        assert padded[2].grad is not None and not padded[2].grad[:, 7:].any()


def test_energies_of_minus_infinity_have_no_weight_and_no_gradient(probabilities, energies, assert_agree):
    arguments = (probabilities("distribution", (1, 9), 5), probabilities("any", (1, 9), 6), energies(3.0, (1, 9), 6))
    arguments[2][0, 0:2] = arguments[2][0, 4] = arguments[2][0, 6:] = -math.inf
    assert_agree(adaptive_chunkwise_attention, oracle.adaptive_chunkwise_attention, arguments)


def test_a_row_does_not_see_its_batch_nor_its_block(probabilities, energies, monkeypatch: pytest.MonkeyPatch):
    arguments = [
        x.requires_grad_()
        for x in (
            probabilities("distribution", (8, 3, 20), 1),
            probabilities("any", (8, 3, 20), 2),
            energies(50.0, (8, 3, 20), 2),
        )
    ]
    whole = adaptive_chunkwise_attention(*arguments)
    gradients = torch.autograd.grad(whole.square().sum(), arguments)
    for row in range(8):
        torch.testing.assert_close(
            adaptive_chunkwise_attention(*(x[row] for x in arguments)), whole[row], atol=1e-7, rtol=0
        )
    # A row has 210 chunks, of 3 numbers forward and 5 backward, of 8 bytes: 5 rows at a time and 3, of 24.
    monkeypatch.setitem(mt.ops.adaptive_chunkwise.BLOCK_BYTES, "cpu", 5 * 210 * 3 * 8)
    blocks = adaptive_chunkwise_attention(*arguments)
    torch.testing.assert_close(blocks, whole, atol=1e-7, rtol=0)
    for ours, truth in zip(torch.autograd.grad(blocks.square().sum(), arguments), gradients, strict=True):
        torch.testing.assert_close(ours, truth, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("gap", [-40.0, 40.0])
def test_a_tiny_gradient_is_not_lost_in_rounding(gap: float):
    # One position has all but exp(-40) of the chunk: the derivative of the softmax, times the gradients' difference.
    energy = torch.tensor([0.0, gap], requires_grad=True)
    beta = adaptive_chunkwise_attention(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), energy)
    beta.backward(torch.tensor([3.0, 1.0]))
    truth = 2 * math.exp(-40.0)
    assert energy.grad is not None
    torch.testing.assert_close(energy.grad, torch.tensor([truth, -truth]), atol=0, rtol=1e-6)
