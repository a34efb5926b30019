"""The papers' recurrences as loops in float64: what the tests compare the fast functions with."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad


def linear_scan(
    decay: Float[Tensor, "*batch T H"],
    inputs: Float[Tensor, "*batch T H"],
    start: Float[Tensor, "*batch H"] | None = None,
    *,
    reverse: bool = False,
) -> Float[Tensor, "*batch T H"]:
    """h[t] = decay[t] h[t-1] + inputs[t], or reversed h[t] = decay[t] h[t+1] + inputs[t]."""
    steps = list(zip(decay.double().unbind(-2), inputs.double().unbind(-2), strict=True))
    h = [torch.zeros_like(inputs[..., 0, :]).double() if start is None else start.double()]
    for factor, entering in reversed(steps) if reverse else steps:
        h.append(factor * h[-1] + entering)
    return torch.stack(h[:0:-1] if reverse else h[1:], -2)


def expected_alignment(p_choose: Float[Tensor, "B T S"], start: Float[Tensor, "B S"]) -> Float[Tensor, "B T S"]:
    """Raffel et al. 2017, equations 13 and 14, one cell at a time."""
    p = p_choose.double()
    previous = list(start.double().unbind(1))
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


def chunkwise_attention(
    alpha: Float[Tensor, "*batch S"], energy: Float[Tensor, "*batch S"], chunk_size: int
) -> Float[Tensor, "*batch S"]:
    """Chiu & Raffel 2018, equation 13: alpha[k] times the softmax of the chunk k-w+1 .. k, summed over the stops k."""
    chunks = [(max(0, k - chunk_size + 1), k) for k in range(alpha.shape[-1])]
    return torch.stack([alpha[..., k, None].double() * _chunk_softmax(energy, first, k) for first, k in chunks]).sum(0)


def infinite_lookback_attention(
    alpha: Float[Tensor, "*batch S"], energy: Float[Tensor, "*batch S"]
) -> Float[Tensor, "*batch S"]:
    """Arivazhagan et al. 2019, section 3.1: alpha[k] times the softmax of 0 .. k, summed over the stops k."""
    return chunkwise_attention(alpha, energy, alpha.shape[-1])


def adaptive_chunkwise_attention(
    previous: Float[Tensor, "*batch S"], p_choose: Float[Tensor, "*batch S"], energy: Float[Tensor, "*batch S"]
) -> Float[Tensor, "*batch S"]:
    """Chiu & Raffel 2018, equation 28: the probability of starting at k and stopping at l, times the softmax of k .. l,
    summed over k and l."""
    previous, p = previous.double(), p_choose.double()
    beta = torch.zeros_like(p)
    for k in range(p.shape[-1]):
        reached = previous[..., k]
        for stop in range(k, p.shape[-1]):
            beta = beta + (reached * p[..., stop])[..., None] * _chunk_softmax(energy, k, stop)
            reached = reached * (1 - p[..., stop])
    return beta


def location_aware_attention(
    queries: Float[Tensor, "B T H"],
    keys: Float[Tensor, "B S H"],
    mask: Bool[Tensor, "B S"],
    filters: Float[Tensor, "K R"],
    mix: Float[Tensor, "H K"],
    direction: Float[Tensor, " H"],
) -> Float[Tensor, "B T S"]:
    """Chorowski et al. 2015, equations 8 and 9, one position at a time. queries: W s; keys: V h + b; mix: U."""
    reach = filters.shape[1] // 2
    rows = []
    for query, key, real in zip(queries.double(), keys.double(), mask, strict=True):
        length = int(real.sum())
        weights = torch.full((length,), 1 / length, dtype=torch.float64)
        steps = []
        for s in query:
            around = pad(weights, (reach, reach))
            energies = []
            for j in range(length):
                f = filters.double() @ around[j : j + filters.shape[1]]
                energies.append(direction.double() @ torch.tanh(s + key[j] + mix.double() @ f))
            weights = torch.stack(energies).softmax(0)
            steps.append(pad(weights, (0, len(real) - length)))
        rows.append(torch.stack(steps))
    return torch.stack(rows)


def differentiable_average_lagging(
    delays: Float[Tensor, "B T"], source_lengths: Int[Tensor, " B"], target_mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Cherry & Foster 2019, section 3.1: one sentence and one target token at a time."""
    rows = []
    for row, source, mask in zip(delays.double(), source_lengths.tolist(), target_mask, strict=True):
        target = int(mask.sum())
        total = torch.zeros((), dtype=torch.float64)
        written = row[0]
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
