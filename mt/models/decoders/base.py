"""The verbs of a decoder: those of attention, one floor up, with the same law."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel
from torch import Tensor, nn

from mt.models.attention import Memory
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
    output: nn.Linear
    """Turns features [..., F] into logits [..., vocabulary]."""
    reads_ahead: bool
    """Whether the first state depends on the whole source."""

    @abstractmethod
    def remember(self, encoded: Encoded, mask: Tensor) -> DecoderMemory:
        """What of the source every step needs, once per source."""

    @abstractmethod
    def start(self, memory: DecoderMemory) -> Any:
        """The state before the first token: nested tuples of batch-first tensors."""

    @abstractmethod
    def step(self, tokens: Tensor, memory: DecoderMemory, state: Any, *, hard: bool = False) -> Prediction:
        """tokens: [B] int64, the tokens just written (BOS first)."""

    @abstractmethod
    def forward(self, tokens: Tensor, memory: DecoderMemory, *, hard: bool = False) -> tuple[Tensor, Tensor]:
        """All steps under teacher forcing. tokens: [B, T], BOS first. Returns features [B, T, F], weights [B, T, S]."""
