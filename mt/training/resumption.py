"""What resuming needs besides the weights: the optimizer's moments, the random generators, how far the run was.

Nothing of it is trusted when it is read: a fused optimizer walks through its moments by the size of the parameter.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mt import checkpoint
from mt.errors import UserError
from mt.optim.optimizer import MOMENTS, AdamConfig, OptimizerConfig
from mt.parsing import Options, parse
from mt.training.freezing import trained
from mt.training.loop import Count, Progress


class Snapshot(Options):
    """`progress.json` of a checkpoint."""

    progress: Progress
    random: str
    """State of the CPU's generator of random numbers, in hexadecimal digits."""
    random_cuda: list[str]
    """Of each GPU's."""
    logged: dict[str, Count] | None = None
    """How large TensorBoard's files were, by their names; None in checkpoints of versions that did not keep it."""


def snapshot(progress: Progress, logged: Mapping[str, int]) -> dict[str, Any]:
    """The progress, the random generators and the sizes of what was `logged`, as `progress.json` holds them."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    made = Snapshot(
        progress=progress,
        random=_hex(torch.get_rng_state()),
        random_cuda=[_hex(state) for state in cuda],
        logged=dict(logged),
    )
    return made.model_dump(mode="json")


def load_snapshot(folder: Path, metric: str) -> Snapshot:
    """Raises UserError where `progress.json` of a checkpoint holds what no run with this metric can write."""
    path = folder / checkpoint.PROGRESS
    found = parse(checkpoint.load_progress(folder), Snapshot, str(path))
    if fault := found.progress.fault(metric):
        raise UserError(f"{path} is damaged ({fault}): copy the checkpoint again")
    return found


def restore_generators(folder: Path, found: Snapshot) -> None:
    """GPUs that this machine lacks are left out, and those that the other machine lacked stay as they are."""
    try:
        torch.set_rng_state(_state(found.random))
        for device, state in zip(range(torch.cuda.device_count()), found.random_cuda, strict=False):
            torch.cuda.set_rng_state(_state(state), device)
    except (ValueError, RuntimeError, TypeError):
        path = folder / checkpoint.PROGRESS
        raise UserError(f"{path} holds no state of random generators: copy the checkpoint again") from None


def moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimizer as `<parameter>.<moment>`; nothing of parameters that never had a gradient."""
    return {
        f"{name}.{key}": value.contiguous()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def restore_moments(
    folder: Path, config: OptimizerConfig, model: nn.Module, optimizer: torch.optim.Optimizer, update: int
) -> None:
    """Puts the moments of a checkpoint into a new optimizer, wherever its parameters are.

    update: that of the checkpoint. Raises UserError where a moment does not fit its parameter.
    """
    path = folder / checkpoint.TRAINING
    keys = MOMENTS[config.name]
    names = ("step", *keys) if keys else ()
    number = torch.zeros(())
    expected = {
        f"{name}.{key}": number if key == "step" else parameter for name, parameter in trained(model) for key in names
    }
    tensors = checkpoint.load_training(folder, expected)
    for name, parameter in trained(model):
        present = [key for key in names if f"{name}.{key}" in tensors]
        if not present:
            continue
        if len(present) < len(names):
            raise UserError(f"{path} lacks a moment of {name}, and has others: copy the checkpoint again")
        step = tensors[f"{name}.step"]
        if not 0 <= step <= update:
            raise UserError(f"{path}: {name}.step is {step} after {update} updates: copy the checkpoint again")
        # Adam's fused update counts where the parameter is, the others on the CPU. Copies, since what was loaded may be
        # a view of the file.
        state = {key: tensors[f"{name}.{key}"].to(parameter.device, copy=True) for key in keys}
        count = step.to(parameter.device, copy=True) if isinstance(config, AdamConfig) else step.clone()
        optimizer.state[parameter] = {"step": count, **state}


def _hex(state: Tensor) -> str:
    return state.numpy().tobytes().hex()


def _state(text: str) -> Tensor:
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)
