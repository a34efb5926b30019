"""Writes recurrent layers as ONNX's own operations LSTM and GRU, of which SSRU's sums are a case.

Left to itself the exporter takes the length of the example for a constant in all that follows from an encoder's
outputs. From the second model on that a process exports, it does so everywhere. A step of a decoder's LSTM is one
operation instead of twenty, and rounded to int8 as one.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mt.kernels.lstm import GRU, LSTM, LayerState, RecurrentLayers
from mt.models.ssru import SSRULayer

_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
"""The indices of torch's gates in the order of ONNX: `i, o, f, c` of `i, f, g, o`, and `z, r, h` of `r, z, n`."""


@contextlib.contextmanager
def onnx_layers(module: nn.Module, *, gru: bool = True) -> Iterator[None]:
    """Inside, the LSTMs, GRUs and scans of a module name operations and compute nothing. Layers of a subclass, which
    may compute something else, stay as they are.

    gru: whether GRUs are operations; else they are computed cell by cell, whose matrices can be rounded to int8.
    """
    recurrent = [
        submodule
        for submodule in module.modules()
        if isinstance(submodule, RecurrentLayers) and type(submodule) in (LSTM, GRU)
    ]
    units = [submodule for submodule in module.modules() if type(submodule) is SSRULayer]
    try:
        for layers in recurrent:
            forward: Any = layers.cell_by_cell
            if gru or layers.mode == "LSTM":
                forward = partial(_operations, layers, list(_weights(layers)))
            layers.forward = forward  # type: ignore[method-assign]
        for unit in units:
            unit.scan = partial(_scan, "reverse" if unit.reverse else "forward")  # type: ignore[method-assign]
        yield
    finally:
        for layers in recurrent:
            # Behind these attributes the methods of the classes are as before.
            del layers.forward
        for unit in units:
            del unit.scan


def _weights(layers: RecurrentLayers) -> Iterator[tuple[Tensor, ...]]:
    """Yields W, R and B of each layer, of D directions and G gates: `[D, G H, I]`, `[D, G H, H]` and `[D, 2 G H]`."""
    order = _GATES[layers.mode]
    directions = 1 + layers.bidirectional
    for first_of_layer in range(0, len(layers.all_weights), directions):
        # For each kind of weight those of both directions.
        of_directions = zip(*layers.all_weights[first_of_layer : first_of_layer + directions], strict=True)
        w_input, w_hidden, *biases = (
            # A weight has its gates one below another: [G H, ...] becomes [G, H, ...], in ONNX's order.
            torch.stack([weight.detach().unflatten(0, (len(order), -1))[[*order]].flatten(0, 1) for weight in weights])
            for weights in of_directions
        )
        yield w_input, w_hidden, torch.cat(biases, 1)


def _operations(
    layers: RecurrentLayers,
    weights: list[tuple[Tensor, ...]],
    vectors: Float[Tensor, "B T I"],
    state: LayerState | None = None,
    mask: Tensor | None = None,
) -> tuple[Float[Tensor, "B T V"], LayerState]:
    """Returns what `layers(vectors, state, mask)` returns where nothing is padding."""
    outputs = vectors.transpose(0, 1)
    last_states = []
    directions = 1 + layers.bidirectional
    states_of_layer = 2 if layers.mode == "LSTM" else 1
    state_shape = (directions, vectors.shape[0], layers.hidden_size)
    attributes: dict[str, Any] = {"hidden_size": layers.hidden_size}
    attributes["direction"] = "bidirectional" if layers.bidirectional else "forward"
    if layers.mode == "GRU":
        attributes["linear_before_reset"] = 1  # torch's reset gate is after the product
    initial = () if state is None else tuple(tensor.transpose(0, 1) for tensor in state)
    for layer, weight in enumerate(weights):
        initial_states = (tensor.narrow(0, layer * directions, directions) for tensor in initial)
        values, *states = torch.onnx.ops.symbolic_multi_out(
            layers.mode,
            (outputs, *weight, None, *initial_states),  # None: no lengths
            attributes,
            dtypes=[vectors.dtype] * (1 + states_of_layer),
            shapes=[(outputs.shape[0], *state_shape), *[state_shape] * states_of_layer],
        )
        outputs = values.transpose(1, 2).flatten(2)  # [T, B, D H]: directions side by side
        last_states.append(states)
    return outputs.transpose(0, 1), tuple(
        torch.cat(states).transpose(0, 1) for states in zip(*last_states, strict=True)
    )


def _scan(
    direction: str,
    forget: Float[Tensor, "B T H"],
    entering: Float[Tensor, "B T H"],
    state: Float[Tensor, "B H"] | None,
) -> Float[Tensor, "B T H"]:
    """Computes `SSRULayer.scan` as a GRU of one unit, `h = (1 - z) n + z h`, with each unit as a row of its
    batch. The gate z and the candidate n are the arguments."""
    batch, steps, size = forget.shape
    rows = torch.stack((forget, entering), -1).transpose(0, 1).flatten(1, 2)  # [T, B H, 2]
    of_input = torch.tensor([[[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]])  # z, r, n
    of_hidden = torch.zeros(1, 3, 1)
    initial = () if state is None else (state.reshape(1, -1, 1),)
    # Gates and candidates are computed already: Affine with 1 and 0 is the identity.
    attributes: dict[str, Any] = {"hidden_size": 1, "direction": direction, "activations": ["Affine", "Affine"]}
    attributes |= {"activation_alpha": [1.0, 1.0], "activation_beta": [0.0, 0.0]}
    values, _ = torch.onnx.ops.symbolic_multi_out(
        "GRU",
        (rows, of_input, of_hidden, None, None, *initial),
        attributes,
        dtypes=[forget.dtype] * 2,
        shapes=[(steps, 1, batch * size, 1), (1, batch * size, 1)],
    )
    return values.view(steps, batch, size).transpose(0, 1)
