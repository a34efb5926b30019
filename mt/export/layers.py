"""Recurrent layers as ONNX's own operations LSTM and GRU.

Left to itself the exporter takes the length of the example for a constant in what is computed from an encoder's
outputs, and, from the second model on that a process exports, everywhere. A step of a decoder's LSTM is one operation
instead of twenty, and rounded to int8 as one.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
"""Of torch's gates, those that ONNX has first, second, ...: i, o, f, c of i, f, g, o; z, r, h of r, z, n."""


@contextlib.contextmanager
def onnx_layers(module: nn.Module, kind: type[nn.RNNBase] = nn.RNNBase) -> Iterator[None]:
    """Inside, the LSTMs and GRUs of this kind in a module, all batch-first, name operations and compute nothing. Layers
    of a subclass, which may compute something else, stay as they are."""
    kinds = [each for each in (nn.LSTM, nn.GRU) if issubclass(each, kind)]
    found = [each for each in module.modules() if isinstance(each, nn.RNNBase) and type(each) in kinds]
    try:
        for layers in found:
            layers.forward = partial(_operations, layers, list(_weights(layers)))
        yield
    finally:
        for layers in found:
            del layers.forward


def _weights(layers: nn.RNNBase) -> Iterator[tuple[Tensor, ...]]:
    """W, R and B of each layer: [D, G H, I], [D, G H, H] and [D, 2 G H], of D directions and G gates."""
    order, directions = _GATES[layers.mode], 1 + layers.bidirectional
    for first in range(0, len(layers.all_weights), directions):
        parts = zip(*layers.all_weights[first : first + directions], strict=True)
        sides = (torch.stack([_reordered(side, order) for side in part]) for part in parts)
        w_input, w_hidden, *biases = sides
        yield w_input, w_hidden, torch.cat(biases, 1)


def _reordered(weight: Tensor, order: tuple[int, ...]) -> Tensor:
    gates = weight.detach().chunk(len(order))
    return torch.cat([gates[gate] for gate in order])


def _operations(
    layers: nn.RNNBase,
    weights: list[tuple[Tensor, ...]],
    vectors: Float[Tensor, "B T I"],
    state: Tensor | tuple[Tensor, ...] | None,
) -> tuple[Float[Tensor, "B T V"], Tensor | tuple[Tensor, ...]]:
    """As `layers(vectors, state)`: outputs, and the last states [layers D, B, H], of an LSTM a pair."""
    outputs, after = vectors.transpose(0, 1), []
    directions, parts = 1 + layers.bidirectional, 2 if layers.mode == "LSTM" else 1
    last = (directions, vectors.shape[0], layers.hidden_size)
    attributes: dict[str, Any] = {"hidden_size": layers.hidden_size}
    attributes["direction"] = "bidirectional" if layers.bidirectional else "forward"
    if layers.mode == "GRU":
        attributes["linear_before_reset"] = 1  # torch's reset gate is after the product
    before = () if state is None else (state,) if isinstance(state, Tensor) else state
    for layer, weight in enumerate(weights):
        begin = (part.narrow(0, layer * directions, directions) for part in before)
        told, *states = torch.onnx.ops.symbolic_multi_out(
            layers.mode,
            (outputs, *weight, None, *begin),  # None: no lengths
            attributes,
            dtypes=[vectors.dtype] * (1 + parts),
            shapes=[(outputs.shape[0], *last), *[last] * parts],
        )
        outputs = told.transpose(1, 2).flatten(2)  # [T, B, D H]: directions side by side
        after.append(states)
    joined = tuple(torch.cat(part) for part in zip(*after, strict=True))
    return outputs.transpose(0, 1), joined if parts == 2 else joined[0]
