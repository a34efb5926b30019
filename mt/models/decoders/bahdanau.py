"""Bahdanau's decoder: the previous state is the query, and the context enters the next state (Bahdanau et al. 2015,
section 3.1).

    c_t = attention(s_{t-1});  s_t = GRU([y_{t-1}; c_t], s_{t-1})
    p(y_t) = softmax(W_o maxout(U s_t + V y_{t-1} + C c_t))

With `gate`, beta_t = sigmoid(w . s_{t-1} + b) scales c_t everywhere (Xu et al. 2015, section 4.2.1). So a function word
can do without the source.

Target steps must be taken in turn. The readout sees s_t, as in the paper's equation 4 (its appendix writes s_{t-1}).
"""

from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import BaseModel
from torch import Tensor

from mt.kernels.linear import Linear
from mt.models.attention.base import AttentionStep
from mt.models.decoders.base import Decoder, DecoderParts, DecoderQuery, RecurrenceConfig, Tree


class BahdanauConfig(RecurrenceConfig):
    name: Literal["bahdanau"] = "bahdanau"
    cell: Literal["lstm", "gru"] = "gru"
    gate: bool = False
    """Whether beta, a number from 0 to 1 that the previous state gives, scales the context (Xu et al. 2015)."""

    @property
    def step_by_step(self) -> bool:
        return True


class Bahdanau(Decoder):
    """Attends with the state before. Of several layers the context enters the lowest; the highest gives the query."""

    Config: ClassVar[type[BaseModel]] = BahdanauConfig

    def __init__(self, config: BahdanauConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts, fed_size=parts.value_size)
        joint_size = config.hidden_size + parts.embedding.output_size + parts.value_size
        self.readout = Linear(joint_size, 2 * config.readout_size, int8=True)
        self.gate = Linear(config.hidden_size, 1) if config.gate else None

    def _make_query(self, vectors: Float[Tensor, "B E"], state: Tree) -> tuple[Float[Tensor, "B H"], Tree]:
        # s_{t-1} of the highest layer; the recurrence waits for the context.
        return state[0][:, -1], (vectors, state)

    def _gated(self, query: DecoderQuery, step: AttentionStep) -> AttentionStep:
        if self.gate is None:
            return step
        # beta is one number for each sentence, [B, 1].
        return step._replace(context=torch.sigmoid(self.gate(query.vector)) * step.context)

    def _read_out(self, query: DecoderQuery, context: Float[Tensor, "B V"]) -> tuple[Float[Tensor, "B J"], Tree]:
        vectors, previous = query.decoder_state
        # The context joins the word vector at the input, and state and word vector in the readout.
        tops, recurrent = self.recurrence(torch.cat((vectors, context), -1), previous)
        return torch.cat((tops, vectors, context), -1), recurrent

    def _readouts(self, inputs: Float[Tensor, "*steps J"]) -> Float[Tensor, "*steps F"]:
        """Takes the largest of each pair, maxout (Goodfellow et al. 2013)."""
        return self.dropout(self.readout(inputs).unflatten(-1, (-1, 2)).amax(-1))
