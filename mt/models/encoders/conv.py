"""The convolutional encoder without pooling (Gehring, Auli, Grangier & Dauphin 2017, "A Convolutional Encoder Model for
Neural Machine Translation", section 3.2):

    e_j = w_j + l_j;  compared_j = CNN-a(e)_j;  values_j = CNN-c(e)_j

with learned vectors l of positions. Each of the two networks is a stack of blocks tanh(convolution(x) + x). Their
kernels start as the authors' do, uniform within 1 / sqrt(kernel * hidden).
"""

from typing import ClassVar, Literal

import torch
from pydantic import BaseModel, Field, field_validator
from torch import Tensor, nn

from mt.errors import UserError
from mt.models.embedding import PAD, Embedding, EmbeddingConfig
from mt.models.encoders.base import Encoded, Encoder, mean

SCALE = 0.1
"""Of what enters the convolutions. The authors' word vectors start small. At unit variance energies are so large that
attention becomes one-hot, and at the wrong places, before it has learned anything."""


class ConvConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["conv"] = "conv"
    hidden: int = Field(256, gt=0)
    """Channels of all convolutions, which is the size of values."""
    layers: int = Field(2, gt=0, le=100)
    """Convolutions of CNN-a, whose output queries are compared with (the authors' fairseq, for IWSLT14: 6)."""
    value_layers: int = Field(1, gt=0, le=100)
    """Convolutions of CNN-c, whose output contexts are made of (the authors' fairseq: half of `layers`, at most 5)."""
    kernel: int = Field(3, gt=0)
    """Positions that a convolution sees, an odd number; n layers together see n * (kernel - 1) + 1."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """On the input of each convolution (Gehring et al. 2017, "Convolutional Sequence to Sequence Learning")."""
    longest: int = Field(512, gt=0)
    """Source tokens, EOS included, that there are position vectors for; a longer source is refused."""

    @field_validator("kernel")
    @classmethod
    def _has_a_middle(cls, kernel: int) -> int:
        if kernel % 2 == 0:
            raise UserError(
                f"encoder.kernel={kernel} has no middle, so that values would not stand at the positions of their "
                f"words: choose an odd number, {kernel - 1} or {kernel + 1}"
            )
        return kernel


class Stack(nn.Module):
    """Convolutions that keep size and length: zeros beyond either end, whatever stands on padding."""

    def __init__(self, size: int, layers: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(size, size, kernel, padding=kernel // 2) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """inputs: [B, S, H], zero on padding; mask: [B, S] bool; returns [B, S, H], zero on padding."""
        states, padding = inputs.transpose(1, 2), ~mask[:, None]
        for convolution in self.convolutions:
            # What a convolution writes beyond the end of a sentence must not be heard by the next one.
            states = torch.tanh(convolution(self.dropout(states)) + states).masked_fill(padding, 0.0)
        return states.transpose(1, 2)


class Conv(Encoder):
    """A matrix brings e to the size of the channels. The summary is the mean of the values; the authors' decoder has
    none and starts from zeros."""

    Config: ClassVar[type[BaseModel]] = ConvConfig
    longest_source: int

    def __init__(self, config: ConvConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.summary_size = config.hidden
        self.longest_source = config.longest
        # Heard as well as word vectors are. Positions are counted from 1: padding has none.
        self.positions = Embedding(config.longest + 1, EmbeddingConfig(size=input_size))
        self.enter = nn.Linear(input_size, config.hidden, bias=False)
        self.compared = Stack(config.hidden, config.layers, config.kernel, config.dropout)
        self.values = Stack(config.hidden, config.value_layers, config.kernel, config.dropout)

    def forward(self, vectors: Tensor, mask: Tensor) -> Encoded:
        """Raises UserError where a source has more than `longest` tokens."""
        if mask.shape[1] > self.longest_source and (length := int(mask.sum(1).max())) > self.longest_source:
            raise UserError(
                f"a source of {length} tokens is longer than the {self.longest_source} that the convolutional encoder "
                "has positions for: raise encoder.longest, or choose another encoder"
            )
        positions = self.positions(mask.cumsum(1).masked_fill(~mask, PAD))
        inputs = SCALE * self.enter((vectors + positions).masked_fill(~mask[..., None], 0.0))
        values = self.values(inputs, mask)
        return Encoded(values, mean(values, mask), self.compared(inputs, mask))
