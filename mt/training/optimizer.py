"""Frozen modules, the moving average of the weights, and the learning rate and moments of optimizers.

Each of the three stands in a section of its own, in this order."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from mt import checkpoint
from mt.config.optimizer import CooldownConfig, DecayConfig, InverseSqrtConfig, OptimizerConfig, PlateauConfig
from mt.errors import UserError, nearest, shown

# Modules that training leaves as they are.


def freeze(model: nn.Module, names: Sequence[str]) -> str:
    """Freezes the parameters of the named modules, also where other modules share them; returns a report.

    names: one at least. Raises UserError where there is no such module, or nothing is left to train.
    """
    for module in _named(model, names):
        module.requires_grad_(False)
        for layer in module.modules():
            if isinstance(layer, nn.RNNBase):
                layer.dropout = 0.0  # see `train_mode`
    total = sum(parameter.numel() for parameter in model.parameters())
    left = sum(parameter.numel() for _, parameter in trainable_parameters(model))
    if not left:
        raise UserError(f"training.freeze=[{','.join(names)}] leaves nothing to train: name fewer modules")
    return f"frozen: {', '.join(names)}, {total - left:,} of {total:,} parameters"


def train_mode(model: nn.Module, names: Sequence[str]) -> None:
    """Puts the model in training mode, except for frozen modules. These compute as in decoding, without dropout or
    noise, and keep no statistics."""
    model.train()
    for module in _named(model, names) if names else ():
        for layer in module.modules():
            # On a GPU a recurrent layer has a gradient in training mode alone; its dropout is 0 by now.
            layer.training = isinstance(layer, nn.RNNBase)


def trainable_parameters(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yields the parameters that are not frozen, in the order in which an optimizer has them."""
    return ((name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad)


def _named(model: nn.Module, names: Sequence[str]) -> Iterator[nn.Module]:
    modules = {name: module for name, module in model.named_modules() if name}
    for name in names:
        if name not in modules:
            # Those within are many.
            candidates = [module for module in modules if module.count(".") < 2]
            raise UserError(f"training.freeze={shown(name)} is no module of this model: {nearest(name, candidates)}")
        yield modules[name]


# The exponential moving average of the weights.

ENDING = "ema"
"""The ending of the tensors' names in a checkpoint, after a dot."""


class MovingAverage:
    """The exponential moving average of the trained weights (Kingma & Ba 2015, section 7.2), in float32, on the device
    of the model.

        a_t = decay a_{t-1} + (1 - decay) w_t, divided by 1 - decay^t

    So it is a mean from the first update on, without the random weights of the beginning. The division is part of each
    step: a_t += (1 - decay) / (1 - decay^t) (w_t - a_{t-1}).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._parameters = dict(trainable_parameters(model))
        # Clones, since `float` gives float32 itself, which changes in place.
        self._averages = {name: parameter.detach().float().clone() for name, parameter in self._parameters.items()}

    @torch.no_grad()
    def update(self, number: int) -> None:
        """Adds the present weights. number: of the last update, from 1."""
        share = (1 - self.decay) / (1 - self.decay**number)
        for name, average in self._averages.items():
            average.lerp_(self._parameters[name].float(), share)

    @torch.no_grad()
    def fill(self) -> None:
        """Puts the averages into the model, in place of its weights."""
        for name, average in self._averages.items():
            self._parameters[name].copy_(average)

    def tensors(self) -> dict[str, Tensor]:
        """Returns the averages as checkpoints keep them, by `<parameter>.ema`."""
        return {f"{name}.{ENDING}": average.contiguous() for name, average in self._averages.items()}

    def restore(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        """Restores the result of `tensors`. path: of its file. Raises UserError where some are missing."""
        for name, average in self._averages.items():
            saved = tensors.get(f"{name}.{ENDING}")
            if saved is None or saved.shape != average.shape:
                raise UserError(f"{path} lacks the moving average of {name}: copy the checkpoint again")
            average.copy_(saved)


# The learning rate, and the moments of an optimizer, which checkpoints keep.
#
# A schedule is a pure function of the progress, and no scheduler of torch. So checkpoints keep no state of it, and a
# resumed run can have another one.

HOLD = 1000
"""Updates at the full rate, the warm-up among them, where `hold` does not say."""


def build_optimizer(config: OptimizerConfig, model: nn.Module) -> torch.optim.Optimizer:
    """Makes an optimizer of the parameters that are not frozen. Its rate is to be set before each update."""
    return config.build(parameter for _, parameter in trainable_parameters(model))


def learning_rate(
    config: OptimizerConfig, update: int, epoch: int, bad_validations: Sequence[int], total: int | None = None
) -> float:
    """Returns the learning rate of one update.

    update, epoch: counted from 1. bad_validations: the lengths of the runs of validations without a new best, in order.
    total: updates of the whole run, where they are known.
    """
    # The warm-up, then the schedule.
    lr = config.lr * min(1.0, update / config.warmup) if config.warmup else config.lr
    match config.schedule:
        case InverseSqrtConfig(hold=chosen):
            hold = max(HOLD, config.warmup) if chosen is None else chosen
            return lr * min(1.0, (hold / update) ** 0.5)
        case PlateauConfig(factor=factor, patience=patience):
            # Each run of bad validations lets the rate fall once for every patience + 1 of them.
            return lr * factor ** sum(bad // (patience + 1) for bad in bad_validations)
        case DecayConfig() as decay:
            reached = update if decay.unit == "updates" else epoch
            periods = max(0, reached - decay.after) / decay.every
            fallen = lr * decay.factor ** (math.ceil(periods) if decay.staircase else periods)
            # Never below the floor, except where the warm-up itself is.
            return max(fallen, min(decay.floor, lr))
        case CooldownConfig(share=share, factor=factor) if total is not None:
            # Over the last share of the updates, the exponent rises from 0 to 1.
            return lr * factor ** max(0.0, 1 - (total - update) / (share * total))
    return lr


def moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Returns the state of an optimizer as `<parameter>.<moment>`, without parameters that never had a gradient."""
    # Not by `state_dict`, which loads torch's compiler: seconds, and memory of each process.
    return {
        f"{name}.{key}": tensor.contiguous()
        for name, parameter in trainable_parameters(model)
        for key, tensor in optimizer.state.get(parameter, {}).items()
    }


def restore_moments(
    folder: Path,
    config: OptimizerConfig,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    update: int,
    moving_average: MovingAverage | None = None,
) -> None:
    """Puts the moments of a checkpoint into a new optimizer, and the moving average of the weights where there is one.

    update: of the checkpoint. Raises UserError where a moment does not fit its parameter: a fused optimizer walks
    through its moments by the size of the parameter.
    """
    path = folder / checkpoint.TRAINING
    tensors = checkpoint.load_training(folder)
    if moving_average is not None:
        moving_average.restore(tensors, path)
    # The moments after a first update say which names, shapes and types the file may have.
    names = [name for name, _ in trainable_parameters(model)]
    expected = _first_moments(config, model)
    found: dict[int, dict[str, Tensor]] = {}
    for full_name, tensor in tensors.items():
        name, _, key = full_name.rpartition(".")
        if key == ENDING:  # the moving average, which was restored above
            continue
        wanted = expected.get(name, {}).get(key)
        if wanted is None or (tensor.shape, tensor.dtype) != (wanted.shape, wanted.dtype):
            raise UserError(
                f"{path} does not fit its model: {full_name} has {_described(tensor)}, expected "
                f"{'no such tensor' if wanted is None else _described(wanted)}; copy the checkpoint again"
            )
        if key == "step" and not 0 <= tensor <= update:
            raise UserError(f"{path}: {full_name} is {tensor} after {update} updates: copy the checkpoint again")
        # Torch knows parameters by their numbers. Copies, since a loaded tensor may be a view of the file.
        found.setdefault(names.index(name), {})[key] = tensor.clone()
    # A parameter that never had a gradient has no moments; any other has all.
    for number, moments_of_one in found.items():
        if moments_of_one.keys() != expected[names[number]].keys():
            raise UserError(f"{path} lacks a moment of {names[number]}, and has others: copy the checkpoint again")
    optimizer.load_state_dict({"state": found, "param_groups": optimizer.state_dict()["param_groups"]})


def _first_moments(config: OptimizerConfig, model: nn.Module) -> dict[str, dict[str, Tensor]]:
    """Returns the moments of each parameter after one update of an optimizer, made with zeros on the CPU."""
    zeros = {name: nn.Parameter(torch.zeros_like(each, device="cpu")) for name, each in trainable_parameters(model)}
    for parameter in zeros.values():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = config.build(zeros.values())
    optimizer.step()
    return {name: optimizer.state[parameter] for name, parameter in zeros.items()}


def _described(tensor: Tensor) -> str:
    return f"shape {list(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"
