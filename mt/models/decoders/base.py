"""The verbs of a decoder: those of attention, one floor up, with the same law."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel
from torch import Tensor, nn

from mt.errors import UserError
from mt.models.attention import Attention, Memory, Reads
from mt.models.decoders.recurrence import Recurrence, RecurrenceConfig
from mt.models.embedding import Embedding
from mt.models.encoders import Encoded


class DecoderMemory(NamedTuple):
    """A source sentence as a decoder sees it."""

    attention: Memory
    summary: Tensor


class Prediction(NamedTuple):
    """What one step says of the next token."""

    logits: Tensor
    """[B, vocabulary]"""
    weights: Tensor
    """[B, S], float32: the attention of this step."""
    stops: Tensor | None
    """[B] int64: where a hard attention stopped, S where nowhere; None where it is soft."""
    state: tuple[Any, ...]
    """Nested tuples of batch-first tensors."""


class Decoder(nn.Module):
    """A language model that looks at a source. Law: `forward` equals `step` in a loop.

    Constructed as `Class(config, embedding, attention, value_size=..., summary_size=..., tied=...)`; `tied` makes the
    output matrix the embedding table (Press & Wolf 2017).
    """

    Config: ClassVar[type[BaseModel]]

    def __init__(
        self,
        config: RecurrenceConfig,
        embedding: Embedding,
        attention: Attention,
        *,
        value_size: int,
        summary_size: int,
        tied: bool,
    ) -> None:
        super().__init__()
        if tied and config.features != embedding.size:
            raise UserError(
                f"embedding.tie_output makes the output matrix the embedding table, but decoder.features is "
                f"{config.features} and embedding.size is {embedding.size}: make them equal or set "
                f"embedding.tie_output=false"
            )
        self.embedding = embedding
        self.attention = attention
        self.recurrence = Recurrence(config, embedding.size + self.fed_size(config, value_size), summary_size)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.features, embedding.vocabulary)
        """Turns features [..., F] into logits [..., vocabulary]."""
        if tied:
            self.output.weight = embedding.table.weight

    @abstractmethod
    def fed_size(self, config: Any, value_size: int) -> int:
        """Features that join the word vector at the input of the recurrence."""

    @property
    def reads_ahead(self) -> bool:
        """Whether the first state depends on the whole source."""
        return self.recurrence.reads_ahead

    def remember(self, encoded: Encoded, mask: Tensor) -> DecoderMemory:
        """What of the source every step needs, once per source."""
        compared = encoded.values if encoded.compared is None else encoded.compared
        memory = self.attention.remember(compared, mask)
        return DecoderMemory(memory._replace(values=encoded.values), encoded.summary)

    @abstractmethod
    def start(self, memory: DecoderMemory) -> Any:
        """The state before the first token: nested tuples of batch-first tensors."""

    @abstractmethod
    def step(self, tokens: Tensor, memory: DecoderMemory, state: Any, *, hard: bool = False) -> Prediction:
        """tokens: [B] int64, the tokens just written (BOS first)."""

    @abstractmethod
    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, Reads]:
        """All steps under teacher forcing. tokens: [B, T], BOS first. Returns features [B, T, F] and what was read."""
