"""The papers' recurrences as loops in float64: slow, obvious, and the truth that the fast paths are tested against."""

import math

import torch
from torch import Tensor


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
    shape = alpha.shape
    alpha, energy = alpha.double().reshape(-1, shape[-1]), energy.double().reshape(-1, shape[-1])
    rows = []
    for alpha_row, energy_row in zip(alpha, energy, strict=True):
        weights = [torch.zeros((), dtype=torch.float64) for _ in range(shape[-1])]
        for k in range(shape[-1]):
            first = max(0, k - width + 1)
            chunk = energy_row[first : k + 1]
            if chunk.max() == -math.inf:
                continue
            for offset, share in enumerate(chunk.softmax(0)):
                weights[first + offset] = weights[first + offset] + alpha_row[k] * share
        rows.append(torch.stack(weights))
    return torch.stack(rows).reshape(shape)
