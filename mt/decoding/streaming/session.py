"""A source that is still arriving, and as much of its translation as is certain.

session = translator.stream()
for word in "The train leaves at half past seven .".split():
    print(*session.read(word))
print(*session.finish())"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from mt.common.options import as_written
from mt.constraints.processor import ConstraintProcessor, TokenConstraints
from mt.data.fields import TEXT, Field, Row
from mt.data.tokenizer import Tokenizers, Unit
from mt.decoding.delays import TargetWords
from mt.decoding.lexical import SourceTerms, encoder_of, require_steerable
from mt.decoding.modes import DecodableModel, online_model, require_compatible
from mt.decoding.request import Request
from mt.decoding.streaming.stepper import StreamState, advance_streams
from mt.decoding.terms import TermStream
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig, is_online, reports_delays
from mt.search.limits import MAX_LENGTH
from mt.text_io import composed

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

# Written words never change, and depend only on what had been read before. Sessions are independent: many may be open
# at once, and `read` and `finish` take several in one batch, with the same result. For a sound, `session.read(samples)`
# takes the samples that have come, [N] int16 or floating-point numbers.


class StreamingModel(NamedTuple):
    """The model of a session. Sessions that read in one batch must have the same."""

    model: Seq2Seq
    tokenizers: Tokenizers
    search: SearchConfig
    unit: Unit
    """Whether words, between blanks, or characters are read and written."""
    field: Field = TEXT
    """The field of the sources."""


class Session:
    """The translation of one source; `Translator.stream` makes it. With a model of characters, words are characters."""

    def __init__(
        self, streaming: StreamingModel, asked: TokenConstraints | None = None, terms: SourceTerms | None = None
    ) -> None:
        self.words: list[str] = []
        """The words that were written so far; a character has the blank before it, if there is one."""
        self.delays: list[int] = []
        """For each of these words, how many source words, or milliseconds, had been read when it was written."""
        self._first = 0
        """The first token of the next word."""
        self._joined = 0
        """How many tokens were joined to words."""
        self._spans: list[slice] = []
        """The tokens of each word."""
        self.streaming = streaming
        # The state of the stream, with the processor of constraints and the writer of terms.
        self._state = StreamState(streaming.model, streaming.search, streaming.field)
        if asked is not None:
            self._state.processors.insert(0, ConstraintProcessor([asked], [MAX_LENGTH]))
        self._terms = terms
        if terms is not None:
            self._state.terms = TermStream(terms)
        # The source turns words into positions, and `TargetWords` turns tokens into words.
        needed = streaming.model.frontend.needed
        source, target, *_ = streaming.tokenizers
        self._source = streaming.field.arriving(
            source, streaming.unit, lambda vectors: int(needed(torch.tensor(vectors)))
        )
        self._positions = 0
        self._target = target
        self._placeholders: list[str] = []
        self._symbols: dict[str, str] = {}
        """The placeholder of each symbol of the vocabulary that has been read."""
        self._target_words = TargetWords(target, streaming.unit)

    @property
    def text(self) -> str:
        """The translation so far; at the end it is the same text as that of `Translator.translate`."""
        return ("" if self.streaming.unit == "char" else " ").join(self.words)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids of the tokens that were written so far."""
        return tuple(entry.token for entry in self._state.written)

    def tokens_of_words(self) -> list[tuple[list[int], list[float], list[float]]]:
        """Returns for each word so far the ids of its tokens, their log-probabilities, and the entropies of their
        attention."""
        words = [self._state.written[span] for span in self._spans]
        entropies = self._state.entropies
        return [
            ([one.token for one in word], [one.log_prob for one in word], [entropies[one.place] for one in word])
            for word in words
        ]

    @property
    def energies(self) -> int:
        """How many monotonic energies the attention computed to find its stops."""
        return self._state.looked_at

    @property
    def stored_numbers(self) -> int:
        """How many numbers are stored for the source and the state of the model, without the written words."""
        return self._state.stored_numbers

    @property
    def source_read(self) -> int:
        """How many words of the source, or milliseconds, have been read."""
        return self._source.read

    @property
    def cut(self) -> bool:
        """Whether the translation reached the limit of its length, and was ended there; known once it is finished."""
        return self._state.cut

    @property
    def finished(self) -> bool:
        """Whether the source has ended."""
        return self._state.complete

    def read(self, source: str | Iterable[str] | np.ndarray) -> list[str]:
        """Reads the next word of the source, or several in turn, of a text or an iterable; or what has come of a sound.
        Returns the words that are certain with it.

        Raises UserError where the session is finished, or the source grows longer than the model can read.
        """
        return read([self], [source])[0]

    def finish(self) -> list[str]:
        """Ends the source and returns the rest of the translation. Raises UserError where the session is finished."""
        return finish([self])[0]

    def _read_part(self, part: Any) -> Row:
        """Reads a part of the source, and returns its positions."""
        if self._terms is not None:
            self._terms.read(part)
        text = part
        tokenizer = self.streaming.tokenizers.source
        if self.streaming.field.written and tokenizer.placeholders:
            text, self._symbols = tokenizer.found.masked(composed(part), tokenizer.placeholders, self._placeholders)
        row = self._source.row(text)
        self._refuse_many(len(row))
        self._positions += len(row)
        self._source.mark_read(part)
        return row

    def _end(self) -> Row | None:
        """Ends the source and returns its last positions, which may be none; None of a blank source."""
        row = self._source.rest()
        if row is not None:
            self._refuse_many(len(row) - self.streaming.field.written)
        self._state.complete = True
        if self._terms is not None:
            self._terms.end()
        return row

    def _refuse_many(self, count: int) -> None:
        """Raises UserError where so many more positions, and the end, are too long for the model."""
        model = self.streaming.model
        written = self.streaming.field.written
        if model.max_source_length is None:
            return
        # The end of a text is a token.
        length = int(model.encoded_lengths(torch.tensor([self._positions + count + written])))
        if length > model.max_source_length:
            what = f"{length} tokens, its end included," if written else f"{length} positions"
            raise UserError(
                f"a source of {what} is longer than the {model.max_source_length} that this model reads: end "
                f"{'the sentence' if written else 'it'} before, and begin another"
            )

    def _write(self, words: list[str], end: int) -> None:
        """Writes words that end before the token of this number."""
        for word in words:
            self.words.append("".join(self._symbols.get(character, character) for character in word))
            self.delays.append(self._source.read)
            self._spans.append(slice(self._first, end))
        if words:
            self._first = end


def open_session(translator: "Translator", search: SearchConfig, unit: Unit, request: Request | None = None) -> Session:
    """Begins a session. request: what is asked of its translation. Raises UserError where the search, or the model,
    needs the whole source before it writes, and where the search cannot do what is asked."""
    model = translator.model
    require_streaming(search, model)
    asked, terms = (None, None) if request is None else encoder_of(translator).streamed(request, unit)
    if asked is not None:
        require_steerable(search, asked)
    streaming = StreamingModel(online_model(model), translator.tokenizers, search, unit, translator.field)
    return Session(streaming, asked, terms)


def require_streaming(search: SearchConfig, model: DecodableModel) -> None:
    """Raises UserError where a search, or a model that it would read, needs the whole source before it writes."""
    if not is_online(search):
        reason = "changes what it has shown" if reports_delays(search) else "reads the whole source before it writes"
        raise UserError(
            f"{as_written('search', search.name)} {reason}: choose {as_written('search', 'online')} or wait_k"
        )
    require_compatible(search, model)


def read(sessions: Iterable[Session], sources: Iterable[str | Iterable[str] | np.ndarray]) -> list[list[str]]:
    """Does `Session.read` for several sessions in one batch, and returns the words that each writes: the same as alone.

    Raises UserError as there, and where sessions cannot share a batch.
    """
    sessions = _listed(sessions)
    sources = list(sources)
    if len(sources) != len(sessions):
        raise UserError(f"each session reads one source: {len(sessions)} sessions, {len(sources)} sources were given")
    words_before = [len(session.words) for session in sessions]
    split = [session._source.parts(source) for session, source in zip(sessions, sources, strict=True)]
    for turn in zip_longest(*split):
        read_rows = [
            (session, session._read_part(part))
            for session, part in zip(sessions, turn, strict=True)
            if part is not None
        ]
        _go_on([(session, row) for session, row in read_rows if len(row)])
    return [session.words[count:] for session, count in zip(sessions, words_before, strict=True)]


def finish(sessions: Iterable[Session]) -> list[list[str]]:
    """Does `Session.finish` for several sessions in one batch. Raises UserError as `read`."""
    sessions = _listed(sessions)
    words_before = [len(session.words) for session in sessions]
    rests = [(session, session._end()) for session in sessions]
    # A blank source has an empty translation.
    _go_on([(session, row) for session, row in rests if row is not None])
    for session in sessions:
        session._state.finish()
        _write(session)
        session._write(session._target_words.end(), len(session._state.written))
    return [session.words[count:] for session, count in zip(sessions, words_before, strict=True)]


def _listed(given: Iterable[Session]) -> list[Session]:
    """Returns sessions as a list. Raises UserError for anything else, and where they cannot read in one batch."""
    sessions = list(given) if isinstance(given, Iterable) else []
    strange: list[object] = [entry for entry in sessions if not isinstance(entry, Session)]
    if not isinstance(given, Iterable) or strange:
        kind = type(strange[0] if strange else given).__name__
        raise UserError(f"sessions are a list of what translator.stream() returns, and this is of type {kind}")
    if any(session.finished for session in sessions):
        raise UserError("a session that is finished reads nothing more: begin another with translator.stream()")
    if len({id(session) for session in sessions}) < len(sessions):
        raise UserError("a session is there twice, and reads one word at a time: give each session once")
    if any(session.streaming != sessions[0].streaming for session in sessions):
        raise UserError("sessions of different models or searches have no batch in common: let them read in turn")
    return sessions


def _go_on(read_rows: Sequence[tuple[Session, Row]]) -> None:
    """Reads positions, and writes the words that become certain. Sessions whose hypothesis has ended are left out."""
    grown = [(session, row) for session, row in read_rows if not session._state.ended]
    advance_streams([(session._state, row) for session, row in grown])
    for session, _ in grown:
        _write(session)


def _write(session: Session) -> None:
    """Writes the words of all certain tokens."""
    written = session._state.written
    for place in range(session._joined, len(written)):
        # A character is known with its token, a word with the one that follows it.
        end = place + (session.streaming.unit == "char")
        session._write(session._target_words.add(written[place].token), end)
    session._joined = len(written)
