"""The convolutional encoder without pooling (Gehring, Auli, Grangier & Dauphin 2017, "A Convolutional Encoder Model for
Neural Machine Translation", section 3.2):

    e_j = w_j + l_j;  keys_j = CNN-a(e)_j;  values_j = CNN-c(e)_j

with learned vectors l of positions. Each of the two networks is a stack of blocks tanh(convolution(x) + x). Their
kernels start as the authors' do, uniform within 1 / sqrt(kernel * hidden).
"""

from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import BaseModel, Field, field_validator
from torch import Tensor, nn

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.kernels.linear import Linear
from mt.models.encoders.base import Encoded, Encoder, Mask, Vectors
from mt.models.frontends.embedding import PAD, Embedding, EmbeddingConfig

SCALE = 0.1
"""The scale of the input of the convolutions. The authors' word vectors start small. At unit variance energies are so
large that attention becomes one-hot, at the wrong places, before it has learned anything."""


class ConvConfig(Options):
    name: Literal["conv"] = "conv"
    hidden_size: int = Field(512, gt=0, le=MAX_SIZE)
    """Channels of all convolutions, which is the size of values."""
    num_layers: int = Field(2, gt=0, le=100)
    """Convolutions of CNN-a, which makes the keys (the authors' fairseq, for IWSLT14: 6)."""
    num_value_layers: int = Field(1, gt=0, le=100)
    """Convolutions of CNN-c, which makes the values (the authors' fairseq: half of `num_layers`, at most 5)."""
    kernel_size: int = Field(3, gt=0, le=1001)
    """Positions that a convolution covers, an odd number; n layers together cover n * (kernel_size - 1) + 1."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the input of each convolution (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning")."""
    max_source_length: int = Field(512, gt=0, le=MAX_SIZE)
    """The most source tokens, EOS included, that have a position vector; a longer source is refused."""

    @field_validator("kernel_size")
    @classmethod
    def _is_odd(cls, kernel_size: int) -> int:
        if kernel_size % 2 == 0:
            raise UserError(
                f"encoder.kernel_size={kernel_size} is even, so that values would lie between the positions of their "
                f"words: choose an odd number, {kernel_size - 1} or {kernel_size + 1}"
            )
        return kernel_size


class Stack(nn.Module):
    """Convolutions that keep size and length, with zeros beyond either end, also on padding."""

    def __init__(self, size: int, num_layers: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, size, kernel_size, padding=kernel_size // 2) for _ in range(num_layers)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Float[Tensor, "B S H"], mask: Mask) -> Float[Tensor, "B S H"]:
        """inputs, and the result: zero on padding."""
        states = inputs.transpose(1, 2)  # [B, H, S]
        padding = ~mask[:, None]  # [B, 1, S]
        for convolution in self.convolutions:
            # The output of a convolution beyond the end of a source must not enter the next one.
            states = torch.tanh(convolution(self.dropout(states)) + states).masked_fill(padding, 0.0)
        return states.transpose(1, 2)


class Conv(Encoder):
    """A matrix projects e to the size of the channels. The final state is the mean of the values; the authors' decoder
    has none and starts from zeros."""

    Config: ClassVar[type[BaseModel]] = ConvConfig
    max_source_length: int

    def __init__(self, config: ConvConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.final_state_size = config.hidden_size
        self.max_source_length = config.max_source_length
        # Of the same variance as word vectors. Positions are counted from 1: padding has none.
        self.positions = Embedding(EmbeddingConfig(embedding_dim=input_size, dropout=0.0), config.max_source_length + 1)
        self.project = Linear(input_size, config.hidden_size, bias=False)
        self.keys = Stack(config.hidden_size, config.num_layers, config.kernel_size, config.dropout)
        self.values = Stack(config.hidden_size, config.num_value_layers, config.kernel_size, config.dropout)

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        """Raises UserError where a source has more than `max_source_length` tokens."""
        if mask.shape[1] > self.max_source_length and (length := int(mask.sum(1).max())) > self.max_source_length:
            raise UserError(
                f"a source of {length} tokens is longer than the {self.max_source_length} that the convolutional "
                "encoder has positions for: raise encoder.max_source_length, or choose another encoder"
            )
        positions = self.positions(mask.cumsum(1).masked_fill(~mask, PAD))  # [B, S, E]
        inputs = SCALE * self.project((vectors + positions).masked_fill(~mask[..., None], 0.0))
        values = self.values(inputs, mask)
        return Encoded(values, self.keys(inputs, mask), mask, values.sum(1) / mask.sum(1, keepdim=True))
