"""Recurrent layers from a state on; on a CPU a few steps of them cost no more than these steps.

oneDNN, which computes torch's LSTM on CPUs, takes 2 ms to begin whatever there is to compute: ten times what a step of
one row and 512 cells takes, and greedy search and streams are made of such steps.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mt.kernels.int8 import in_int8, int8_cell

FEW = 32
"""Rows times steps up to which single cells are no slower than whole layers."""


def run_layers(
    layers: nn.RNNBase, inputs: Float[Tensor, "B T I"], state: tuple[Float[Tensor, "L B H"], ...] | None
) -> tuple[Float[Tensor, "B T V"], tuple[Float[Tensor, "L B H"], ...]]:
    """The outputs of `layers`, an LSTM or a GRU that is batch-first, and the state after the last step.

    state: hidden and cell vectors of an LSTM, hidden vectors of a GRU; None: zeros, and the whole layers. Few steps
    that need no gradient are computed cell by cell; and so is a single one of any number of rows, but under autocast,
    where the whole layers have faster products.
    """
    plain = type(layers) in (nn.LSTM, nn.GRU) and not (layers.training or layers.bidirectional)
    plain = plain and not torch.is_grad_enabled()
    if state and plain and (_few(layers, inputs) or in_int8(inputs)):
        return _cell_by_cell(layers, inputs, state)
    return run_whole(layers, inputs, state)


def _few(layers: nn.RNNBase, inputs: Float[Tensor, "B T I"]) -> bool:
    rows, steps = inputs.shape[:2]
    if torch.compiler.is_compiling():  # a graph that is exported has LSTMs whole, and any number of rows
        return steps == 1 and layers.mode != "LSTM"
    few = rows * steps <= FEW or (steps == 1 and not torch.is_autocast_enabled("cpu"))
    return inputs.device.type == "cpu" and few


def run_whole(layers: nn.RNNBase, inputs: Any, state: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
    """Likewise, by the layers themselves. inputs: may be packed, and the outputs are, too, then."""
    outputs, after = layers(inputs, state[0] if state and len(state) == 1 else state)
    return outputs, (after,) if isinstance(after, Tensor) else after


def _cell_by_cell(layers: nn.RNNBase, inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    outputs, after = inputs.type_as(layers.all_weights[0][0]), []
    before = zip(*(part.type_as(outputs).unbind() for part in state), strict=True)
    for weights, layer in zip(layers.all_weights, before, strict=True):
        steps = []
        for vectors in outputs.unbind(1):
            if in_int8(vectors):
                layer = int8_cell(vectors, layer, weights)
            elif len(layer) == 2:
                layer = torch.lstm_cell(vectors, layer, *weights)
            else:
                layer = (torch.gru_cell(vectors, *layer, *weights),)
            steps.append(layer[0])
        outputs = _joined(steps, 1)
        after.append(layer)
    return outputs, tuple(_joined(part, 0) for part in zip(*after, strict=True))


def _joined(parts: Sequence[Tensor], dim: int) -> Tensor:
    """`torch.stack`, which copies a single part, too."""
    return parts[0].unsqueeze(dim) if len(parts) == 1 else torch.stack([*parts], dim)
