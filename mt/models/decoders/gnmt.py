"""The decoder of GNMT (Wu et al. 2016, sections 3 and 3.1), in the form of NVIDIA's GNMT v2. The first layer makes the
query, and the context enters the layers above.

    h1_t = LSTM_1(y_{t-1});  c_t = attention(h1_t);  hn_t = LSTM_n([h(n-1)_t; c_t])  (+ h(n-1)_t from the third on)

The layer below the attention does not depend on the layers above. So all target steps are taken at once under teacher
forcing, with any attention (`LayersAbove`). As with input feeding, the layers above know the contexts of earlier steps.
"""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.kernels.linear import Linear
from mt.models.attention.base import AttentionOutput, Memory
from mt.models.decoders.base import (
    Decoder,
    DecoderParts,
    DecoderQuery,
    LayersConfig,
    Recurrence,
    RecurrenceConfig,
    Tree,
)


class LayersAbove(Decoder):
    """A decoder whose first layer makes the query, while the context enters the layers above. Its state has an entry
    for each layer."""

    def __init__(self, config: LayersConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts)
        self.query_norm: nn.Module = nn.Identity()

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        memory: Memory,
        *,
        hard: bool = False,
        targets: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        # The first layer, then the attention with its queries, then the layers above, each of all steps at once.
        lowest, *above = self.init_state(memory, hard=hard).recurrent
        inputs, _ = self.recurrence(self.embedding(tokens), lowest)
        output = self.attention(self.query_norm(inputs), memory, hard=hard)
        readouts, _ = self._upper_layers(inputs, output.contexts, tuple(above))
        return readouts, output

    def _make_query(self, vectors: Float[Tensor, "B E"], state: Tree) -> tuple[Float[Tensor, "B H"], Tree]:
        # The state of the first layer, and those of the layers above.
        lowest, *above = state
        inputs, after = self.recurrence(vectors, lowest)
        return self.query_norm(inputs), (inputs, after, tuple(above))

    def _read_out(self, query: DecoderQuery, context: Float[Tensor, "B V"]) -> tuple[Float[Tensor, "B F"], Tree]:
        inputs, lowest, above = query.decoder_state
        readout, after = self._upper_layers(inputs, context, above)
        return readout, (lowest, *after)

    @abstractmethod
    def _upper_layers(
        self, inputs: Float[Tensor, "B *T H"], contexts: Float[Tensor, "B *T V"], states: Tree
    ) -> tuple[Float[Tensor, "B *T F"], Tree]:
        """Returns the readouts, and the states of the upper layers after the steps. inputs: the output of the first
        layer. states: of the upper layers, before the steps."""


class GNMTConfig(RecurrenceConfig):
    name: Literal["gnmt"] = "gnmt"
    num_layers: Annotated[int, "layers"] = Field(2, ge=2, le=100)
    """Layers, at least 2. The first one makes the query, the context enters the others (Wu et al. 2016: 8; GNMT v2:
    4)."""


class GNMT(LayersAbove):
    Config: ClassVar[type[BaseModel]] = GNMTConfig

    def __init__(self, config: GNMTConfig, parts: DecoderParts) -> None:
        # Each layer is a recurrence of its own, since the context enters between them.
        single = config.model_copy(update={"num_layers": 1})
        super().__init__(single, parts)
        size = config.hidden_size + parts.value_size
        self.above = nn.ModuleList(
            Recurrence(single, size, parts.final_state_size) for _ in range(config.num_layers - 1)
        )
        same = config.readout_size == config.hidden_size
        self.readout = nn.Identity() if same else Linear(config.hidden_size, config.readout_size, bias=False)

    def _first_state(self, final_state: Float[Tensor, "B U"]) -> tuple[tuple[Tensor, ...], ...]:
        return tuple(layer.init_state(final_state) for layer in (self.recurrence, *self.above))

    def _upper_layers(
        self, inputs: Float[Tensor, "B *T H"], contexts: Float[Tensor, "B *T V"], states: Tree
    ) -> tuple[Float[Tensor, "B *T F"], Tree]:
        # The context enters each layer; from the third layer of all on, each adds to the one below.
        tops = inputs  # [B, *T, H]
        after = []
        for number, (layer, state) in enumerate(zip(self.above, states, strict=True)):
            outputs, of_layer = layer(self.dropout(torch.cat((tops, contexts), -1)), state)
            tops = outputs + tops if number else outputs
            after.append(of_layer)
        return self.dropout(self.readout(tops)), tuple(after)
