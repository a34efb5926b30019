"""How far a source that is still arriving and its hypothesis have come, with what the model keeps of both."""

from typing import Any

from mt.data.fields import TEXT, Field
from mt.data.tokenizer import EOS
from mt.models.decoders import DecoderMemory, DecoderQuery
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig, waits
from mt.trees import stored_numbers

TRIMMED_EVERY = 16
"""Vectors from one time that what is no longer needed of a source is dropped to the next."""


class StreamState:
    """How far one source and its hypothesis have come, in tokens and in vectors of the front-end, which of text are
    tokens, too."""

    def __init__(self, model: Seq2Seq, search: SearchConfig, field: Field = TEXT) -> None:
        """field: of the source."""
        self.model = model
        self.search = search
        self.field = field
        self.wait = waits(search)
        """k of wait-k; None where a hard attention decides when to write."""
        self.complete = False
        """Whether the source has ended."""
        self.ended = False
        """Whether the hypothesis has ended."""
        self.cut = False
        """Whether its limit ended it; known when the source has ended."""
        self.read = self.energies = 0
        """Vectors of the source that were read, and monotonic energies that were computed."""
        self.trimmed = 0
        """Vectors that were read when something was last dropped."""
        self.tokens: list[int] = []
        """The hypothesis."""
        self.source: tuple[DecoderMemory, Any] | None = None
        """A memory of one row, and the state of front-end and encoder; None before the first position."""
        self.query: DecoderQuery | None = None
        """The query of the next step, which waits for more of the source; None where no step waits."""

    def may_go_on(self) -> bool:
        """Returns whether what was read allows a longer hypothesis: a runaway one waits for the source, and ends with
        it."""
        if self.ended or len(self.tokens) >= self.search.longest(self.read):
            return False
        return self.wait is None or self.complete or self.read >= self.wait + len(self.tokens)

    def take(self, token: int) -> None:
        """Adds the next token to the hypothesis."""
        self.tokens.append(token)
        if token == EOS:
            self.end()

    def wait_with(self, query: DecoderQuery) -> None:
        """Stores a query until more of the source has come, and from time to time drops of the source what no later
        step can use."""
        assert self.source is not None
        self.query = query
        if self.read - self.trimmed >= TRIMMED_EVERY:
            memory, encoder = self.source
            self.source = self.model.decoder.trim(memory, query.attention_state), encoder
            self.trimmed = self.read

    @property
    def stored_numbers(self) -> int:
        """How many numbers are stored of the source, and for the next step."""
        return stored_numbers((self.source, self.query))

    def finish(self) -> None:
        """Ends the hypothesis after the last step: one that has not ended was cut by its limit."""
        self.cut = len(self.tokens) > 0 and not self.ended
        self.end()

    def end(self) -> None:
        """Ends the hypothesis, and drops what was stored for it."""
        self.ended = True
        self.source = None
        self.query = None
