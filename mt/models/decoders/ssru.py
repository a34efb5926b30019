"""SSRU as a decoder: blocks of a recurrence and a feed-forward network (see `mt.models.ssru`), with one attention after
the first recurrence.

    q_t = x_t + SSRU(norm(x_t));  c_t = attention(norm(q_t));  z_t = q_t + W_c c_t

The sum z_t goes through the first block's feed-forward network and the blocks above. So these have the context, and
their states the contexts of earlier steps. All target steps are taken at once under teacher forcing, as in GNMT.

Kim et al. (2019) attend in every block. With one attention there is one alignment, and memory and time of one.
"""

from typing import Annotated, ClassVar, Literal

from jaxtyping import Float
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.common.options import MAX_SIZE
from mt.kernels.linear import Linear
from mt.models import ssru
from mt.models.decoders.base import DecoderParts, FirstState, LayersConfig, Tree
from mt.models.decoders.gnmt import LayersAbove


class SSRUConfig(LayersConfig):
    name: Literal["ssru"] = "ssru"
    hidden_size: Annotated[int, "units"] = Field(256, gt=0, le=MAX_SIZE)
    """Size of a recurrence's state, and of the vectors between blocks."""
    num_layers: Annotated[int, "layers"] = Field(2, gt=0, le=100)
    """Blocks, each of a recurrence and a feed-forward network (Kim et al. 2019: 6, 2 or 1)."""
    feed_forward_size: Annotated[int, "units"] = Field(512, gt=0, le=MAX_SIZE)
    """Hidden units of the feed-forward networks."""
    init_hidden: Literal["final_state", "zeros"] = "zeros"
    dropout: Annotated[float, "share"] = Field(0.1, ge=0, lt=1)
    """Dropout on each residual branch (Vaswani et al. 2017), and on the readout."""
    forget_bias: float = Field(0.0, ge=-100, le=100)
    """The initial bias of the forget gates (Kim et al. 2019: 0)."""


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


class SSRU(LayersAbove):
    Config: ClassVar[type[BaseModel]] = SSRUConfig
    recurrence_type = _First

    def __init__(self, config: SSRUConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts)
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

    def _first_state(self, final_state: Float[Tensor, "B U"]) -> tuple[Tensor, ...]:
        """Returns c of each block, [B, H]."""
        (cells,) = self.recurrence.init_state(final_state)
        return cells.unbind(1)

    def _upper_layers(
        self, inputs: Float[Tensor, "B *T H"], contexts: Float[Tensor, "B *T V"], states: Tree
    ) -> tuple[Float[Tensor, "B *T F"], tuple[Tensor, ...]]:
        # The first block's recurrence is below the attention, and its feed-forward network above.
        outputs = self.feed_forward[0](inputs + self.dropout(self.join(contexts)))
        after = []
        for layer, feed_forward, state in zip(self.above, self.feed_forward[1:], states, strict=True):
            outputs, of_layer = layer(outputs, state)
            outputs = feed_forward(outputs)
            after.append(of_layer)
        return self.dropout(self.readout(self.norm(outputs))), tuple(after)


def _recurrent(config: SSRUConfig) -> ssru.Recurrent:
    size = config.hidden_size
    return ssru.Recurrent(ssru.SSRULayer(size, size, config.forget_bias, int8=True), size, config.dropout)
