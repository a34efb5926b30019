"""How hard monotonic steps find where they stop: energies are computed block by block, no further than needed."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mt.models.attention.base import SELECTED_NONE, Memory
from mt.models.attention.windows import real, window

BLOCK = 16
"""How many positions a hard step computes the energies of at once."""


def scan(
    noisy_energy: Callable[[Tensor, Tensor], Tensor], query: Tensor, memory: Memory, begin: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Moves the pointer of each row right from the column `begin`, block by block, until it stops or finds no more.

    noisy_energy: of queries [B, T, Q] and keys [B, S, K]; the pointer stops where it is not negative. query: [B, Q].
    Returns the columns where they stopped, SELECTED_NONE where not; those to be looked at next; and how many
    energies that took.
    """
    stops, ends, energies = [SELECTED_NONE] * len(begin), list(begin), [0] * len(begin)
    rows = list(range(len(begin)))
    while rows:
        counts = real(memory.mask, [ends[row] for row in rows], BLOCK, rows)
        rows, counts = [row for row, count in zip(rows, counts, strict=True) if count], [n for n in counts if n]
        if not rows:
            break
        queries = query if len(rows) == len(begin) else query[torch.tensor(rows, device=query.device)]
        keys = window(memory.keys[0], [ends[row] for row in rows], max(counts), rows)
        block = noisy_energy(queries[:, None], keys)[:, 0].tolist()
        for row, count, energy in zip(rows, counts, block, strict=True):
            passed = next((column for column in range(count) if energy[column] >= 0), count)
            if passed < count:
                stops[row] = ends[row] + passed
            ends[row] += passed
            energies[row] += count
        rows = [row for row in rows if stops[row] == SELECTED_NONE]
    return stops, ends, energies
