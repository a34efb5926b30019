"""MAtChA, monotonic adaptive chunkwise attention: soft attention from where the hard attention stopped last to where
it stops now, both included (Chiu & Raffel 2018, appendix C).

    beta[j] = sum over k <= j <= l of  w[k, l] softmax(u[k .. l])[j],
    w[k, l] = previous[k] p[l] prod over n = k .. l-1 of (1 - p[n])                                (equation 28)

The paper evaluates it with partial sums of exp(u) that overflow and partial products that are divided by. Here only
ratios in [0, 1] occur. Of the mass of chunk k .. l, position l takes a share and leaves the rest to chunk k .. l-1,
so that all chunks of one length follow at once from those one longer: S vectorised steps, no cell computed in vain.
Rows are worked off in blocks, and the chunks computed again for the gradient, so that memory does not grow with T.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.ops.precision import inside, returned

BLOCK_BYTES = {"cpu": 32 * 2**20}
"""What a block of rows may keep of its chunks, by the kind of device: on a CPU, what stays in its cache."""
OTHER_BLOCK_BYTES = 512 * 2**20
"""The same on other devices, which need longer rows to be kept busy."""


def spread_between(previous: Tensor, p: Tensor, energy: Tensor) -> Tensor:
    """Spreads each stop's probability over the positions from the stop before it to itself, by their softmax.

    previous: [..., S], the probability that the step before stopped at each position, which is where this one starts.
    p: [..., S], this step's stopping probabilities, each in [0, 1]; 0 on padded positions keeps the result exact.
    energy: [..., S], this step's energies u, finite or -inf.
    Returns beta: [..., S], of the same total mass as stops: what leaves the sentence without stopping is not spread,
    nor what stops with nothing but -inf in its chunk.

    Computed in float64 where the device has it; returned in float32, or float64 where an argument is float64.
    Differentiable once, in all arguments. Time is O(S^2) per row; memory is O(S) per row beside one block.
    """
    if not previous.shape == p.shape == energy.shape:
        shapes = " and ".join(str(tuple(x.shape)) for x in (previous, p, energy))
        raise ValueError(f"previous, p and energy must have one shape, got {shapes}")
    dtype = inside(energy.device)
    columns = (torch.atleast_2d(x).flatten(0, -2).T.to(dtype).contiguous() for x in (previous, p, energy))
    beta = _SpreadBetween.apply(*columns)
    return beta.T.reshape(energy.shape).to(returned(previous, p, energy))


class _SpreadBetween(Function):
    """On [S, N]: positions first, so that the chunks of one length are contiguous, whichever it is."""

    @staticmethod
    def forward(ctx, previous: Tensor, p: Tensor, energy: Tensor) -> Tensor:
        ctx.save_for_backward(previous, p, energy)
        beta = torch.empty_like(energy)
        for block in _blocks(energy, kept=3):
            beta[:, block] = _shared_out(previous[:, block], p[:, block], energy[:, block])
        return beta

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        arguments = (*ctx.saved_tensors, grad_beta)
        grads = torch.empty_like(grad_beta), torch.empty_like(grad_beta), torch.empty_like(grad_beta)
        for block in _blocks(grad_beta, kept=5):
            for whole, part in zip(grads, _gradients(*(x[:, block] for x in arguments)), strict=True):
                whole[:, block] = part
        return grads


def _blocks(x: Tensor, kept: int) -> Iterator[slice]:
    """Slices of the rows of x [S, N], so few at a time that `kept` numbers for each of their chunks fit the bound."""
    positions, rows = x.shape
    bound = BLOCK_BYTES.get(x.device.type, OTHER_BLOCK_BYTES)
    size = max(1, bound // (kept * x.element_size() * max(1, positions * (positions + 1) // 2)))
    return (slice(first, first + size) for first in range(0, rows, size))


def _chunks(previous: Tensor, p: Tensor, energy: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Of the chunks k .. k+m, for all k at once and m = 0, 1, ... in turn, each [S - m, n]:

    the share that the softmax gives to the last position, the rest that it leaves to those before it, and the
    probability that the head starts at k and comes to look at k+m.
    """
    passed, reached = 1 - p, previous
    # An empty sum is finite, so that a first energy of -inf gets a share of 0 rather than NaN.
    log_total = torch.full_like(energy, torch.finfo(energy.dtype).min)
    for m in range(len(energy)):
        before, last = log_total[: len(energy) - m], energy[m:]
        log_odds = last - before
        yield log_odds.sigmoid(), log_odds.neg_().sigmoid_(), reached
        log_total = torch.logaddexp(before, last)
        reached = reached[:-1] * passed[m:-1]


def _shared_out(previous: Tensor, p: Tensor, energy: Tensor) -> Tensor:
    """beta, from the longest chunk to the shortest. All [S, n]."""
    beta = torch.zeros_like(energy)
    left = energy[:0]
    for m, (share, rest, reached) in reversed(list(enumerate(_chunks(previous, p, energy)))):
        mass = reached * p[m:]
        mass[:-1] += left
        beta[m:].addcmul_(share, mass)
        left = rest.mul_(mass)
    return beta


def _gradients(previous: Tensor, p: Tensor, energy: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of previous, p and energy where that of beta is g. All [S, n]."""
    chunks = []
    mean = torch.zeros_like(g)  # the chunk's mean of g under its softmax: what it is worth to stop at its end
    for m, (share, rest, reached) in enumerate(_chunks(previous, p, energy)):
        gap = g[m:] - mean[: len(share)]
        mean = torch.addcmul(mean[: len(share)], share, gap)
        chunks.append((share, rest, reached, mean, gap.mul_(share).mul_(rest)))
    grad_p, grad_energy, passed = torch.zeros_like(g), torch.zeros_like(g), 1 - p
    worth = left = owed = g[:0]
    for m, (share, rest, reached, mean, slope) in reversed(list(enumerate(chunks))):
        # worth: what it is worth to look at the chunk's end, there to stop, or to pass on to the next longer chunk.
        gain = mean.clone()
        gain[:-1] -= worth
        grad_p[m:].addcmul_(reached, gain)
        worth = mean.addcmul_(passed[m:], gain, value=-1)
        mass = reached * p[m:]
        mass[:-1] += left
        # To raise the last energy moves mass to it (slope) from those before it, in proportion to their shares (owed).
        slope *= mass
        grad_energy[m:] += slope
        grad_energy[m:-1].addcmul_(share[:-1], owed, value=-1)
        slope[:-1].addcmul_(rest[:-1], owed)
        left, owed = rest.mul_(mass), slope
    return worth, grad_p, grad_energy
