"""The pyramidal encoder (Chan, Jaitly, Le & Vinyals 2016, "Listen, Attend and Spell", section 3.1, equation 5):

    h_i^j = BLSTM(h_{i-1}^j, [h_{2i}^{j-1}; h_{2i+1}^{j-1}])

so that each layer but the first has half the positions of the one below.
"""

from typing import ClassVar, Literal

from jaxtyping import Bool, Float
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.models.encoders.base import Encoded, Encoder
from mt.models.encoders.recurrent import BidirectionalConfig, BiLSTM, BiLSTMConfig, WithForgetGates


class PyramidConfig(WithForgetGates, BidirectionalConfig):
    name: Literal["pyramid"] = "pyramid"
    num_layers: int = Field(3, gt=0, le=10)
    """The first one, and those that halve the positions (the authors: 1 + 3)."""


class Pyramid(Encoder):
    """Where the positions of a layer are odd in number, the last one stands with zeros. The final state is that of the
    top layer."""

    Config: ClassVar[type[BaseModel]] = PyramidConfig

    def __init__(self, config: PyramidConfig, input_size: int) -> None:
        super().__init__()
        size = config.hidden_size
        self.value_size = self.final_state_size = size
        options = BiLSTMConfig(hidden_size=size, dropout=config.dropout, forget_bias=config.forget_bias)
        inputs = [input_size, *[2 * size] * (config.num_layers - 1)]
        self.layers = nn.ModuleList(BiLSTM(options, each) for each in inputs)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        encoded = self.layers[0](vectors, mask)
        for layer in self.layers[1:]:
            encoded = layer(*_paired(self.dropout(encoded.values), encoded.mask))
        return encoded

    def places(self, lengths: Tensor) -> Tensor:
        return -(-lengths // 2 ** (len(self.layers) - 1))


def _paired(values: Float[Tensor, "B S V"], mask: Bool[Tensor, "B S"]) -> tuple[Tensor, Tensor]:
    """Neighbours side by side, and the mask of the pairs. values: zero on padding."""
    odd = values.shape[1] % 2
    values, mask = nn.functional.pad(values, (0, 0, 0, odd)), nn.functional.pad(mask, (0, odd))
    return values.unflatten(1, (-1, 2)).flatten(2), mask[:, ::2]
