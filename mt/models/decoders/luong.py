"""Luong's decoder: the current state asks, and the answer joins it only on the way out (Luong et al. 2015, section 3).

    h_t = LSTM(y_{t-1}, h_{t-1});  c_t = attention(h_t);  h~_t = tanh(W_c [c_t; h_t]);  p(y_t) = softmax(W_s h~_t)

With input feeding (section 3.3) h~_{t-1} joins y_{t-1} at the LSTM's input, and target steps must be taken in turn;
without it, all of them are taken at once under teacher forcing.
"""

from typing import Literal, NamedTuple

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.errors import UserError
from mt.models.attention import Attention, Read, State
from mt.models.decoders.base import Decoder, DecoderMemory, Prediction
from mt.models.embedding import Embedding
from mt.models.encoders import Encoded


class LuongConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["luong"] = "luong"
    hidden: int = Field(512, gt=0)
    """Cells a layer (Luong et al. 2015: 1000)."""
    layers: int = Field(1, gt=0, le=100)
    """Luong et al. 2015: 4."""
    features: int = Field(256, gt=0)
    """Size of h~, the attentional vector (Luong et al. 2015: that of the state)."""
    input_feeding: bool = False
    """Whether h~ joins the next input (Luong et al. 2015, section 3.3)."""
    start: Literal["summary", "zeros"] = "summary"
    """First state: bridged from the encoder's summary (Luong et al. 2015: the encoder's last states), or zero, which
    online decoding needs, since the summary has read all of the source."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Between layers and on h~ (Zaremba et al. 2014; Luong et al. 2015: 0.2)."""


class LuongState(NamedTuple):
    hidden: Tensor
    """[B, layers, H]"""
    cell: Tensor
    """[B, layers, H]"""
    feed: Tensor
    """[B, F]: h~ of the step before, zero at the first."""
    attention: State


class Luong(Decoder):
    Config = LuongConfig

    def __init__(
        self,
        config: LuongConfig,
        embedding: Embedding,
        attention: Attention,
        *,
        value_size: int,
        summary_size: int,
        tied: bool,
    ) -> None:
        super().__init__()
        if tied and config.features != embedding.size:
            raise UserError(
                f"embedding.tie_output makes the output matrix the embedding table, but decoder.features is "
                f"{config.features} and embedding.size is {embedding.size}: make them equal or set "
                f"embedding.tie_output=false"
            )
        self.embedding = embedding
        self.attention = attention
        self.layers = config.layers
        self.features = config.features
        self.input_feeding = config.input_feeding
        self.hidden = config.hidden
        self.reads_ahead = config.start == "summary"
        self.bridge = nn.Linear(summary_size, 2 * config.layers * config.hidden) if self.reads_ahead else None
        self.lstm = nn.LSTM(
            embedding.size + (config.features if config.input_feeding else 0),
            config.hidden,
            config.layers,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        self.combine = nn.Linear(value_size + config.hidden, config.features, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.features, embedding.vocabulary)
        if tied:
            self.output.weight = embedding.table.weight

    def remember(self, encoded: Encoded, mask: Tensor) -> DecoderMemory:
        return DecoderMemory(self.attention.remember(encoded.values, mask), encoded.summary)

    def start(self, memory: DecoderMemory) -> LuongState:
        shape = (len(memory.summary), self.layers, self.hidden)
        if self.bridge is None:
            hidden = cell = memory.summary.new_zeros(shape)
        else:
            hidden, cell = torch.tanh(self.bridge(memory.summary)).chunk(2, -1)
        feed = hidden.new_zeros(shape[0], self.features)
        return LuongState(hidden.reshape(shape), cell.reshape(shape), feed, self.attention.start(memory.attention))

    def step(self, tokens: Tensor, memory: DecoderMemory, state: LuongState, *, hard: bool = False) -> Prediction:
        features, read, state = self._advance(self.embedding(tokens), memory, state, hard)
        return Prediction(self.output(features), read.weights, read.stops, state)

    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, Tensor]:
        inputs, state = self.embedding(tokens), self.start(memory)
        if not self.input_feeding:
            queries, _ = self._recur(inputs, state)
            contexts, weights = self.attention(queries, memory.attention, hard=hard)
            return self._combine(contexts, queries), weights
        steps = []
        for vector in inputs.unbind(1):
            features, read, state = self._advance(vector, memory, state, hard)
            steps.append((features, read.weights))
        all_features, all_weights = zip(*steps, strict=True)
        return torch.stack(all_features, 1), torch.stack(all_weights, 1)

    def _advance(
        self, vector: Tensor, memory: DecoderMemory, state: LuongState, hard: bool
    ) -> tuple[Tensor, Read, LuongState]:
        """One step. vector: [B, E], the embedded token."""
        if self.input_feeding:
            vector = torch.cat((vector, state.feed), -1)
        queries, (hidden, cell) = self._recur(vector[:, None], state)
        read = self.attention.step(queries[:, 0], memory.attention, state.attention, hard=hard)
        features = self._combine(read.context, queries[:, 0])
        return features, read, LuongState(hidden, cell, features if self.input_feeding else state.feed, read.state)

    def _recur(self, inputs: Tensor, state: LuongState) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The LSTM over [B, T, .], from and to batch-first states."""
        before = (state.hidden.transpose(0, 1).contiguous(), state.cell.transpose(0, 1).contiguous())
        queries, (hidden, cell) = self.lstm(inputs, before)
        return queries, (hidden.transpose(0, 1), cell.transpose(0, 1))

    def _combine(self, context: Tensor, query: Tensor) -> Tensor:
        """h~ = tanh(W_c [c; h])  (Luong et al. 2015, equation 5)."""
        return self.dropout(torch.tanh(self.combine(torch.cat((context, query), -1))))
