"""Bahdanau's decoder: the previous state is the query, and the context enters the next state (Bahdanau et al. 2015,
section 3.1).

    c_t = attention(s_{t-1});  s_t = GRU([y_{t-1}; c_t], s_{t-1})
    p(y_t) = softmax(W_o maxout(U s_t + V y_{t-1} + C c_t))

Target steps must be taken in turn. The readout sees s_t, as in the paper's equation 4 (its appendix writes s_{t-1}).
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention import Attention, AttentionOutput, AttentionStep, State, stacked
from mt.models.decoders.base import Decoder, DecoderMemory, Prediction
from mt.models.decoders.recurrence import RecurrenceConfig
from mt.models.frontends import Embedding


class BahdanauConfig(RecurrenceConfig):
    name: Literal["bahdanau"] = "bahdanau"
    cell: Literal["lstm", "gru"] = "gru"


class BahdanauState(NamedTuple):
    recurrent: tuple[Tensor, ...]
    """Each [B, layers, H]."""
    attention: State


class Bahdanau(Decoder):
    """With several layers, the context enters the lowest, and the highest gives the query."""

    Config: ClassVar[type[BaseModel]] = BahdanauConfig

    def __init__(
        self,
        config: BahdanauConfig,
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
        self.readout = nn.Linear(config.hidden_size + embedding.output_size + value_size, 2 * config.readout_size)

    def fed_size(self, config: BahdanauConfig, value_size: int) -> int:
        return value_size

    def init_state(self, memory: DecoderMemory) -> BahdanauState:
        return BahdanauState(
            self.recurrence.init_state(memory.final_state), self.attention.init_state(memory.attention)
        )

    def step(self, tokens: Tensor, memory: DecoderMemory, state: BahdanauState, *, hard: bool = False) -> Prediction:
        vectors = self.embedding(tokens)
        top, attended, state = self._advance(vectors, memory, state, hard)
        return Prediction(
            self.output(self._readouts(top, vectors, attended.context)), attended.weights, attended.stops, state
        )

    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, AttentionOutput]:
        vectors, state = self.embedding(tokens), self.init_state(memory)
        tops, steps = [], []
        for vector in vectors.unbind(1):
            top, step, state = self._advance(vector, memory, state, hard)
            tops.append(top)
            steps.append(step)
        attended = stacked(steps)
        return self._readouts(torch.stack(tops, 1), vectors, attended.contexts), attended

    def _advance(
        self, vector: Tensor, memory: DecoderMemory, state: BahdanauState, hard: bool
    ) -> tuple[Tensor, AttentionStep, BahdanauState]:
        """One step up to the new state of the top layer [B, H]. vector: [B, E], the embedded token."""
        query = state.recurrent[0][:, -1]
        attended = self.attention.step(query, memory.attention, state.attention, hard=hard)
        tops, recurrent = self.recurrence(torch.cat((vector, attended.context), -1)[:, None], state.recurrent)
        return tops[:, 0], attended, BahdanauState(recurrent, attended.state)

    def _readouts(self, tops: Tensor, vectors: Tensor, contexts: Tensor) -> Tensor:
        """Maxout over pairs (Goodfellow et al. 2013): [..., F]."""
        pairs = self.readout(torch.cat((tops, vectors, contexts), -1))
        return self.dropout(pairs.unflatten(-1, (-1, 2)).amax(-1))
