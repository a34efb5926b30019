"""The recurrent part of a decoder: a stack of LSTM or GRU layers with batch-first states."""

from typing import Literal

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn


class RecurrenceConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    """Options that all decoders have."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Hochreiter & Schmidhuber 1997; Cho et al. 2014."""
    hidden: int = Field(512, gt=0)
    """Cells a layer (Luong et al. 2015, Bahdanau et al. 2015: 1000)."""
    layers: int = Field(1, gt=0, le=100)
    """Luong et al. 2015: 4."""
    features: int = Field(256, gt=0)
    """Size of the vector that predicts the token."""
    start: Literal["summary", "zeros"] = "summary"
    """First state: bridged from the encoder's summary (Luong et al. 2015: the encoder's last states), or zero, which
    online decoding needs, since the summary has read all of the source."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Between layers and on the features (Zaremba et al. 2014; Luong et al. 2015: 0.2)."""


class Recurrence(nn.Module):
    """States are tuples of tensors [B, layers, H]: hidden and cell of an LSTM, hidden of a GRU."""

    def __init__(self, config: RecurrenceConfig, input_size: int, summary_size: int) -> None:
        super().__init__()
        self.parts = 2 if config.cell == "lstm" else 1
        self.shape = (config.layers, config.hidden)
        self.reads_ahead = config.start == "summary"
        states = self.parts * config.layers * config.hidden
        self.bridge = nn.Linear(summary_size, states) if self.reads_ahead else None
        self.cells = {"lstm": nn.LSTM, "gru": nn.GRU}[config.cell](
            input_size,
            config.hidden,
            config.layers,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )

    def start(self, summary: Tensor) -> tuple[Tensor, ...]:
        """The first state, from the encoder's summary [B, U]."""
        shape = (len(summary), *self.shape)
        if self.bridge is None:
            return tuple(summary.new_zeros(shape) for _ in range(self.parts))
        return tuple(part.reshape(shape) for part in torch.tanh(self.bridge(summary)).chunk(self.parts, -1))

    def forward(self, inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """inputs: [B, T, I]; returns the top layer's states [B, T, H] and the state after the last step."""
        before = tuple(part.transpose(0, 1).contiguous() for part in state)
        outputs, after = self.cells(inputs, before if self.parts == 2 else before[0])
        return outputs, tuple(part.transpose(0, 1) for part in (after if self.parts == 2 else (after,)))
