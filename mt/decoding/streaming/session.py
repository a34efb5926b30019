"""A source that is still arriving, and as much of its translation as is certain.

session = translator.stream()
for word in "The train leaves at half past seven .".split():
    print(*session.read(word))
print(*session.finish())"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple, Self

import numpy as np

from mt.data.fields import Field, Row
from mt.data.tokenizer import Tokenizers, Unit
from mt.decoding.delays import written_units
from mt.decoding.lexical import SourceTerms
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import SearchConfig
from mt.text_io import composed

Source = str | Iterable[str] | np.ndarray
"""What comes of one: words of a text, or samples of a sound."""
Outcomes = list[list[str] | UserError]
"""Of each session the words that it writes, or why it cannot go on."""
NextRow = Callable[[], Row | None]
"""Reads the next part of a source, or its end, and returns its positions; None of a blank source."""

# Written words never change, and depend only on what had been read before. Sessions are independent: many may be open
# at once, and `read` and `finish` take several in one batch, with the same result. For a sound, `session.read(samples)`
# takes the samples that have come, [N] int16 or floating-point numbers.


class Streaming(NamedTuple):
    """How a session translates. Sessions that read in one batch must have the same."""

    translator: Translator
    search: SearchConfig
    unit: Unit
    """Whether words, between blanks, or characters are read and written."""

    @property
    def tokenizers(self) -> Tokenizers:
        return self.translator.tokenizers

    @property
    def field(self) -> Field:
        return self.translator.field


class Session(ABC):
    """The translation of one source; `Translator.stream` makes it. With a model of characters, words are characters."""

    def __init__(self, streaming: Streaming, terms: SourceTerms | None = None) -> None:
        """terms: those of a glossary, which are looked for in the source."""
        self.streaming = streaming
        self.words: list[str] = []
        """The words that were written so far; a character has the blank before it, if there is one."""
        self.delays: list[int] = []
        """For each of these words, how many source words, or milliseconds, had been read when it was written."""
        self.draft: list[str] = []
        """The words that the model would write next, which may change; empty where it does not look ahead."""
        self.finished = False
        """Whether the source has ended."""
        self.erased = 0
        """How many words that were shown were taken back."""
        self.cut = False
        """Whether the translation reached the limit of its length, and was ended there; known once it is finished."""
        self.failure: UserError | None = None
        """Why it could not go on with what it was last given; None where it could."""
        self._terms = terms
        # The source turns words into positions.
        needed = streaming.translator.network.needed
        self._source = streaming.field.arriving(streaming.tokenizers.source, streaming.unit, needed)
        self._positions = 0
        self._placeholders: list[str] = []
        self._symbols: dict[str, str] = {}
        """The placeholder of each symbol of the vocabulary that has been read."""

    @property
    def text(self) -> str:
        """The translation so far; at the end it is the same text as that of `Translator.translate`."""
        return self.joined(self.words)

    @property
    def shown(self) -> Sequence[str]:
        """The words that a reader sees: those that are written, or of re-translation those of the draft."""
        return self.words

    @property
    @abstractmethod
    def tokens(self) -> tuple[int, ...]:
        """The ids of the tokens that were written so far."""

    @abstractmethod
    def _scored(self) -> tuple[Sequence[int], Sequence[float], Sequence[float]]:
        """Returns the ids of tokens that begin with those that were written, their log-probabilities, and the entropies
        of their attention."""

    def tokens_of_words(self) -> list[tuple[list[int], list[float], list[float]]]:
        """Returns for each word so far what `_scored` has of its tokens."""
        ids, log_probs, entropies = self._scored()
        units = written_units(self.streaming.tokenizers.target, ids, self.streaming.unit)[: len(self.words)]
        spans = [slice(*ends) for ends in pairwise([0, *(unit.tokens[-1] + 1 for unit in units)])]
        return [([*ids[span]], [*log_probs[span]], [*entropies[span]]) for span in spans]

    @property
    def source_read(self) -> int:
        """How many words of the source, or milliseconds, have been read."""
        return self._source.read

    def read(self, source: Source, tail: str = "") -> list[str]:
        """Reads the next word of the source, or several in turn, of a text or an iterable; or what has come of a sound.
        Returns the words that are certain with it.

        tail: words that follow and may still change, as a recogniser's last ones. They are part of the draft, and
        nothing that depends on them is written. A session whose encoder keeps its state leaves them out.

        Raises UserError where the session is finished, or the source grows longer than the model can read.
        """
        return read([self], [source], [tail])[0]

    def finish(self) -> list[str]:
        """Ends the source and returns the rest of the translation. Raises UserError where the session is finished."""
        return finish([self])[0]

    @classmethod
    @abstractmethod
    def _advance(cls, read_rows: Sequence[tuple[Self, Row]]) -> None:
        """Goes on with the translations of sources that have grown, or ended (`finished`) with their last positions."""

    @abstractmethod
    def _read_tail(self, tail: str) -> None:
        """Reads words that may still change, in place of those before."""

    def joined(self, words: Sequence[str]) -> str:
        """Returns the text of words, or characters."""
        return ("" if self.streaming.unit == "char" else " ").join(words)

    def _next_row(self, part: Any, tail: str) -> Row:
        """Reads a part of the source, None for none, and the tail behind it, and returns the new positions."""
        self._read_tail(tail)
        return () if part is None else self._read_part(part)

    def _read_part(self, part: Any) -> Row:
        """Reads a part of the source, and returns its positions."""
        row = self._source.row(self._masked(part))
        self._refuse_many(len(row))
        # What is refused has not been read.
        if self._terms is not None:
            self._terms.read(part)
        self._positions += len(row)
        self._source.mark_read(part)
        return row

    def _masked(self, part: Any) -> Any:
        """Returns a part of a text with symbols in place of placeholders, which it notes."""
        tokenizer = self.streaming.tokenizers.source
        if not (self.streaming.field.written and tokenizer.placeholders):
            return part
        text, self._symbols = tokenizer.found.masked(composed(part), tokenizer.placeholders, self._placeholders)
        return text

    def _end(self) -> Row | None:
        """Ends the source and returns its last positions, which may be none; None of a blank source."""
        row = self._source.rest()
        if row is not None:
            # The row of a text has its end, which is counted below.
            self._refuse_many(len(row) - self.streaming.field.written)
        self.finished = True
        if self._terms is not None:
            self._terms.end()
        return row

    def _refuse_many(self, count: int) -> None:
        """Raises UserError where so many more positions, and the end, are too long for the model."""
        network = self.streaming.translator.network
        written = self.streaming.field.written
        if network.max_source_length is None:
            return
        # The end of a text is a token.
        (length,) = network.encoded_lengths([self._positions + count + written])
        if length > network.max_source_length:
            what = f"{length} tokens, its end included," if written else f"{length} positions"
            raise UserError(
                f"a source of {what} is longer than the {network.max_source_length} that this model reads: end "
                f"{'the sentence' if written else 'it'} before, and begin another"
            )

    def _restored(self, word: str) -> str:
        """Returns a word with placeholders in place of their symbols."""
        return "".join(self._symbols.get(character, character) for character in word)

    def _write(self, words: Sequence[str]) -> None:
        self.words += [self._restored(word) for word in words]
        self.delays += [self.source_read] * len(words)


def read(sessions: Iterable[Session], sources: Iterable[Source], tails: Sequence[str] | None = None) -> list[list[str]]:
    """Does `Session.read` for several sessions in one batch, and returns the words that each writes: the same as alone.

    Raises UserError where sessions cannot share a batch, and as `Session.read` for the first that cannot go on
    (`Session.failure`); those beside it have read then.
    """
    return _words(read_each(sessions, sources, tails))


def finish(sessions: Iterable[Session]) -> list[list[str]]:
    """Does `Session.finish` for several sessions in one batch. Raises UserError as `read`."""
    return _words(finish_each(sessions))


def read_each(sessions: Iterable[Session], sources: Iterable[Source], tails: Sequence[str] | None = None) -> Outcomes:
    """Does `read`, and returns the outcome of each session. Raises UserError where sessions cannot share a batch, there
    is not a source for each, or a source or a tail is none."""
    sessions = _listed(sessions)
    sources = [*sources]
    tails = [""] * len(sessions) if tails is None else tails
    if not len(sources) == len(tails) == len(sessions):
        raise UserError(f"each session reads one source, and {len(sources)} for {len(sessions)} were given")
    # Each session reads a word of its source in turn, the last one with the tail.
    turns: list[list[NextRow]] = []
    for session, source, tail in zip(sessions, sources, tails, strict=True):
        # A tail is refused as a source is, before anything is read.
        tail = session.joined(session._source.parts(tail)) if session.streaming.field.written else tail
        # A source without a word takes one turn as well: a tail may come alone, or go.
        *others, last = [*session._source.parts(source)] or [None]
        pairs = [*((part, "") for part in others), (last, tail)]
        turns.append([partial(session._next_row, *pair) for pair in pairs])
    return _outcomes(sessions, turns)


def finish_each(sessions: Iterable[Session]) -> Outcomes:
    """Does `finish`, and returns the outcome of each session. Raises UserError where sessions cannot share a batch."""
    sessions = _listed(sessions)
    return _outcomes(sessions, [[session._end] for session in sessions])


def _outcomes(sessions: Sequence[Session], turns: Sequence[Sequence[NextRow]]) -> Outcomes:
    """Lets sessions take their turns, those of one turn in one batch, and returns the outcome of each."""
    words_before = [len(session.words) for session in sessions]
    for session in sessions:
        # A failure is of the last reading alone; the session may be given something else.
        session.failure = None
    # Sessions with fewer parts sit out the later turns.
    for turn in zip_longest(*turns):
        read_rows = []
        for session, next_row in zip(sessions, turn, strict=True):
            if next_row is None or session.failure is not None:
                continue
            try:
                row = next_row()
            except UserError as error:
                session.failure = error
                continue
            # A blank source has an empty translation.
            if row is not None:
                read_rows.append((session, row))
        if read_rows:
            type(sessions[0])._advance(read_rows)
    return [session.failure or session.words[count:] for session, count in zip(sessions, words_before, strict=True)]


def _words(found: Sequence[Any]) -> list[list[str]]:
    """Returns the words of sessions. Raises the first error."""
    for error in (outcome for outcome in found if isinstance(outcome, UserError)):
        raise error
    return [*found]


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
