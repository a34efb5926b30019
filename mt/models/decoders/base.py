"""The verbs of a decoder: those of attention, one floor up, with the same law."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel
from torch import Tensor, nn

from mt.errors import UserError
from mt.models.attention import Attention, AttentionOutput, Memory
from mt.models.decoders.recurrence import Recurrence, RecurrenceConfig
from mt.models.encoders import Encoded
from mt.models.frontends import Embedding


class DecoderMemory(NamedTuple):
    """A source as a decoder sees it."""

    attention: Memory
    final_state: Tensor
    """[B, U], the encoder's."""


class Prediction(NamedTuple):
    """What one step says of the next token."""

    logits: Tensor
    """[B, vocabulary]"""
    weights: Tensor
    """[B, S], float32: the attention of this step."""
    stops: Tensor | None
    """[B] int64: see `AttentionStep.stops`."""
    state: tuple[Any, ...]
    """Nested tuples of batch-first tensors."""


class Decoder(nn.Module):
    """A language model conditioned on a source. Law: `forward` equals `step` in a loop.

    Constructed as `Class(config, embedding, attention, value_size=..., final_state_size=..., tied=...)`; `tied` makes
    the output matrix the embedding table (Press & Wolf 2017).
    """

    Config: ClassVar[type[BaseModel]]

    def __init__(
        self,
        config: RecurrenceConfig,
        embedding: Embedding,
        attention: Attention,
        *,
        value_size: int,
        final_state_size: int,
        tied: bool,
    ) -> None:
        super().__init__()
        if tied and config.readout_size != embedding.output_size:
            raise UserError(
                f"embedding.tie_output makes the output matrix the embedding table, but decoder.readout_size is "
                f"{config.readout_size} and embedding.embedding_dim is {embedding.output_size}: make them equal or set "
                f"embedding.tie_output=false"
            )
        self.embedding = embedding
        self.attention = attention
        input_size = embedding.output_size + self.fed_size(config, value_size)
        self.recurrence = Recurrence(config, input_size, final_state_size)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.readout_size, embedding.vocab_size)
        """Turns readouts [..., F] into logits [..., vocabulary]."""
        if tied:
            self.output.weight = embedding.table.weight

    @abstractmethod
    def fed_size(self, config: Any, value_size: int) -> int:
        """Size of what joins the word vector at the input of the recurrence."""

    @property
    def needs_full_source(self) -> bool:
        """Whether the first state depends on the whole source."""
        return self.recurrence.needs_full_source

    def init_memory(self, encoded: Encoded) -> DecoderMemory:
        """What of the source every step needs, once per source."""
        return DecoderMemory(self.attention.init_memory(encoded), encoded.final_state)

    def extend(self, memory: DecoderMemory, encoded: Encoded, complete: Tensor) -> DecoderMemory:
        """The memory of sources that have grown; see `Attention.extend`."""
        return DecoderMemory(self.attention.extend(memory.attention, encoded, complete), encoded.final_state)

    @abstractmethod
    def init_state(self, memory: DecoderMemory) -> Any:
        """The state before the first token: nested tuples of batch-first tensors."""

    @abstractmethod
    def step(self, tokens: Tensor, memory: DecoderMemory, state: Any, *, hard: bool = False) -> Prediction:
        """tokens: [B] int64, the previous token of each target (BOS first)."""

    @abstractmethod
    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, AttentionOutput]:
        """All steps under teacher forcing. tokens: [B, T], BOS first. Returns readouts [B, T, F] and the attention."""
