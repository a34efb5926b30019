"""The types in which probabilities are computed and returned, and sums of them that an exported graph keeps."""

from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor


def result_dtype(*arguments: Tensor) -> torch.dtype:
    """Returns float64 if an argument has it, float32 otherwise."""
    return reduce(torch.promote_types, (argument.dtype for argument in arguments), torch.float32)


def compute_dtype(device: torch.device) -> torch.dtype:
    """Returns float64, or float32 on MPS, the one kind of device without float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def log_cumulated(values: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
    """Returns `logcumsumexp` over the last dimension. The exporter to ONNX writes it with one maximum for all sums, and
    loses terms far below that. So in a graph each sum has its own maximum, in O(S^2)."""
    if not torch.compiler.is_compiling():
        return values.logcumsumexp(-1)
    return (values[..., None, :] + values.new_full((values.shape[-1],) * 2, -torch.inf).triu(1)).logsumexp(-1)
