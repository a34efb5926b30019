"""The decoder of GNMT (Wu et al. 2016, sections 3 and 3.1), in the form of NVIDIA's GNMT v2. The first layer makes the
query, and the context enters the layers above.

    h1_t = LSTM_1(y_{t-1});  c_t = attention(h1_t);  hn_t = LSTM_n([h(n-1)_t; c_t])  (+ h(n-1)_t from the third on)

The layer below the attention does not depend on the layers above. So all target steps are taken at once under teacher
forcing, with any attention. As with input feeding, the layers above know the contexts of earlier steps.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.kernels.linear import Linear
from mt.models.attention.base import AttentionOutput, AttentionStep, State
from mt.models.decoders.base import Decoder, DecoderMemory, DecoderParts, DecoderQuery, Recurrence, RecurrenceConfig

Layers = tuple[tuple[Tensor, ...], ...]
"""The state of each layer, of tensors [B, 1, H]."""


class GNMTConfig(RecurrenceConfig):
    name: Literal["gnmt"] = "gnmt"
    num_layers: int = Field(2, ge=2, le=100)
    """The first one makes the query, the context enters the others (Wu et al. 2016: 8; GNMT v2: 4)."""


class GNMTState(NamedTuple):
    layers: Layers
    attention: State


class GNMT(Decoder):
    Config: ClassVar[type[BaseModel]] = GNMTConfig

    def __init__(self, config: GNMTConfig, parts: DecoderParts) -> None:
        single = config.model_copy(update={"num_layers": 1})
        super().__init__(single, parts)
        size = config.hidden_size + parts.value_size
        self.above = nn.ModuleList(
            Recurrence(single, size, parts.final_state_size) for _ in range(config.num_layers - 1)
        )
        same = config.readout_size == config.hidden_size
        self.readout = nn.Identity() if same else Linear(config.hidden_size, config.readout_size, bias=False)

    def init_state(self, memory: DecoderMemory, *, hard: bool = False) -> GNMTState:
        layers = (layer.init_state(memory.final_state) for layer in (self.recurrence, *self.above))
        return GNMTState(tuple(layers), self.attention.init_state(memory.attention, hard=hard))

    def _read_out(self, query: DecoderQuery, step: AttentionStep) -> tuple[Float[Tensor, "B F"], GNMTState]:
        lowest, *above = query.decoder_state
        readouts, after = self._upper_layers(query.vector[:, None], step.context[:, None], tuple(above))
        return readouts[:, 0], GNMTState((lowest, *after), step.state)

    def forward(
        self, tokens: Int[Tensor, "B T"], memory: DecoderMemory, *, hard: bool = False
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        lowest, *above = self.init_state(memory, hard=hard).layers
        queries, _ = self.recurrence(self.embedding(tokens), lowest)
        output = self.attention(queries, memory.attention, hard=hard)
        readouts, _ = self._upper_layers(queries, output.contexts, tuple(above))
        return readouts, output

    def _make_query(self, vectors: Float[Tensor, "B E"], state: GNMTState) -> DecoderQuery:
        lowest, *above = state.layers
        queries, after = self.recurrence(vectors[:, None], lowest)
        return DecoderQuery(queries[:, 0], state.attention, (after, *above))

    def _upper_layers(
        self, queries: Float[Tensor, "B T H"], contexts: Float[Tensor, "B T V"], layers: Layers
    ) -> tuple[Float[Tensor, "B T F"], Layers]:
        """Returns the readouts, and the states of the layers above the first. layers: these states before."""
        tops = queries
        states = []
        for number, (layer, state) in enumerate(zip(self.above, layers, strict=True)):
            outputs, after = layer(self.dropout(torch.cat((tops, contexts), -1)), state)
            tops = outputs + tops if number else outputs
            states.append(after)
        return self.dropout(self.readout(tops)), tuple(states)
