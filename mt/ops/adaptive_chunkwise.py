"""MAtChA, monotonic adaptive chunkwise attention: soft attention over the positions from the previous stop of the
monotonic attention to its present stop, both included (Chiu & Raffel 2018, appendix C).

    beta[j] = sum over k <= j <= l of  w[k, l] softmax(u[k .. l])[j]
    w[k, l] = reached[k, l] p[l],   reached[k, l] = previous[k] prod over n = k .. l-1 of (1 - p[n])    (equation 28)

The paper evaluates it with partial sums of exp(u), which overflow, and divides by partial products, which underflow.
Here only ratios in [0, 1] occur. With share[k, l] = softmax(u[k .. l])[l] and rest = 1 - share,

    beta[l] = sum over k of  share[k, l] mass[k, l],   mass[k, l] = w[k, l] + rest[k, l+1] mass[k, l+1]

All chunks of one length are computed at once, from those of the next greater length: S vectorised steps. Rows are
computed in blocks, and the chunks computed again for the gradient, so that memory does not grow with T.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.precision import compute_dtype, result_dtype

BLOCK_BYTES = {"cpu": 32 * 2**20}
"""Size of the chunks of one block of rows, by the kind of device: on a CPU, it fits the cache."""
OTHER_BLOCK_BYTES = 512 * 2**20
"""The same on other devices, which need more rows at once to be busy."""


def adaptive_chunkwise_attention(
    previous: Float[Tensor, "*batch S"], p_choose: Float[Tensor, "*batch S"], energy: Float[Tensor, "*batch S"]
) -> Float[Tensor, "*batch S"]:
    """Distributes the probability of each stop over the positions from the previous stop to it, by their softmax.

    previous: alpha of the previous step, the probability that this step starts at each position.
    p_choose: p, the probability of stopping at a position that is reached; 0 on padding keeps the result exact.
    energy: u, finite or -inf.
    Returns beta, whose sum is the probability of stopping, less the stops with only energies of -inf in their chunk.

    Computed in float64 (MPS: float32); returned in float32, or float64 where an argument is float64.
    Differentiable once, in all arguments. Time is O(S^2) per row; memory is O(S) per row beside one block.
    """
    dtype = compute_dtype(energy.device)
    # [*batch, S] -> [S, N]
    columns = (torch.atleast_2d(x).flatten(0, -2).T.to(dtype).contiguous() for x in (previous, p_choose, energy))
    beta = _AdaptiveChunkwise.apply(*columns)
    return beta.T.reshape(energy.shape).to(result_dtype(previous, p_choose, energy))


class _AdaptiveChunkwise(Function):
    """Takes [S, N], positions first, so that the chunks of any one length are contiguous."""

    @staticmethod
    def forward(ctx, previous: Tensor, p_choose: Tensor, energy: Tensor) -> Tensor:
        ctx.save_for_backward(previous, p_choose, energy)
        beta = torch.empty_like(energy)
        # Of each chunk share, rest and reached are held at once; on the way back also mean and gain.
        for block in _blocks(energy, numbers=3):
            beta[:, block] = _distribute(previous[:, block], p_choose[:, block], energy[:, block])
        return beta

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        arguments = (*ctx.saved_tensors, grad_beta)
        grads = torch.empty_like(grad_beta), torch.empty_like(grad_beta), torch.empty_like(grad_beta)
        for block in _blocks(grad_beta, numbers=5):
            for grad, of_block in zip(grads, _gradients(*(x[:, block] for x in arguments)), strict=True):
                grad[:, block] = of_block
        return grads


def _blocks(x: Tensor, numbers: int) -> Iterator[slice]:
    """Yields slices of the columns of x [S, N]: `numbers` for each chunk of a slice fit the bound."""
    positions, columns = x.shape
    bound = BLOCK_BYTES.get(x.device.type, OTHER_BLOCK_BYTES)
    # A column of x has S (S + 1) / 2 chunks.
    size = max(1, bound // (numbers * x.element_size() * max(1, positions * (positions + 1) // 2)))
    return (slice(first, first + size) for first in range(0, columns, size))


def _chunks(previous: Tensor, p_choose: Tensor, energy: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yields share, rest and reached of all chunks k .. k+m, each [S - m, n], for m = 0, 1, ... in turn."""
    passed = 1 - p_choose
    reached = previous
    # The log of an empty sum is finite, so that a first energy of -inf has a share of 0 rather than NaN.
    log_total = torch.full_like(energy, torch.finfo(energy.dtype).min)
    for m in range(len(energy)):
        shorter = log_total[: len(energy) - m]  # log sum of exp(u[k .. k+m-1])
        last = energy[m:]
        log_odds = last - shorter
        # 1 - share would be 0 wherever share rounds to 1.
        yield log_odds.sigmoid(), log_odds.neg_().sigmoid_(), reached
        log_total = torch.logaddexp(shorter, last)
        reached = reached[:-1] * passed[m:-1]


def _distribute(previous: Tensor, p_choose: Tensor, energy: Tensor) -> Tensor:
    """Returns beta, summed from the longest chunk to the shortest. All [S, n]."""
    beta = torch.zeros_like(energy)
    left = energy[:0]  # rest * mass of the chunks one longer
    for m, (share, rest, reached) in reversed(list(enumerate(_chunks(previous, p_choose, energy)))):
        mass = reached * p_choose[m:]
        # The last chunk of a length ends with the source, so that none is one longer.
        mass[:-1] += left
        beta[m:].addcmul_(share, mass)
        left = rest.mul_(mass)
    return beta


def _gradients(previous: Tensor, p_choose: Tensor, energy: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of previous, p_choose and energy, where that of beta is g.

        mean[k, l] = rest[k, l] mean[k, l-1] + share[k, l] g[l]                  (of g under softmax(u[k .. l]))
        value[k, l] = p[l] mean[k, l] + (1 - p[l]) value[k, l+1]                 (the gradient of reached[k, l])
        gain[k, l] = mass[k, l] share[k, l] rest[k, l] (g[l] - mean[k, l-1])     (by u[l] in share[k, l], rest[k, l])
        total[k, l] = gain[k, l] + rest[k, l] total[k, l+1]

        grad_previous[k] = value[k, k]
        grad_p[l] = sum over k of  reached[k, l] (mean[k, l] - value[k, l+1])
        grad_energy[l] = sum over k of  gain[k, l] - share[k, l] total[k, l+1]

    All are [S, n].
    """
    # Forward over lengths of chunks: mean, and gain without its mass, which the way back computes.
    chunks = []
    mean = torch.zeros_like(g)
    for m, (share, rest, reached) in enumerate(_chunks(previous, p_choose, energy)):
        gap = g[m:] - mean[: len(share)]
        mean = torch.addcmul(mean[: len(share)], share, gap)
        chunks.append((share, rest, reached, mean, gap.mul_(share).mul_(rest)))
    # Backward, from the longest chunks to the shortest: `value`, `left` and `total` are of chunks one longer.
    grad_p = torch.zeros_like(g)
    grad_energy = torch.zeros_like(g)
    passed = 1 - p_choose
    value = left = total = g[:0]
    for m, (share, rest, reached, mean, gain) in reversed(list(enumerate(chunks))):
        # The gradients of p and of reached.
        difference = mean.clone()
        difference[:-1] -= value
        grad_p[m:].addcmul_(reached, difference)
        value = mean.addcmul_(passed[m:], difference, value=-1)
        # The gradient of the energies, through each chunk's softmax.
        mass = reached * p_choose[m:]
        mass[:-1] += left
        gain *= mass
        grad_energy[m:] += gain
        grad_energy[m:-1].addcmul_(share[:-1], total, value=-1)
        gain[:-1].addcmul_(rest[:-1], total)
        left = rest.mul_(mass)
        total = gain
    return value, grad_p, grad_energy
