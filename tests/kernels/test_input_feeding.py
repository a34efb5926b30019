"""All steps of input feeding at once are the steps one after another, with their gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.kernels.input_feeding import DotProductAttention, Weights, input_feeding
from mt.kernels.sequences import masked_softmax

B = 3
T = 4
S = 5
E = 2
H = 4
V = 3
F = 2
LENGTHS = (5, 2, 0)
"""The last sentence has nothing to attend to."""


def made(*, dtype: torch.dtype = torch.float64, steps_mask: bool = False, dropped: bool = False) -> list[Any]:
    generator = torch.Generator().manual_seed(5)

    def drawn(shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

    visible = (torch.arange(S) < torch.tensor(LENGTHS)[:, None])[:, None]
    if steps_mask:
        visible = visible & (torch.arange(S) <= torch.arange(T)[:, None])
    drop = (torch.rand(B, T, F, generator=generator) < 0.5).to(dtype) * 2 if dropped else None
    sizes = ((B, T, E), (B, H), (B, H), (B, S, H), (), (B, S, V), (4 * H, E + F), (4 * H, H), (4 * H,), (F, V + H))
    return [*map(drawn, sizes), visible, drop]


def run(
    function: Callable[..., tuple[Tensor, ...]], given: list[Any], leaves: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    vectors, hidden, cell, keys, gain, values, *weights = leaves
    return function(
        vectors, (hidden, cell), DotProductAttention(keys, gain, values, given[10]), Weights(*weights), given[11]
    )


def literal(
    vectors: Tensor, state: tuple[Tensor, Tensor], attention: DotProductAttention, weights: Weights, drop: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The equations, by a cell of PyTorch's and autograd."""
    fed = vectors.new_zeros(len(vectors), len(weights.combine))
    steps = []
    recurrent = (weights.input, weights.hidden, weights.bias, torch.zeros_like(weights.bias))
    for t, vector in enumerate(vectors.unbind(1)):
        state = torch.lstm_cell(torch.cat((vector, fed), -1), state, *recurrent)
        energies = attention.gain * torch.einsum("bsh,bh->bs", attention.keys, state[0])
        alpha = masked_softmax(energies, attention.visible.expand(-1, T, -1)[:, t])
        context = torch.einsum("bs,bsv->bv", alpha, attention.values)
        fed = torch.tanh(torch.cat((context, state[0]), -1) @ weights.combine.T)
        fed = fed if drop is None else fed * drop[:, t]
        steps.append((fed, context, alpha))
    readouts, contexts, alphas = (torch.stack(part, 1) for part in zip(*steps, strict=True))
    return readouts, contexts, alphas


@pytest.mark.parametrize("steps_mask", [False, True])
@pytest.mark.parametrize("dropped", [False, True])
def test_it_is_the_loop_of_steps_with_its_gradients(steps_mask: bool, dropped: bool) -> None:
    given = made(steps_mask=steps_mask, dropped=dropped)
    leaves = tuple(given[:10])
    actual = run(input_feeding, given, leaves)
    expected = run(literal, given, leaves)
    torch.testing.assert_close(actual, expected)
    for chosen in ([0], [1], [2], [0, 1, 2]):  # also where one output alone is used
        sums = [sum(outputs[i].sin().sum() for i in chosen) for outputs in (actual, expected)]
        gradients = [torch.autograd.grad(one, leaves, retain_graph=True, allow_unused=True) for one in sums]
        for ours, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(ours, torch.zeros_like(ours) if theirs is None else theirs)


def test_float32_and_bfloat16_stay_near() -> None:
    given = made()
    exact = run(input_feeding, given, tuple(given[:10]))
    single = made(dtype=torch.float32)
    torch.testing.assert_close(
        run(input_feeding, single, tuple(single[:10])), tuple(part.float() for part in exact), atol=1e-6, rtol=1e-5
    )
    with torch.autocast("cpu", torch.bfloat16):
        rounded = run(input_feeding, single, tuple(single[:10]))
    assert [part.dtype for part in rounded] == [torch.bfloat16, torch.bfloat16, torch.float32]
    for ours, theirs in zip(rounded, exact, strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=0.05, rtol=0.05)
    torch.stack([part.float().sum() for part in rounded]).sum().backward()
    assert all(leaf.grad is not None and leaf.grad.dtype == torch.float32 for leaf in single[:10])
