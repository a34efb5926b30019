"""Word vectors: the decoder's input (`Embedding`), and the front-end of text (`WordVectors`), perhaps of one table."""

from typing import Annotated, Literal

from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.models.frontends.base import Frontend, FrontendState, Mask
from mt.step import PAD


class EmbeddingConfig(Options):
    embedding_dim: Annotated[int, "units"] = Field(256, gt=0, le=MAX_SIZE)
    """Size of a word vector, on both sides (Luong et al. 2015: 1000; Bahdanau et al. 2015: 620)."""
    dropout: Annotated[float, "share"] = Field(0.3, ge=0, lt=1)
    """Dropout on word vectors (Zaremba et al. 2014)."""
    word_dropout: Annotated[float, "share"] = Field(0.0, ge=0, lt=1)
    """Share of the words whose whole vectors are zeroed in training, on both sides (Gal & Ghahramani 2016): for little
    data, 0.1 to 0.3 (Sennrich & Zhang 2019). Each position is drawn by itself, as in Nematus, which these measured."""
    tie_output: bool = True
    """Whether the output matrix is the target table (Press & Wolf 2017); needs decoder.readout_size =
    embedding.embedding_dim."""
    share: bool = False
    """Whether source and target have one table; needs a joint tokenizer."""
    pretrained: str | None = Field(None, min_length=1, max_length=4000)
    """A text file of word vectors, as of GloVe or word2vec, from which the tables of both sides start (Qi et al. 2018).
    A run that starts from another (`init_from`) does not read it. See `mt.training.initialisation`."""
    pretrained_source: str | None = Field(None, min_length=1, max_length=4000)
    """The same for the source alone, in place of `pretrained`."""
    pretrained_target: str | None = Field(None, min_length=1, max_length=4000)
    """The same for the target alone, in place of `pretrained`."""

    @model_validator(mode="after")
    def _one_file_for_one_table(self) -> "EmbeddingConfig":
        if self.share and (self.pretrained_source or self.pretrained_target):
            raise UserError(
                "embedding.share=true makes one table of two, and embedding.pretrained_source and pretrained_target "
                "are of two: set embedding.pretrained, or embedding.share=false"
            )
        return self


class WordVectorsConfig(Options):
    """The front-end of text. Its options are `embedding`, which the target shares."""

    name: Literal["embedding"] = "embedding"


class Embedding(nn.Module):
    """A table of word vectors with dropout.

    Vectors leave with about unit variance, while the table's own are smaller by the square root of their size (Vaswani
    et al. 2017, section 3.4). So they suit an output matrix and the next layer alike. Without this a model takes
    several times as long to begin to learn.
    """

    def __init__(self, config: EmbeddingConfig, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.output_size = config.embedding_dim
        self.table = nn.Embedding(vocab_size, config.embedding_dim, padding_idx=PAD)
        # Dropout1d takes positions for channels, so that it zeroes whole vectors.
        self.dropout = nn.Sequential(nn.Dropout1d(config.word_dropout), nn.Dropout(config.dropout))
        nn.init.normal_(self.table.weight, std=config.embedding_dim**-0.5)
        nn.init.zeros_(self.table.weight[PAD])  # which never gets a gradient, and no result depends on

    def forward(self, source: Int[Tensor, "*positions"]) -> Float[Tensor, "*positions D"]:
        """source: ids of tokens."""
        return vectors(self.table, self.dropout, source)


class WordVectors(Frontend):
    """The front-end of text: a table of word vectors, which may be the target's own."""

    Config = WordVectorsConfig
    field = "text"
    incremental = True

    def __init__(self, embedding: Embedding) -> None:
        super().__init__()
        self.output_size = embedding.output_size
        self.table = embedding.table
        self.dropout = embedding.dropout

    def forward(self, source: Int[Tensor, "B S"], mask: Mask) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
        return vectors(self.table, self.dropout, source), mask

    def extend(
        self, source: Int[Tensor, "B S"], mask: Mask, complete: Bool[Tensor, " B"], state: FrontendState | None = None
    ) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"], FrontendState]:
        return *self(source, mask), ()


def vectors(table: nn.Embedding, dropout: nn.Module, ids: Int[Tensor, "*positions"]) -> Float[Tensor, "*positions D"]:
    """Returns the vectors of tokens, of about unit variance: see `Embedding`."""
    scaled = table(ids) * table.embedding_dim**0.5  # [*positions, D]
    # In a stream, which makes single steps, three modules that do nothing take a noticeable time.
    return dropout(scaled) if dropout.training else scaled
