"""`progress.json` of a checkpoint: how far the run was, and its random generators. Nothing of it is trusted when it is
read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mt import checkpoint
from mt.common.options import Options, parse
from mt.errors import UserError
from mt.training.progress import Count, Progress


class Snapshot(Options):
    """`progress.json` of a checkpoint."""

    progress: Progress
    random: str
    """State of the CPU's generator of random numbers, in hexadecimal digits."""
    random_cuda: list[str]
    """State of each GPU's generator."""
    logged: dict[str, Count] | None = None
    """How large TensorBoard's files were, by their names; None in checkpoints of versions that did not keep it."""


def snapshot(progress: Progress, logged: Mapping[str, int]) -> dict[str, Any]:
    """Returns the progress, the random generators and the sizes of what was `logged`, as `progress.json` holds them."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    state = Snapshot(
        progress=progress,
        random=_hex(torch.get_rng_state()),
        random_cuda=[_hex(generator) for generator in cuda],
        logged=dict(logged),
    )
    return state.model_dump(mode="json")


def load_snapshot(folder: Path, metric: str) -> Snapshot:
    """Reads `progress.json` of a checkpoint. Raises UserError where no run with this metric can have written it."""
    path = folder / checkpoint.PROGRESS
    loaded = parse(checkpoint.load_progress(folder), Snapshot, str(path))
    if fault := loaded.progress.fault(metric):
        raise UserError(f"{path} is damaged ({fault}): copy the checkpoint again")
    return loaded


def restore_generators(folder: Path, loaded: Snapshot) -> None:
    """Sets the random generators. GPUs that this machine lacks are left out, and those that the other machine lacked
    stay as they are."""
    try:
        torch.set_rng_state(_state(loaded.random))
        for device, state in zip(range(torch.cuda.device_count()), loaded.random_cuda, strict=False):
            torch.cuda.set_rng_state(_state(state), device)
    except (ValueError, RuntimeError, TypeError):
        path = folder / checkpoint.PROGRESS
        raise UserError(f"{path} holds no state of random generators: copy the checkpoint again") from None


def _hex(state: Tensor) -> str:
    return state.numpy().tobytes().hex()


def _state(text: str) -> Tensor:
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)
