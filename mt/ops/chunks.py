"""MoChA's soft attention over a chunk that ends where the hard attention stops (Chiu & Raffel 2018, section 2.3).

    beta[j] = sum over k = j .. j+w-1 of  alpha[k] exp(u[j]) / sum over l = k-w+1 .. k of exp(u[l])        (equation 13)

The paper's moving sums of exp(u) (equation 19) need one common offset for the whole sentence, and underflow where a
window lies far below it. Here each window k has its own offset, the largest energy inside it, so that no window can
overflow or lose its mass. Energies are finite, or -inf on padding.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from mt.ops.precision import returned
from mt.ops.scan import earlier, later


def spread(alpha: Tensor, energy: Tensor, width: int) -> Tensor:
    """Spreads each stop's probability over the chunk of `width` positions ending there, by the chunk's softmax.

    alpha: [..., S], the probability of stopping at each position; energy: [..., S], the chunk energies u.
    width: chunk length w >= 1; chunks are cut at the left edge of the sentence.
    Returns beta: [..., S], of the same total mass as alpha. Memory is O(S) per row for any width.

    Computed and returned in float32, or float64 where an argument is float64. Differentiable once, in both arguments.
    """
    if width < 1:
        raise ValueError(f"a chunk is at least one position wide, got {width}")
    if alpha.shape != energy.shape:
        raise ValueError(f"alpha and energy must have one shape, got {tuple(alpha.shape)} and {tuple(energy.shape)}")
    dtype = returned(alpha, energy)
    return _Spread.apply(alpha.to(dtype), energy.to(dtype), min(width, max(alpha.shape[-1], 1)))


class _Spread(Function):
    @staticmethod
    def forward(ctx, alpha: Tensor, energy: Tensor, width: int) -> Tensor:
        largest, peak, total = _windows(energy, width)
        beta = _received(alpha / total, energy, largest, width)
        ctx.save_for_backward(alpha, energy, largest, peak, total)
        ctx.width = width
        return beta

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_beta: Tensor) -> tuple[Tensor, Tensor, None]:
        alpha, energy, largest, peak, total = ctx.saved_tensors
        # With softmax s of window k and gradient g:  d/d alpha[k] = sum over j of s[k, j] g[j] =: mean[k]
        #                                             d/d u[j] = sum over k of alpha[k] s[k, j] (g[j] - mean[k]).
        # One position often has nearly all of s, and g[j] - mean[k] would then be lost in rounding. So gradients are
        # taken relative to that of the window's largest energy: mean = at_peak + rest, with a rest as small as it is.
        at_peak = grad_beta.gather(-1, peak).masked_fill(largest == torch.finfo(energy.dtype).min, 0.0)
        rest = torch.zeros_like(alpha)
        for offset in range(ctx.width):
            share = (earlier(energy, offset, -torch.inf) - largest).exp()
            rest += share * (earlier(grad_beta, offset, 0.0) - at_peak)
        rest /= total
        grad_energy, scaled = torch.zeros_like(energy), alpha / total
        for offset in range(ctx.width):
            share = later(scaled, offset, 0.0) * (energy - later(largest, offset, torch.inf)).exp()
            grad_energy += share * ((grad_beta - later(at_peak, offset, 0.0)) - later(rest, offset, 0.0))
        return at_peak + rest, grad_energy, None


def _windows(energy: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of the window that ends at each position: the largest energy, where that is, the sum of exp(energy - largest)."""
    largest, peak = pad(energy, (width - 1, 0), value=-torch.inf).unfold(-1, width, 1).max(-1)
    peak = (peak + torch.arange(1 - width, 1 - width + energy.shape[-1], device=energy.device)).clamp(min=0)
    # A window of nothing but padding gets finite stand-ins, so that it passes zeros rather than NaN.
    largest = largest.clamp(min=torch.finfo(energy.dtype).min)
    total = torch.zeros_like(energy)
    for offset in range(width):
        total += (earlier(energy, offset, -torch.inf) - largest).exp()
    return largest, peak, total.clamp(min=1.0)


def _received(share: Tensor, energy: Tensor, largest: Tensor, width: int) -> Tensor:
    """What j gets from the windows k = j .. j + width - 1 that hold it: sum of share[k] exp(energy[j] - largest[k])."""
    received = torch.zeros_like(share)
    for offset in range(width):
        received += later(share, offset, 0.0) * (energy - later(largest, offset, torch.inf)).exp()
    return received
