"""Recurrent encoders: LSTM (Hochreiter & Schmidhuber 1997) or GRU (Cho et al. 2014), left to right (Sutskever et al.
2014) or both ways (Schuster & Paliwal 1997; Bahdanau et al. 2015, section 3.2)."""

from typing import ClassVar, Literal

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mt.models.encoders.base import Encoded, Encoder


class RecurrentConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    """Options that all recurrent encoders have."""

    hidden: int = Field(512, gt=0)
    """Cells a layer."""
    layers: int = Field(1, gt=0, le=100)
    dropout: float = Field(0.0, ge=0, lt=1)
    """Between layers (Zaremba et al. 2014)."""


class BidirectionalConfig(RecurrentConfig, frozen=True, extra="forbid", strict=True):
    hidden: int = Field(256, gt=0)
    """Cells a layer and direction; values have twice that size."""


class LSTMConfig(RecurrentConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["lstm"] = "lstm"


class BiLSTMConfig(BidirectionalConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["bilstm"] = "bilstm"


class GRUConfig(RecurrentConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["gru"] = "gru"


class BiGRUConfig(BidirectionalConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["bigru"] = "bigru"


class Recurrent(Encoder):
    """Values are the states of the top layer; the summary is its last state, of both directions where there are two."""

    cell: ClassVar[type[nn.LSTM] | type[nn.GRU]]
    directions: ClassVar[int] = 1

    def __init__(self, config: RecurrentConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.summary_size = config.hidden * self.directions
        self.cells = self.cell(
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
            values, last = self.cells(vectors)
        else:
            packed = pack_padded_sequence(vectors, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
            packed_values, last = self.cells(packed)
            values, _ = pad_packed_sequence(packed_values, batch_first=True, total_length=mask.shape[1])
        # A GRU's state is its hidden vector; an LSTM has a cell vector beside it.
        hidden = last if isinstance(last, Tensor) else last[0]
        return Encoded(values, torch.cat(hidden[-self.directions :].unbind(), -1))


class LSTM(Recurrent):
    Config: ClassVar[type[BaseModel]] = LSTMConfig
    one_way = True
    cell = nn.LSTM


class BiLSTM(Recurrent):
    Config: ClassVar[type[BaseModel]] = BiLSTMConfig
    cell = nn.LSTM
    directions = 2


class GRU(Recurrent):
    Config: ClassVar[type[BaseModel]] = GRUConfig
    one_way = True
    cell = nn.GRU


class BiGRU(Recurrent):
    Config: ClassVar[type[BaseModel]] = BiGRUConfig
    cell = nn.GRU
    directions = 2
