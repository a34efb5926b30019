"""Recurrent layers as ONNX's own operations LSTM and GRU, for the graph of an encoder.

Left to itself the exporter takes the length of the example for a constant in what is computed from their outputs, and,
from the second model on that a process exports, everywhere.
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
def onnx_layers(encoder: nn.Module) -> Iterator[None]:
    """Inside, layers that are batch-first name operations, of one source and from zeros, and compute nothing."""
    found = [each for each in encoder.modules() if isinstance(each, nn.RNNBase)]
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
    layers: nn.RNNBase, weights: list[tuple[Tensor, ...]], vectors: Float[Tensor, "1 S I"], state: None
) -> tuple[Float[Tensor, "1 S V"], Tensor | tuple[Tensor, ...]]:
    """As `layers(vectors, state)`: outputs, and the last states [layers D, 1, H], of an LSTM a pair."""
    outputs, after = vectors.transpose(0, 1), []
    last = (1 + layers.bidirectional, 1, layers.hidden_size)
    attributes: dict[str, Any] = {"hidden_size": layers.hidden_size}
    attributes["direction"] = "bidirectional" if layers.bidirectional else "forward"
    if layers.mode == "GRU":
        attributes["linear_before_reset"] = 1  # torch's reset gate is after the product
    parts = 2 if layers.mode == "LSTM" else 1
    for weight in weights:
        told, *states = torch.onnx.ops.symbolic_multi_out(
            layers.mode,
            (outputs, *weight),
            attributes,
            dtypes=[vectors.dtype] * (1 + parts),
            shapes=[(outputs.shape[0], *last), *[last] * parts],
        )
        outputs = told.transpose(1, 2).flatten(2)  # [S, D, 1, H]: directions side by side
        after.append(states)
    joined = tuple(torch.cat(part) for part in zip(*after, strict=True))
    return outputs.transpose(0, 1), joined if parts == 2 else joined[0]
