"""Modules that training leaves as they are."""

from collections.abc import Iterator, Sequence

from torch import nn

from mt.errors import UserError, nearest, shown


def freeze(model: nn.Module, names: Sequence[str]) -> str:
    """Takes the gradient from the parameters of the named modules, also where other modules share them; says how many.

    Raises UserError where there is no such module, or nothing is left to train.
    """
    for module in _named(model, names):
        module.requires_grad_(False)
        for part in module.modules():
            if isinstance(part, nn.RNNBase):
                part.dropout = 0.0  # see `train_mode`
    total = sum(parameter.numel() for parameter in model.parameters())
    left = sum(parameter.numel() for _, parameter in trained(model))
    if not left:
        raise UserError(f"training.freeze=[{','.join(names)}] leaves nothing to train: name fewer modules")
    return f"frozen: {', '.join(names)}, {total - left:,} of {total:,} parameters" if names else ""


def train_mode(model: nn.Module, names: Sequence[str]) -> None:
    """Puts the model in training mode but for the modules that are frozen: these compute as in decoding, without
    dropout or noise, and keep no statistics."""
    model.train()
    for module in _named(model, names):
        for part in module.modules():
            # On a GPU the gradient goes through a recurrent layer in training mode alone; it has no dropout by now.
            part.training = isinstance(part, nn.RNNBase)


def trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
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
