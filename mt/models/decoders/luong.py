"""Luong's decoder: the current state asks, and the answer joins it only on the way out (Luong et al. 2015, section 3).

    h_t = LSTM(y_{t-1}, h_{t-1});  c_t = attention(h_t);  h~_t = tanh(W_c [c_t; h_t]);  p(y_t) = softmax(W_s h~_t)

With input feeding (section 3.3) h~_{t-1} joins y_{t-1} at the LSTM's input, and target steps must be taken in turn;
without it, all of them are taken at once under teacher forcing.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention import Attention, Read, Reads, State, stacked
from mt.models.decoders.base import Decoder, DecoderMemory, Prediction
from mt.models.decoders.recurrence import RecurrenceConfig
from mt.models.embedding import Embedding


class LuongConfig(RecurrenceConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["luong"] = "luong"
    input_feeding: bool = False
    """Whether h~ joins the next input (Luong et al. 2015, section 3.3)."""


class LuongState(NamedTuple):
    recurrent: tuple[Tensor, ...]
    """Each [B, layers, H]."""
    feed: Tensor
    """[B, F]: h~ of the step before, zero at the first."""
    attention: State


class Luong(Decoder):
    Config: ClassVar[type[BaseModel]] = LuongConfig

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
        super().__init__(config, embedding, attention, value_size=value_size, summary_size=summary_size, tied=tied)
        self.features = config.features
        self.input_feeding = config.input_feeding
        self.combine = nn.Linear(value_size + config.hidden, config.features, bias=False)

    def fed_size(self, config: LuongConfig, value_size: int) -> int:
        return config.features if config.input_feeding else 0

    def start(self, memory: DecoderMemory) -> LuongState:
        feed = memory.summary.new_zeros(len(memory.summary), self.features)
        return LuongState(self.recurrence.start(memory.summary), feed, self.attention.start(memory.attention))

    def step(self, tokens: Tensor, memory: DecoderMemory, state: LuongState, *, hard: bool = False) -> Prediction:
        features, read, state = self._advance(self.embedding(tokens), memory, state, hard)
        return Prediction(self.output(features), read.weights, read.stops, state)

    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, Reads]:
        inputs, state = self.embedding(tokens), self.start(memory)
        if not self.input_feeding:
            queries, _ = self.recurrence(inputs, state.recurrent)
            reads = self.attention.reads(queries, memory.attention, hard=hard)
            return self._combine(reads.contexts, queries), reads
        all_features, steps = [], []
        for vector in inputs.unbind(1):
            features, read, state = self._advance(vector, memory, state, hard)
            all_features.append(features)
            steps.append(read)
        return torch.stack(all_features, 1), stacked(steps)

    def _advance(
        self, vector: Tensor, memory: DecoderMemory, state: LuongState, hard: bool
    ) -> tuple[Tensor, Read, LuongState]:
        """One step. vector: [B, E], the embedded token."""
        if self.input_feeding:
            vector = torch.cat((vector, state.feed), -1)
        queries, recurrent = self.recurrence(vector[:, None], state.recurrent)
        read = self.attention.step(queries[:, 0], memory.attention, state.attention, hard=hard)
        features = self._combine(read.context, queries[:, 0])
        return features, read, LuongState(recurrent, features if self.input_feeding else state.feed, read.state)

    def _combine(self, context: Tensor, query: Tensor) -> Tensor:
        """h~ = tanh(W_c [c; h])  (Luong et al. 2015, equation 5)."""
        return self.dropout(torch.tanh(self.combine(torch.cat((context, query), -1))))
