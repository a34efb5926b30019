"""Luong's decoder: the current state is the query, and the context joins it in the readout (Luong et al. 2015, section
3).

    h_t = LSTM(y_{t-1}, h_{t-1});  c_t = attention(h_t);  h~_t = tanh(W_c [c_t; h_t]);  p(y_t) = softmax(W_s h~_t)

With input feeding (section 3.3) h~_{t-1} joins y_{t-1} at the LSTM's input, and target steps must be taken in turn;
without it, all of them are taken at once under teacher forcing.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention import AttentionOutput, AttentionStep, State, stacked
from mt.models.decoders.base import Decoder, DecoderMemory, DecoderParts, Prediction
from mt.models.decoders.recurrence import RecurrenceConfig


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

    def __init__(self, config: LuongConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts, fed_size=config.readout_size if config.input_feeding else 0)
        self.readout_size = config.readout_size
        self.input_feeding = config.input_feeding
        self.combine = nn.Linear(parts.value_size + config.hidden_size, config.readout_size, bias=False)

    def init_state(self, memory: DecoderMemory) -> LuongState:
        feed = memory.final_state.new_zeros(len(memory.final_state), self.readout_size)
        return LuongState(
            self.recurrence.init_state(memory.final_state), feed, self.attention.init_state(memory.attention)
        )

    def step(
        self, tokens: Int[Tensor, " B"], memory: DecoderMemory, state: LuongState, *, hard: bool = False
    ) -> Prediction:
        readout, attended, state = self._advance(self.embedding(tokens), memory, state, hard)
        return Prediction(self.output(readout), attended.weights, attended.stops, state)

    def forward(
        self, tokens: Int[Tensor, "B T"], memory: DecoderMemory, *, hard: bool = False
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
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
        self, vector: Float[Tensor, "B E"], memory: DecoderMemory, state: LuongState, hard: bool
    ) -> tuple[Float[Tensor, "B F"], AttentionStep, LuongState]:
        """One step. vector: the embedded token."""
        if self.input_feeding:
            vector = torch.cat((vector, state.feed), -1)
        queries, recurrent = self.recurrence(vector[:, None], state.recurrent)
        attended = self.attention.step(queries[:, 0], memory.attention, state.attention, hard=hard)
        readout = self._combine(attended.context, queries[:, 0])
        return readout, attended, LuongState(recurrent, readout if self.input_feeding else state.feed, attended.state)

    def _combine(
        self, context: Float[Tensor, "*steps V"], query: Float[Tensor, "*steps H"]
    ) -> Float[Tensor, "*steps F"]:
        """h~ = tanh(W_c [c; h])  (Luong et al. 2015, equation 5)."""
        return self.dropout(torch.tanh(self.combine(torch.cat((context, query), -1))))
