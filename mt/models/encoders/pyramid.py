"""The pyramidal encoder (Chan, Jaitly, Le & Vinyals 2016, "Listen, Attend and Spell", section 3.1, equation 5):

    h_i^j = BLSTM(h_{i-1}^j, [h_{2i}^{j-1}; h_{2i+1}^{j-1}])

so that each layer but the first has half the positions of the one below.
"""

import itertools
from collections.abc import Iterable
from typing import ClassVar, Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.kernels.padding import append, last
from mt.models.encoders.base import Encoded, Encoder, Mask, State, Vectors
from mt.models.encoders.recurrent import (
    LSTM,
    BidirectionalConfig,
    BiLSTM,
    Causal,
    WithForgetGates,
    WithRecurrentDropout,
)


class PyramidConfig(WithForgetGates, WithRecurrentDropout, BidirectionalConfig):
    name: Literal["pyramid"] = "pyramid"
    num_layers: int = Field(3, gt=0, le=10)
    """The first layer, and the layers above, which halve the positions (the authors: 1 + 3)."""
    causal: bool = False
    """Whether its layers go from left to right alone, as online decoding needs."""


class Pyramid(Encoder):
    """The last position of a layer with an odd number is paired with zeros. The final state is that of the top
    layer."""

    Config: ClassVar[type[BaseModel]] = PyramidConfig
    data_dependent_loop = True

    def __init__(self, config: PyramidConfig, input_size: int) -> None:
        super().__init__()
        self.causal = self.incremental = config.causal and type(self).extend is not Encoder.extend
        self.value_size = self.final_state_size = size = config.hidden_size
        self.stride = 2 ** (config.num_layers - 1)
        inputs = [input_size, *[2 * size] * (config.num_layers - 1)]
        options = config.model_copy(update={"num_layers": 1})
        kind = LSTM if config.causal else BiLSTM
        self.layers = nn.ModuleList(kind(options, each) for each in inputs)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        encoded = self.layers[0](vectors, mask)
        for layer in self.layers[1:]:
            encoded = layer(*_paired(self.dropout(encoded.values), encoded.mask))
        return encoded

    def extend(
        self, vectors: Vectors, mask: Mask, state: State | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, State]:
        if not self.incremental:
            return super().extend(vectors, mask, state, complete)
        # The state: hidden vectors and cells of the bottom layer. Then for each layer above, the waiting value below,
        # whether there is one, hidden vectors and cells.
        bottom, *upper = cast(Iterable[Causal], self.layers)
        encoded, after = bottom.extend(vectors, mask, state and state[:2], complete)
        for start, layer in zip(itertools.count(2, 4), upper, strict=False):
            values = self.dropout(encoded.values)
            unpaired = state[start : start + 2] if state else (values[:, :0], encoded.mask[:, :0])
            pairs, mask, waiting, waits = _new_pairs(unpaired, values, encoded.mask, complete)
            encoded, of_layer = layer.extend(pairs, mask, state and state[start + 2 : start + 4], complete)
            after = (*after, waiting, waits, *of_layer)
        return encoded, after

    def output_lengths(self, lengths: Tensor) -> Tensor:
        return -(-lengths // self.stride)

    def read_for(self, positions: Int[Tensor, "*shape"], lengths: Int[Tensor, "*#shape"]) -> Int[Tensor, "*shape"]:
        if not self.causal:
            return lengths.expand_as(positions)
        return torch.minimum(self.stride * (positions + 1), lengths)


def _paired(values: Float[Tensor, "B S V"], mask: Mask) -> tuple[Tensor, Tensor]:
    """Puts neighbours side by side, and returns them with the mask of the pairs. values: zero on padding."""
    odd = values.shape[1] % 2
    values = nn.functional.pad(values, (0, 0, 0, odd))
    mask = nn.functional.pad(mask, (0, odd))
    return values.unflatten(1, (-1, 2)).flatten(2), mask[:, ::2]


def _new_pairs(
    unpaired: State, values: Float[Tensor, "B S V"], mask: Mask, complete: Bool[Tensor, " B"]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns the pairs that these values complete, their mask, the value that waits for its neighbour now, and whether
    there is one. unpaired: the latter two before."""
    waiting, waited = unpaired
    (values,), mask = append((waiting,), waited, (values,), mask)
    counts = mask.sum(1, keepdim=True)
    waits = (counts % 2 == 1) & ~complete[:, None]
    mask = torch.arange(mask.shape[1], device=mask.device) < counts - waits.long()  # [B, S]
    return *_paired(values.masked_fill(~mask[..., None], 0.0), mask), last(values, counts[:, 0])[:, None], waits
