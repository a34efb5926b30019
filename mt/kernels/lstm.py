"""LSTM and GRU layers, which choose how they compute by device, precision and size: see `RecurrentLayers.forward`.

First stands a compiled step for few rows, then the layers with their strategies."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, no_type_check

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mt.kernels.compiled import ANY_ORDER, Loop, compiled_loop, float32_at, rational_tanh
from mt.kernels.int8 import Int8GRUCell, Int8Layer, Int8LSTMCell, gru_state
from mt.kernels.linear import FLOAT, are_few, few_rows, over_columns, product, store
from mt.kernels.sequences import last, mirrored

# A step of an LSTM for a few rows in float32, in one compiled loop for CPUs: both products of `few_rows`, and the next
# state. In calls of PyTorch a state takes a fifth as long as the products.

HALF = torch.tensor(0.5, dtype=torch.float32).numpy()[()]
"""In float32, as a literal would make numba compute in float64."""


def lstm_step(vectors: Float[Tensor, "B I"], state: Sequence[Tensor], weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns the next hidden and cell vectors, both [B, H], where rows `are_few`.

    state: the vectors before; weights: the matrices of input and hidden state, and their two biases. Raises ValueError
    where they do not fit."""
    loop = step_loop()
    assert loop is not None
    count, size = vectors.shape
    w_input, w_hidden, _, _ = weights
    units = w_hidden.shape[1]
    if w_input.shape[1] != size or any(vector.shape != (count, units) for vector in state):
        raise ValueError(f"rows of {size} numbers and states of {units} do not fit")
    # The arguments in float32, since a state may come from layers in bfloat16, and room for gates and results.
    inputs = [vector.float().contiguous() for vector in (vectors, *state)]
    gates = vectors.new_empty(2, count, 4 * units)
    after = vectors.new_empty(2, count, units)
    # The loop reads addresses, so that the tensors stay here until it ends.
    tensors = [*inputs, *(weight.contiguous() for weight in weights), gates, after]
    call = partial(loop, count, size, units, *(tensor.data_ptr() for tensor in tensors))
    over_columns(call, units, w_hidden)
    return after.unbind()


@cache
def step_loop() -> Loop | None:
    """Returns the loop; None where numba cannot."""
    signature = f"void({', '.join(['int64'] * 14)})"
    return compiled_loop(signature, _step, helpers=[store, product, rational_tanh, sigmoid], fastmath=ANY_ORDER)


@no_type_check
def _step(
    count, size, units, vectors, hidden, cell, w_input, w_hidden, b_input, b_hidden, gates, after, first, end
) -> None:
    """Fills units `first` to `end` - 1 of the next hidden and cell vectors, after [2, B, H]; all are addresses.
    gates: [2, B, 4 H] for the products.

    A unit computed within a vector of the processor and one computed by itself may differ in the last bit. So the bits
    depend on the number of threads where a thread's units do not fill whole vectors."""
    width = 4 * units
    of_hidden = gates + FLOAT * count * width
    # The products of the vectors and of the hidden state, for these units of each gate.
    for gate in range(0, width, units):
        product(count, size, width, vectors, w_input, b_input, gates, gate + first, gate + end)
        product(count, units, width, hidden, w_hidden, b_hidden, of_hidden, gate + first, gate + end)
    # Both products are complete for these units: the gates and the next state of each row.
    for row in range(count):
        x = float32_at(gates + FLOAT * row * width)
        h = float32_at(of_hidden + FLOAT * row * width)
        previous = float32_at(cell + FLOAT * row * units)
        shown = float32_at(after + FLOAT * row * units)
        kept = float32_at(after + FLOAT * (count + row) * units)
        for unit in range(first, end):
            # In PyTorch's order: the gates i and f, the candidate g, the gate o.
            enter = sigmoid(x[unit] + h[unit])
            keep = sigmoid(x[units + unit] + h[units + unit])
            candidate = rational_tanh(x[2 * units + unit] + h[2 * units + unit])
            show = sigmoid(x[3 * units + unit] + h[3 * units + unit])
            kept[unit] = keep * previous[unit] + enter * candidate
            shown[unit] = show * rational_tanh(kept[unit])


@no_type_check
def sigmoid(x):
    # The logistic function is a tanh of half the width, so that one approximation serves both.
    return HALF + HALF * rational_tanh(HALF * x)


# The layers. On CPUs torch's LSTM is oneDNN's, which takes 2 ms to begin, ten times as long as a step of one row and
# 512 cells. Greedy search and streams consist of such steps. On GPUs cuDNN takes 0.7 ms to begin.

FEW = 32
"""Rows times steps up to which single cells are no slower than whole layers."""
LONG = 8
"""Positions from which on `each_direction` is faster on a CPU than `packed`, which computes cell by cell. It takes
three quarters of the time at 10 to 15 positions (one thread), half at 80, a third at 200."""

LayerState = tuple[Tensor, ...]
"""Hidden and cell vectors of an LSTM, hidden vectors of a GRU: each [B, layers * directions, H]."""
Strategy = Callable[..., tuple[Float[Tensor, "B T V"], LayerState]]
"""Computes outputs of inputs, the state before and a mask, as `RecurrentLayers.forward`."""


class RecurrentLayers(Int8Layer, nn.RNNBase):
    """torch's layers, batch first, and with a mask."""

    cell_in_int8: type[Int8LSTMCell] | type[Int8GRUCell]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        bidirectional: bool = False,
        int8: bool = False,
    ) -> None:
        """dropout: between layers. recurrent_dropout: the share of recurrent weights that are zero in a pass of
        training. int8: whether decoding in int8 rounds the layers (`mt.kernels.int8.int8_copy`)."""
        super().__init__(
            input_size,  # type: ignore[arg-type]  # of nn.LSTM and nn.GRU, which know their mode
            hidden_size,
            num_layers,
            batch_first=True,
            # Between layers: torch warns of it where there is one.
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )
        self.recurrent_dropout = recurrent_dropout
        self.int8 = int8
        self.rounded: list[Int8LSTMCell | Int8GRUCell] | None = None
        """A cell for each layer, in an `int8_copy`."""

    def round_to_int8(self) -> None:
        self.rounded = [self.cell_in_int8(weights) for weights in self.all_weights]

    def flatten_parameters(self) -> None:
        """Leaves each weight in its own memory. torch would move all weights to one piece of a GPU's memory, and then
        they would be saved as shared weights. The layers of `each_direction` would not profit from it."""

    def forward(
        self,
        inputs: Float[Tensor, "B T I"],
        state: LayerState | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], LayerState]:
        """Returns the outputs of the top layer and the state after the last position.

        state: before the first position; None for zeros. mask: true on real positions, with padding on the right; None:
        all are real. On padding outputs are zero, and the state stays as after the last real position. Bidirectional
        layers return their hidden vectors alone, at least of the top layer, from which no call can go on.
        """
        strategy = self.strategy(inputs, state, mask)
        if self.training and self.recurrent_dropout:
            return self._dropped(strategy, inputs, state, mask)
        return strategy(inputs, state, mask)

    def strategy(self, inputs: Tensor, state: LayerState | None, mask: Tensor | None) -> Strategy:
        """Returns the function that computes the layers."""
        # Padding needs care in the backward direction, and in the state after the last position.
        on_cpu = inputs.device.type == "cpu"
        if mask is not None and self.bidirectional and not on_cpu:  # a GPU is not asked whether there is padding
            return self.each_direction
        if mask is not None and not mask.all():
            return self.each_direction if self.bidirectional and inputs.shape[1] >= LONG else self.packed
        if state is None or self.training or self.bidirectional or torch.is_grad_enabled():
            return self.whole
        # Decoding from a state: single cells start sooner than whole layers, where there are few rows and steps.
        rows, steps = inputs.shape[:2]
        few = steps == 1 and inputs.device.type == "cuda"
        if on_cpu:
            # Under autocast the whole layers have faster products for a single step of many rows.
            few = rows * steps <= FEW or (steps == 1 and not torch.is_autocast_enabled("cpu"))
        return self.cell_by_cell if self.rounded is not None or few else self.whole

    def whole(self, inputs: Any, state: LayerState | None = None, mask: Tensor | None = None) -> tuple[Any, LayerState]:
        """Computes all positions at once, by torch, where none is padding. inputs: packed, too, as the outputs are."""
        # torch has the layers first, and no tuple around the one state of a GRU.
        begin = None if state is None else tuple(vectors.transpose(0, 1).contiguous() for vectors in state)
        with _quiet() if inputs.is_cuda else contextlib.nullcontext():
            outputs, after = super().forward(inputs, begin[0] if begin and len(begin) == 1 else begin)
        after = (after,) if isinstance(after, Tensor) else after
        return outputs, tuple(vectors.transpose(0, 1) for vectors in after)

    def packed(self, inputs: Tensor, state: LayerState | None, mask: Tensor) -> tuple[Tensor, LayerState]:
        """Computes each source as long as it is, by torch, so that the backward direction begins at its end."""
        lengths = mask.sum(1).clamp(min=1).cpu()  # packing refuses rows without a position
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        outputs, after = self.whole(packed, state)
        # Without `total_length` the outputs end with the longest source, perhaps before the mask.
        return pad_packed_sequence(outputs, batch_first=True, total_length=mask.shape[1])[0], after

    def each_direction(self, inputs: Tensor, state: LayerState | None, mask: Tensor) -> tuple[Tensor, LayerState]:
        """Computes each direction of bidirectional layers over the padded batch, from zeros on. For the backward
        direction each source is reversed in its place."""
        # For each layer: to the right over the padded batch, and over the reversed one, turned back.
        lengths = mask.sum(1).clamp(min=1)
        turned = mirrored(lengths, mask.shape[1])[..., None]  # [B, T, 1]
        outputs = inputs
        weights: Iterator[Any] = iter(self._flat_weights)  # four of each layer and direction
        for layer in range(self.num_layers):
            if layer:
                outputs = dropout(outputs, self.dropout, self.training)
            right = self._rightward(outputs, [*islice(weights, 4)])
            left = self._rightward(outputs.gather(1, turned.expand_as(outputs)), [*islice(weights, 4)])
            left = left.gather(1, turned.expand_as(left))
            outputs = torch.cat((right, left), -1).masked_fill(~mask[..., None], 0.0)
        # The leftward direction comes last to the first position.
        return outputs, (torch.stack((last(right, lengths), left[:, 0]), 1),)

    def cell_by_cell(
        self, inputs: Tensor, state: LayerState | None, mask: Tensor | None = None
    ) -> tuple[Tensor, LayerState]:
        """Computes one position after another, from a state on, without a gradient; in float32 under autocast, too."""
        assert state is not None
        weights = self.all_weights  # looked up once: torch collects them anew each time
        outputs = inputs.type_as(weights[0][0])
        # [B, L, H] -> L times [B, H], of hidden and cell vectors; and back at the end.
        states_before = zip(*(vectors.type_as(outputs).unbind(1) for vectors in state), strict=True)
        states_after = []
        for layer, cell_state in enumerate(states_before):
            hidden = []
            for vectors in outputs.unbind(1):
                cell_state = self._cell(layer, vectors, cell_state, weights[layer])
                hidden.append(cell_state[0])
            outputs = _stacked(hidden, 1)
            states_after.append(cell_state)
        return outputs, tuple(_stacked(of_layers, 1) for of_layers in zip(*states_after, strict=True))

    def _cell(self, layer: int, vectors: Tensor, state: LayerState, weights: Sequence[Tensor]) -> LayerState:
        if self.rounded is not None:
            return self.rounded[layer](vectors, state)
        w_input, w_hidden, b_input, b_hidden = weights
        if are_few(vectors, w_hidden):
            if len(state) == 2:
                return lstm_step(vectors, state, weights)
            (hidden,) = state
            # Both products of a GRU are kept apart, since the reset gate scales the recurrent one.
            of_hidden = few_rows(hidden, w_hidden, b_hidden)
            return gru_state(few_rows(vectors, w_input, b_input), of_hidden, hidden)
        if len(state) == 2:
            return torch.lstm_cell(vectors, state, *weights)
        return (torch.gru_cell(vectors, *state, *weights),)

    def _dropped(self, strategy: Strategy, *arguments: Any) -> tuple[Tensor, LayerState]:
        """Computes the layers with dropout on the recurrent weights, by one mask for all positions."""
        weights: list[Any] = self._flat_weights
        pairs = zip(self._flat_weights_names, weights, strict=True)
        p = self.recurrent_dropout
        # torch reads the weights from this list, and knows no dropout on them (Merity et al. 2018).
        self._flat_weights = [dropout(weight, p) if name.startswith("weight_hh") else weight for name, weight in pairs]
        try:
            return strategy(*arguments)
        finally:
            self._flat_weights = weights

    def _rightward(self, vectors: Tensor, weights: list[Tensor]) -> Tensor:
        zeros = vectors.new_zeros(1, len(vectors), self.hidden_size)
        options = (True, 1, 0.0, self.training, False)
        if self.mode == "LSTM":
            return torch.lstm(vectors, (zeros, zeros), weights, *options, batch_first=True)[0]
        return torch.gru(vectors, zeros, weights, *options, batch_first=True)[0]


class LSTM(RecurrentLayers, nn.LSTM):  # type: ignore[misc]  # another `forward` than torch's
    """Hochreiter & Schmidhuber 1997; gates in the order i, f, g, o."""

    cell_in_int8 = Int8LSTMCell


class GRU(RecurrentLayers, nn.GRU):  # type: ignore[misc]  # likewise
    """torch's GRU applies the reset gate after the recurrent product (cuDNN's form); Cho et al. (2014) before it."""

    cell_in_int8 = Int8GRUCell


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides cuDNN's warning that the weights are not in one piece of memory: see `flatten_parameters`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk of memory")
        yield


def _stacked(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Stacks like `torch.stack`, but does not copy a single tensor."""
    return tensors[0].unsqueeze(dim) if len(tensors) == 1 else torch.stack([*tensors], dim)
