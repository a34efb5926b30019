"""No encoder: the values are the vectors of the front-end, such as word vectors, without neighbours or position."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field
from torch import nn

from mt.common.options import MAX_SIZE, Options
from mt.kernels.linear import Linear
from mt.models.encoders.base import CausalEncoder, Encoded, EncoderState, Mask, Vectors


class NoEncoderConfig(Options):
    name: Literal["none"] = "none"
    hidden_size: Annotated[int, "units"] | None = Field(None, gt=0, le=MAX_SIZE)
    """Size of values, to which a matrix projects the vectors; null leaves them as they are."""


class NoEncoder(CausalEncoder):
    """The final state is the mean of the values, which has no order either."""

    Config: ClassVar[type[BaseModel]] = NoEncoderConfig

    def __init__(self, config: NoEncoderConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.final_state_size = config.hidden_size or input_size
        projects = config.hidden_size is not None
        self.project = Linear(input_size, self.value_size, bias=False) if projects else nn.Identity()

    def _encode(self, vectors: Vectors, mask: Mask, state: EncoderState | None) -> tuple[Encoded, EncoderState]:
        values = self.project(vectors.masked_fill(~mask[..., None], 0.0))
        # The state: the sum of all values so far, and their number.
        total = values.sum(1)  # [B, V]
        count = mask.sum(1, keepdim=True)  # [B, 1]
        if state is not None:
            total = total + state[0]
            count = count + state[1]
        # The final state is the mean of all values so far; 0 before the first.
        return Encoded(values, mask, total / count.clamp(min=1)), (total, count)
