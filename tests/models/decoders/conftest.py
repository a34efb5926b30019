"""A source and its targets for every decoder, and the attention of a step by the paper's equations."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mt.models.attention.base import Memory
from mt.models.encoders import Encoded

B = 2
S = 3
V = 5


@pytest.fixture
def encoded() -> Encoded:
    """Values of the size of queries, one source shorter than the other."""
    values = torch.randn(B, S, V, generator=torch.Generator().manual_seed(1))
    return Encoded(values, values, torch.tensor([[True, True, True], [True, True, False]]), values[:, 0])


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(1, 11, (B, 4), generator=torch.Generator().manual_seed(2))


@pytest.fixture
def attend() -> Callable[..., tuple[Tensor, Tensor]]:
    """Weights and context of a query over the memory: (query, memory, gain=1)."""

    def attended(query: Tensor, memory: Memory, gain: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
        (keys,) = memory.keys
        energies = torch.einsum("bh,bsh->bs", query, keys) * gain
        weights = energies.masked_fill(~memory.mask, -torch.inf).softmax(-1)
        return weights, torch.einsum("bs,bsv->bv", weights, memory.values)

    return attended
