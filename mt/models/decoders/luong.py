"""Luong's decoder: the current state is the query, and the context joins it in the readout (Luong et al. 2015, section
3).

    h_t = LSTM(y_{t-1}, h_{t-1});  c_t = attention(h_t);  h~_t = tanh(W_c [c_t; h_t]);  p(y_t) = softmax(W_s h~_t)

With input feeding (section 3.3) h~_{t-1} joins y_{t-1} at the LSTM's input, and target steps must be taken in turn;
without it, all of them are taken at once under teacher forcing.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention import Attention, AttentionOutput, AttentionStep, State, stacked
from mt.models.decoders.base import Decoder, DecoderMemory, Prediction
from mt.models.decoders.recurrence import RecurrenceConfig
from mt.models.frontends import Embedding


class LuongConfig(RecurrenceConfig):
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
        final_state_size: int,
        tied: bool,
    ) -> None:
        super().__init__(
            config, embedding, attention, value_size=value_size, final_state_size=final_state_size, tied=tied
        )
        self.readout_size = config.readout_size
        self.input_feeding = config.input_feeding
        self.combine = nn.Linear(value_size + config.hidden_size, config.readout_size, bias=False)

    def fed_size(self, config: LuongConfig, value_size: int) -> int:
        return config.readout_size if config.input_feeding else 0

    def init_state(self, memory: DecoderMemory) -> LuongState:
        feed = memory.final_state.new_zeros(len(memory.final_state), self.readout_size)
        return LuongState(
            self.recurrence.init_state(memory.final_state), feed, self.attention.init_state(memory.attention)
        )

    def step(self, tokens: Tensor, memory: DecoderMemory, state: LuongState, *, hard: bool = False) -> Prediction:
        readout, attended, state = self._advance(self.embedding(tokens), memory, state, hard)
        return Prediction(self.output(readout), attended.weights, attended.stops, state)

    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, AttentionOutput]:
        inputs, state = self.embedding(tokens), self.init_state(memory)
        if not self.input_feeding:
            queries, _ = self.recurrence(inputs, state.recurrent)
            attended = self.attention(queries, memory.attention, hard=hard)
            return self._combine(attended.contexts, queries), attended
        readouts, steps = [], []
        for vector in inputs.unbind(1):
            readout, attended, state = self._advance(vector, memory, state, hard)
            readouts.append(readout)
            steps.append(attended)
        return torch.stack(readouts, 1), stacked(steps)

    def _advance(
        self, vector: Tensor, memory: DecoderMemory, state: LuongState, hard: bool
    ) -> tuple[Tensor, AttentionStep, LuongState]:
        """One step. vector: [B, E], the embedded token."""
        if self.input_feeding:
            vector = torch.cat((vector, state.feed), -1)
        queries, recurrent = self.recurrence(vector[:, None], state.recurrent)
        attended = self.attention.step(queries[:, 0], memory.attention, state.attention, hard=hard)
        readout = self._combine(attended.context, queries[:, 0])
        return readout, attended, LuongState(recurrent, readout if self.input_feeding else state.feed, attended.state)

    def _combine(self, context: Tensor, query: Tensor) -> Tensor:
        """h~ = tanh(W_c [c; h])  (Luong et al. 2015, equation 5)."""
        return self.dropout(torch.tanh(self.combine(torch.cat((context, query), -1))))
