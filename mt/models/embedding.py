"""Word vectors."""

from pydantic import BaseModel, Field
from torch import Tensor, nn

PAD = 0
"""The id of padding. Looking it up gives zeros at first and never a gradient; no result depends on it."""


class EmbeddingConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    size: int = Field(256, gt=0)
    """Features of a word vector, on both sides (Luong et al. 2015: 1000; Bahdanau et al. 2015: 620)."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """On word vectors (Zaremba et al. 2014)."""
    tie_output: bool = True
    """Whether the output matrix is the target table (Press & Wolf 2017); needs decoder.features = embedding.size."""
    share: bool = False
    """Whether source and target have one table; needs a joint tokenizer."""


class Embedding(nn.Module):
    """A table of word vectors with dropout.

    Vectors leave with features of about unit variance, while the table's own are smaller by the square root of their
    number (Vaswani et al. 2017, section 3.4): small enough for an output matrix, large enough to be heard by what reads
    them. Without this a model takes several times as long to begin to learn.
    """

    def __init__(self, vocabulary: int, config: EmbeddingConfig) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.size = config.size
        self.table = nn.Embedding(vocabulary, config.size, padding_idx=PAD)
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.table.weight, std=config.size**-0.5)
        nn.init.zeros_(self.table.weight[PAD])

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens: [...] int64; returns [..., size]."""
        return self.dropout(self.table(tokens) * self.size**0.5)
