"""Recurrent encoders: LSTM left to right (Sutskever et al. 2014), or both ways (Schuster & Paliwal 1997)."""

from typing import ClassVar, Literal

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mt.models.encoders.base import Encoded, Encoder


class LSTMConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["lstm"] = "lstm"
    hidden: int = Field(512, gt=0)
    """Cells a layer."""
    layers: int = Field(1, gt=0, le=100)
    dropout: float = Field(0.0, ge=0, lt=1)
    """Between layers (Zaremba et al. 2014)."""


class BiLSTMConfig(LSTMConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["bilstm"] = "bilstm"  # type: ignore[assignment]
    hidden: int = Field(256, gt=0)
    """Cells a layer and direction; values have twice that size."""


class LSTM(Encoder):
    Config: ClassVar[type[BaseModel]] = LSTMConfig
    one_way = True
    directions: ClassVar[int] = 1

    def __init__(self, config: LSTMConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.summary_size = config.hidden * self.directions
        self.lstm = nn.LSTM(
            input_size,
            config.hidden,
            config.layers,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
            bidirectional=self.directions == 2,
        )

    def forward(self, vectors: Tensor, mask: Tensor) -> Encoded:
        # Packing makes the backward direction begin at each sentence's own end; a full batch has no need of it.
        if bool(mask.all()):
            values, (hidden, _) = self.lstm(vectors)
        else:
            packed = pack_padded_sequence(vectors, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
            packed_values, (hidden, _) = self.lstm(packed)
            values, _ = pad_packed_sequence(packed_values, batch_first=True, total_length=mask.shape[1])
        return Encoded(values, torch.cat(hidden[-self.directions :].unbind(), -1))


class BiLSTM(LSTM):
    Config = BiLSTMConfig
    one_way = False
    directions = 2
