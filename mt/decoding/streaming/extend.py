"""Sessions whose hypothesis goes on token by token, while an encoder that reads from left to right keeps its state."""

from collections.abc import Sequence
from typing import Self

from mt.constraints.processor import ConstraintProcessor, TokenConstraints, nothing_found
from mt.data.fields import Row
from mt.decoding.delays import TargetWords
from mt.decoding.lexical import SourceTerms
from mt.decoding.modes import online_model
from mt.decoding.streaming.session import Session, Streaming
from mt.decoding.streaming.stepper import StreamState, advance_streams
from mt.decoding.terms import TermStream
from mt.search.options import MAX_LENGTH


class ExtendedSession(Session):
    """A session for online search and wait-k, with a model that can; its work is linear in the source."""

    def __init__(
        self, streaming: Streaming, asked: TokenConstraints | None = None, terms: SourceTerms | None = None
    ) -> None:
        super().__init__(streaming, terms)
        self._read_tokens = 0
        """How many tokens were joined to words."""
        # The state of the stream, with the processor of constraints and the writer of terms.
        self._state = StreamState(online_model(streaming.translator.model), streaming.search, streaming.field)
        self._name = "the stream" if asked is None else asked.name
        if asked is not None:
            # The limit of length grows with the source, so that none is known yet.
            self._state.processors.insert(0, ConstraintProcessor([asked], [MAX_LENGTH]))
        if terms is not None:
            self._state.terms = TermStream(terms)
        self._target_words = TargetWords(streaming.tokenizers.target, streaming.unit)

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(entry.token for entry in self._state.written)

    def _scored(self) -> tuple[Sequence[int], Sequence[float], Sequence[float]]:
        written = self._state.written
        entropies = [self._state.entropies[entry.place] for entry in written]
        return self.tokens, [entry.log_prob for entry in written], entropies

    @property
    def energies(self) -> int:
        """How many monotonic energies the attention computed to find its stops."""
        return self._state.looked_at

    @property
    def stored_numbers(self) -> int:
        """How many numbers are stored for the source and the state of the model, without the written words."""
        return self._state.stored_numbers

    def _read_tail(self, tail: str) -> None:
        """Does nothing: a state that has read words cannot forget them."""

    @classmethod
    def _advance(cls, read_rows: Sequence[tuple[Self, Row]]) -> None:
        # Sessions whose hypothesis has ended are left out.
        ended = [session for session, _ in read_rows if session.finished]
        for session in ended:
            session._state.complete = True
        grown = [
            (session, row) for session, row in read_rows if (len(row) or session.finished) and not session._state.ended
        ]
        advance_streams([(session._state, row) for session, row in grown])
        for session, _ in grown:
            session._write_certain()
            # A greedy search cannot go on where all tokens are forbidden.
            if session._state.stuck:
                session.failure = nothing_found(session._name)
        for session in ended:
            # A stream that is stuck has no end to write.
            if session.failure is None:
                session._finish()

    def _finish(self) -> None:
        """Writes what is left when the source has ended."""
        self._state.finish()
        self._write_certain()
        self._write(self._target_words.end())
        self.cut = self._state.cut

    def _write_certain(self) -> None:
        """Writes the words of all certain tokens."""
        written = self._state.written
        for entry in written[self._read_tokens :]:
            self._write(self._target_words.add(entry.token))
        self._read_tokens = len(written)
