"""The types in which probabilities are computed and returned."""

from functools import reduce

import torch
from torch import Tensor


def result_dtype(*arguments: Tensor) -> torch.dtype:
    """Returns float64 if an argument has it, float32 otherwise."""
    return reduce(torch.promote_types, (argument.dtype for argument in arguments), torch.float32)


def compute_dtype(device: torch.device) -> torch.dtype:
    """Returns float64, or float32 on MPS, the one kind of device without float64."""
    return torch.float32 if device.type == "mps" else torch.float64
