"""No encoder: the values are the word vectors themselves, and a word's neighbours and place are unknown."""

from typing import ClassVar, Literal

from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.models.encoders.base import Encoded, Encoder, mean


class EmbeddingEncoderConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["embedding"] = "embedding"
    hidden: int | None = Field(None, gt=0)
    """Size of values, to which a matrix brings the word vectors; None leaves them as they are."""


class EmbeddingEncoder(Encoder):
    """The summary is the mean of the values, which has no order either."""

    Config: ClassVar[type[BaseModel]] = EmbeddingEncoderConfig
    one_way = True

    def __init__(self, config: EmbeddingEncoderConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.summary_size = config.hidden or input_size
        self.project = nn.Identity() if config.hidden is None else nn.Linear(input_size, config.hidden, bias=False)

    def forward(self, vectors: Tensor, mask: Tensor) -> Encoded:
        values = self.project(vectors.masked_fill(~mask[..., None], 0.0))
        return Encoded(values, mean(values, mask))
