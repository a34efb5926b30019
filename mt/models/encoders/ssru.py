"""SSRU as an encoder: blocks of a recurrence and a feed-forward network (see `mt.models.ssru`), left to right or both
ways. No product waits for the step before, so that positions are encoded in parallel."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field
from torch import nn

from mt.common.options import MAX_SIZE
from mt.kernels.linear import Linear
from mt.models import ssru
from mt.models.encoders.base import CausalEncoder, Encoded, Encoder, EncoderState, Mask, Vectors
from mt.models.encoders.recurrent import BidirectionalConfig, RecurrentConfig


class BlocksConfig(RecurrentConfig):
    """Options of SSRU."""

    hidden_size: Annotated[int, "units"] = Field(256, gt=0, le=MAX_SIZE)
    """Size of the values, and of the vectors between blocks."""
    num_layers: Annotated[int, "layers"] = Field(2, gt=0, le=100)
    """Blocks, each of a recurrence and a feed-forward network."""
    feed_forward_size: Annotated[int, "units"] = Field(512, gt=0, le=MAX_SIZE)
    """Hidden units of the feed-forward networks."""
    dropout: Annotated[float, "share"] = Field(0.1, ge=0, lt=1)
    """Dropout on each residual branch (Vaswani et al. 2017)."""
    forget_bias: float = Field(0.0, ge=-100, le=100)
    """The initial bias of the forget gates (Kim et al. 2019: 0). With 0 a cell begins by forgetting half of its content
    at each position."""


class SSRUConfig(BlocksConfig):
    name: Literal["ssru"] = "ssru"


class BiSSRUConfig(BlocksConfig, BidirectionalConfig):
    name: Literal["bissru"] = "bissru"


class SSRU(CausalEncoder):
    """Reads from left to right. The final state is that of the top recurrence."""

    Config: ClassVar[type[BaseModel]] = SSRUConfig
    unit: ClassVar[type[ssru.SSRULayer] | type[ssru.BiSSRULayer]] = ssru.SSRULayer

    def __init__(self, config: BlocksConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.final_state_size = size = config.hidden_size
        self.project = nn.Identity() if input_size == size else Linear(input_size, size, bias=False)
        self.recurrent = nn.ModuleList(
            ssru.Recurrent(self.unit(size, size, config.forget_bias), size, config.dropout)
            for _ in range(config.num_layers)
        )
        self.feed_forward = nn.ModuleList(
            ssru.FeedForward(size, config.feed_forward_size, config.dropout) for _ in range(config.num_layers)
        )
        # The blocks normalise what they read, so their last sum is normalised here.
        self.norm = nn.LayerNorm(size)

    def _encode(self, vectors: Vectors, mask: Mask, state: EncoderState | None) -> tuple[Encoded, EncoderState]:
        padding = ~mask[..., None]  # [B, S, 1]
        values = self.project(vectors.masked_fill(padding, 0.0))
        # Block by block: a recurrence, which goes on from its own state [B, H], and a feed-forward network.
        states = [None] * len(self.recurrent) if state is None else state
        after = []
        for recurrent, feed_forward, cells in zip(self.recurrent, self.feed_forward, states, strict=True):
            values, cells_after = recurrent(values, cells, mask)
            values = feed_forward(values)
            after.append(cells_after)
        # Biases have put something on padding.
        values = self.norm(values).masked_fill(padding, 0.0)
        return Encoded(values, mask, after[-1]), tuple(after)


class BiSSRU(SSRU):
    """Reads from left to right and from right to left."""

    Config: ClassVar[type[BaseModel]] = BiSSRUConfig
    unit = ssru.BiSSRULayer
    incremental = False
    extend = Encoder.extend  # it needs the whole source
