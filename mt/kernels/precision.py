"""The types in which probabilities are computed and returned, and full precision for float32 on GPUs.

Every module that computes imports this one, so that float32 is the same in every process, whatever its device.
"""

from functools import reduce

import torch
from torch import Tensor

# By default cuDNN's LSTMs and convolutions round factors in float32 to 11 bits (TF32); an option of the environment
# does so for products.
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False


def result_dtype(*arguments: Tensor) -> torch.dtype:
    """Returns float64 if an argument has it, float32 otherwise."""
    return reduce(torch.promote_types, (argument.dtype for argument in arguments), torch.float32)


def compute_dtype(device: torch.device) -> torch.dtype:
    """Returns float64, or float32 on MPS, the one kind of device without float64."""
    return torch.float32 if device.type == "mps" else torch.float64
