"""SSRU as a decoder: blocks of a recurrence and a feed-forward network (see `mt.models.ssru`), with one attention after
the first recurrence.

    q_t = x_t + SSRU(norm(x_t));  c_t = attention(norm(q_t));  z_t = q_t + W_c c_t

The sum z_t goes through the first block's feed-forward network and the blocks above. So these have the context, and
their states the contexts of earlier steps. As in GNMT, the recurrence below the attention does not depend on the blocks
above. So all target steps are taken at once under teacher forcing, with any attention, in linear recurrences.

Kim et al. (2019) attend in every block. With one attention there is one alignment, and memory and time of one.
"""

from typing import ClassVar, Literal, NamedTuple

from jaxtyping import Float, Int
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.common.options import MAX_SIZE
from mt.kernels.linear import Linear
from mt.models import ssru
from mt.models.attention.base import AttentionOutput, AttentionStep, State
from mt.models.decoders.base import Decoder, DecoderMemory, DecoderParts, DecoderQuery, FirstState, LayersConfig

Cells = tuple[Tensor, ...]
"""c of each block, [B, H]."""


class SSRUConfig(LayersConfig):
    name: Literal["ssru"] = "ssru"
    hidden_size: int = Field(256, gt=0, le=MAX_SIZE)
    """Size of a recurrence's state, and of the vectors between blocks."""
    num_layers: int = Field(2, gt=0, le=100)
    """Blocks, each of a recurrence and a feed-forward network (Kim et al. 2019: 6, 2 or 1)."""
    feed_forward_size: int = Field(512, gt=0, le=MAX_SIZE)
    """Hidden units of the feed-forward networks."""
    init_hidden: Literal["final_state", "zeros"] = "zeros"
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on each residual branch (Vaswani et al. 2017), and on the readout."""
    forget_bias: float = Field(0.0, ge=-100, le=100)
    """The initial bias of the forget gates (Kim et al. 2019: 0)."""


class SSRUState(NamedTuple):
    cells: Cells
    attention: State


class _First(FirstState):
    """The first block up to the attention, and the first states of all blocks."""

    def __init__(self, config: SSRUConfig, input_size: int, final_state_size: int) -> None:
        super().__init__(config, 1, final_state_size)
        size = config.hidden_size
        self.project = nn.Identity() if input_size == size else Linear(input_size, size, bias=False, int8=True)
        self.layer = _recurrent(config)

    def forward(
        self, inputs: Float[Tensor, "B *T E"], cells: Float[Tensor, "B H"]
    ) -> tuple[Float[Tensor, "B *T H"], Float[Tensor, "B H"]]:
        return self.layer(self.project(inputs), cells)


class SSRU(Decoder):
    Config: ClassVar[type[BaseModel]] = SSRUConfig
    recurrence_type = _First

    def __init__(self, config: SSRUConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts)
        self.dropout = nn.Dropout(config.dropout)
        size = config.hidden_size
        self.query_norm = nn.LayerNorm(size)
        self.join = Linear(parts.value_size, size, bias=False, int8=True)
        self.above = nn.ModuleList(_recurrent(config) for _ in range(config.num_layers - 1))
        self.feed_forward = nn.ModuleList(
            ssru.FeedForward(size, config.feed_forward_size, config.dropout, int8=True)
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(size)
        # Even of equal sizes: else the residuals hold the vector of the token before, and a tied output repeats it.
        self.readout = Linear(size, config.readout_size, bias=False, int8=True)

    def init_state(self, memory: DecoderMemory, *, hard: bool = False) -> SSRUState:
        (cells,) = self.recurrence.init_state(memory.final_state)
        return SSRUState(cells.unbind(1), self.attention.init_state(memory.attention, hard=hard))

    def _read_out(self, query: DecoderQuery, step: AttentionStep) -> tuple[Float[Tensor, "B F"], SSRUState]:
        inputs, lowest, above = query.decoder_state
        readout, after = self._upper_layers(inputs, step.context, above)
        return readout, SSRUState((lowest, *after), step.state)

    def forward(
        self, tokens: Int[Tensor, "B T"], memory: DecoderMemory, *, hard: bool = False
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        lowest, *above = self.init_state(memory, hard=hard).cells
        inputs, _ = self.recurrence(self.embedding(tokens), lowest)
        output = self.attention(self.query_norm(inputs), memory.attention, hard=hard)
        readouts, _ = self._upper_layers(inputs, output.contexts, tuple(above))
        return readouts, output

    def _make_query(self, vectors: Float[Tensor, "B E"], state: SSRUState) -> DecoderQuery:
        lowest, *above = state.cells
        inputs, after = self.recurrence(vectors, lowest)
        return DecoderQuery(self.query_norm(inputs), state.attention, (inputs, after, tuple(above)))

    def _upper_layers(
        self, inputs: Float[Tensor, "B *T H"], contexts: Float[Tensor, "B *T V"], cells: Cells
    ) -> tuple[Float[Tensor, "B *T F"], Cells]:
        """Returns the readouts, and the states of the blocks above the first. inputs: of the attention. cells: these
        states before."""
        outputs = self.feed_forward[0](inputs + self.dropout(self.join(contexts)))
        states = []
        for layer, feed_forward, state in zip(self.above, self.feed_forward[1:], cells, strict=True):
            outputs, after = layer(outputs, state)
            outputs = feed_forward(outputs)
            states.append(after)
        return self.dropout(self.readout(self.norm(outputs))), tuple(states)


def _recurrent(config: SSRUConfig) -> ssru.Recurrent:
    size = config.hidden_size
    return ssru.Recurrent(ssru.SSRU(size, size, config.forget_bias, int8=True), size, config.dropout)
