"""The papers' recurrences as loops in float64: slow, obvious, and the truth that the fast paths are tested against."""

import math

import torch
from torch import Tensor
from torch.nn.functional import pad


def linear_scan(decay: Tensor, inputs: Tensor, *, reverse: bool = False) -> Tensor:
    """h[j] = decay[j] h[j-1] + inputs[j], or from the right; decay, inputs: [..., S]; returns h: [..., S]."""
    steps = list(zip(decay.double().unbind(-1), inputs.double().unbind(-1), strict=True))
    h = [torch.zeros_like(inputs[..., 0]).double()]
    for factor, entering in reversed(steps) if reverse else steps:
        h.append(factor * h[-1] + entering)
    return torch.stack(h[:0:-1] if reverse else h[1:], -1)


def expected_alignment(p: Tensor, start: Tensor) -> Tensor:
    """Raffel et al. 2017, equations 13 and 14, one cell at a time. p: [B, T, S]; start: [B, S]; returns [B, T, S]."""
    p, previous = p.double(), list(start.double().unbind(1))
    rows = []
    for i in range(p.shape[1]):
        row = []
        q = torch.zeros(p.shape[0], dtype=torch.float64)
        for j in range(p.shape[2]):
            q = q * (1 - p[:, i, j - 1]) + previous[j] if j else previous[0]
            row.append(p[:, i, j] * q)
        rows.append(torch.stack(row, 1))
        previous = row
    return torch.stack(rows, 1)


def spread(alpha: Tensor, energy: Tensor, width: int) -> Tensor:
    """Chiu & Raffel 2018, equation 13: each stop k spreads its probability over the chunk k-w+1 .. k by softmax.

    alpha, energy: [..., S]; returns [..., S].
    """
    chunks = [(max(0, k - width + 1), k) for k in range(alpha.shape[-1])]
    return torch.stack([alpha[..., k, None].double() * _chunk_softmax(energy, first, k) for first, k in chunks]).sum(0)


def look_back(alpha: Tensor, energy: Tensor) -> Tensor:
    """Arivazhagan et al. 2019, section 3.1: each stop k spreads its probability over 0 .. k by softmax.

    alpha, energy: [..., S]; returns [..., S].
    """
    return spread(alpha, energy, alpha.shape[-1])


def spread_between(previous: Tensor, p: Tensor, energy: Tensor) -> Tensor:
    """Chiu & Raffel 2018, equation 28: from each start k, the head passes until it stops at l, and spreads over k .. l.

    previous, p, energy: [..., S]; returns [..., S].
    """
    previous, p = previous.double(), p.double()
    beta = torch.zeros_like(p)
    for k in range(p.shape[-1]):
        reached = previous[..., k]
        for stop in range(k, p.shape[-1]):
            beta = beta + (reached * p[..., stop])[..., None] * _chunk_softmax(energy, k, stop)
            reached = reached * (1 - p[..., stop])
    return beta


def differentiable_average_lagging(delays: Tensor, source_lengths: Tensor, target_mask: Tensor) -> Tensor:
    """Cherry & Foster 2019, section 3.1: one sentence and one target token at a time.

    delays: [B, T]; source_lengths: [B]; target_mask: [B, T], padding last; returns [B].
    """
    rows = []
    for row, source, mask in zip(delays.double(), source_lengths.tolist(), target_mask, strict=True):
        target = int(mask.sum())
        total, written = torch.zeros((), dtype=torch.float64), row[0]
        for i in range(target):
            written = torch.maximum(row[i], written + source / target) if i else row[0]
            total = total + written - i * source / target
        rows.append(total / max(target, 1))
    return torch.stack(rows)


def _chunk_softmax(energy: Tensor, first: int, last: int) -> Tensor:
    """The softmax of energy[..., first .. last], and zeros around it; all zeros where it is -inf throughout."""
    chunk = energy[..., first : last + 1].double()
    none = (chunk == -math.inf).all(-1, keepdim=True)
    softmax = chunk.masked_fill(none, 0.0).softmax(-1).masked_fill(none, 0.0)
    return pad(softmax, (first, energy.shape[-1] - 1 - last))
