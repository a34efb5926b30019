"""The device and the precision of a model: plain PyTorch.

First the choice of a device and autocast, then models without storage, then the memory of the process.
"""

import contextlib
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from mt.errors import UserError, require_choice
from mt.kernels.processor import processor

DEVICES = r"auto|cpu|cuda(:\d+)?|mps"
"""Names of devices, as a regular expression."""


def choose(name: str) -> torch.device:
    """Returns the device of a name: auto, cpu, cuda, cuda:1, mps; `auto` is the first GPU where there is one. From then
    on, a GPU computes in full float32.

    Raises UserError where this machine has no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not re.fullmatch(DEVICES, name):
        require_choice("device", name, ["auto", "cpu", "cuda", "cuda:1", "mps"])
    device = torch.device(name)
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if (device.index or 0) >= counts[device.type]:
        raise UserError(f"device={name} is not on this machine: choose device=auto or device=cpu")
    if device.type == "cuda":
        # By default cuDNN's LSTMs and convolutions round factors in float32 to 11 bits (TF32); an option of the
        # environment does so for products.
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
    return device


@contextlib.contextmanager
def autocast(device: torch.device, precision: str) -> Iterator[None]:
    """Computes matrix products inside in bfloat16 or float16, as `precision` says: bf16, fp16. Otherwise, and where a
    processor has no instructions for bfloat16, the weights' own type is kept."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    if dtype == torch.bfloat16 and not has_bfloat16(device):
        dtype = None
    with torch.autocast(device.type, dtype or torch.bfloat16, enabled=dtype is not None):
        if dtype != torch.float16 or device.type != "cpu":
            yield
            return
        # oneDNN has an LSTM in float16 for few CPUs; PyTorch's own is slow, and for all.
        onednn: Any = torch.backends.mkldnn
        was_enabled = onednn.enabled
        onednn.enabled = False
        try:
            yield
        finally:
            onednn.enabled = was_enabled


def has_bfloat16(device: torch.device) -> bool:
    """Returns whether `autocast` computes bf16 in bfloat16 there.

    Without instructions for it (AVX-512 or newer, on x86), a CPU would take nine times as long as in float32, and
    oneDNN has no LSTM. See also `Processor.bfloat16_is_slow`.
    """
    if device.type != "cpu":
        return True
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # not public, so that it may be gone
    return not processor().bfloat16_is_slow and (supported is None or supported())


@contextlib.contextmanager
def shapes_alone() -> Iterator[None]:
    """Gives modules that are built inside tensors without storage."""
    with torch.device("meta"), _WithoutInitialisation():
        yield


class _WithoutInitialisation(TorchFunctionMode):
    """Leaves out the drawing of initial values, for which torch loads its compiler where there is no storage."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        initialises = getattr(function, "__module__", None) == "torch.nn.init"
        return None if initialises else function(*args, **(kwargs or {}))


def reset_peak_memory(device: torch.device) -> None:
    """Lets `peak_memory` begin anew, where the system can: several runs may follow one another in a process."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with contextlib.suppress(OSError):
        # On Linux, 5 resets the peak of resident memory.
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(device: torch.device) -> int:
    """Returns the peak of allocated bytes on a GPU, else of resident bytes in this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
    # The maximum since the process began; bytes on macOS, kilobytes elsewhere.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
