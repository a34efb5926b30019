"""A batch of sentences for every encoder."""

import pytest
import torch
from torch import Tensor

LENGTHS = (9, 1, 4, 9, 2)


@pytest.fixture
def mask() -> Tensor:
    return torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


@pytest.fixture
def vectors() -> Tensor:
    return torch.randn(len(LENGTHS), max(LENGTHS), 6, generator=torch.Generator().manual_seed(2))
