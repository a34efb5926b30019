"""Bahdanau's decoder: the previous state is the query, and the context enters the next state (Bahdanau et al. 2015,
section 3.1).

    c_t = attention(s_{t-1});  s_t = GRU([y_{t-1}; c_t], s_{t-1})
    p(y_t) = softmax(W_o maxout(U s_t + V y_{t-1} + C c_t))

Target steps must be taken in turn. The readout sees s_t, as in the paper's equation 4 (its appendix writes s_{t-1}).
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention import AttentionOutput, AttentionStep, State, stacked
from mt.models.decoders.base import Decoder, DecoderMemory, DecoderParts, Prediction
from mt.models.decoders.recurrence import RecurrenceConfig


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

    def __init__(self, config: BahdanauConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts, fed_size=parts.value_size)
        joint_size = config.hidden_size + parts.embedding.output_size + parts.value_size
        self.readout = nn.Linear(joint_size, 2 * config.readout_size)

    def init_state(self, memory: DecoderMemory) -> BahdanauState:
        return BahdanauState(
            self.recurrence.init_state(memory.final_state), self.attention.init_state(memory.attention)
        )

    def step(
        self, tokens: Int[Tensor, " B"], memory: DecoderMemory, state: BahdanauState, *, hard: bool = False
    ) -> Prediction:
        vectors = self.embedding(tokens)
        top, attended, state = self._advance(vectors, memory, state, hard)
        return Prediction(
            self.output(self._readouts(top, vectors, attended.context)), attended.weights, attended.stops, state
        )

    def forward(
        self, tokens: Int[Tensor, "B T"], memory: DecoderMemory, *, hard: bool = False
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        vectors, state = self.embedding(tokens), self.init_state(memory)
        tops, steps = [], []
        for vector in vectors.unbind(1):
            top, step, state = self._advance(vector, memory, state, hard)
            tops.append(top)
            steps.append(step)
        attended = stacked(steps)
        return self._readouts(torch.stack(tops, 1), vectors, attended.contexts), attended

    def _advance(
        self, vector: Float[Tensor, "B E"], memory: DecoderMemory, state: BahdanauState, hard: bool
    ) -> tuple[Float[Tensor, "B H"], AttentionStep, BahdanauState]:
        """One step up to the new state of the top layer. vector: the embedded token."""
        query = state.recurrent[0][:, -1]
        attended = self.attention.step(query, memory.attention, state.attention, hard=hard)
        tops, recurrent = self.recurrence(torch.cat((vector, attended.context), -1)[:, None], state.recurrent)
        return tops[:, 0], attended, BahdanauState(recurrent, attended.state)

    def _readouts(
        self, tops: Float[Tensor, "*steps H"], vectors: Float[Tensor, "*steps E"], contexts: Float[Tensor, "*steps V"]
    ) -> Float[Tensor, "*steps F"]:
        """Maxout over pairs (Goodfellow et al. 2013)."""
        pairs = self.readout(torch.cat((tops, vectors, contexts), -1))
        return self.dropout(pairs.unflatten(-1, (-1, 2)).amax(-1))
