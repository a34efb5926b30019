"""A source that is still arriving, and as much of its translation as is certain.

session = translator.stream()
for word in "The train leaves at half past seven .".split():
    print(*session.read(word))
print(*session.finish())

What was written never changes, and depends on nothing that had not been read. Sessions know nothing of one another:
many may be open at once, and `read` and `finish` take several in one batch, with the same result.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

from mt.data.tokenizer import EOS
from mt.errors import UserError
from mt.streaming.progress import Progress, Setting, go_on
from mt.streaming.words import SourceWords, TargetWords

Event = tuple[Literal["read", "write"], str]
"""A source word that was read, or a target word that was written."""


class Session:
    """The translation of one source; `Translator.stream` makes it. With a model of characters, words are characters."""

    def __init__(self, setting: Setting) -> None:
        self.words: list[str] = []
        """What was written so far; a character has the blank before it, if there is one."""
        self.delays: list[int] = []
        """For each of these words, how many source words had been read when it was written."""
        self.events: list[Event] = []
        """What was read and written, in order."""
        self._setting = setting
        self._progress = Progress(setting)
        self._words_read = 0
        self._source_words = SourceWords(setting.tokenizers.source, setting.unit)
        self._target_words = TargetWords(setting.tokenizers.target, setting.unit)

    @property
    def text(self) -> str:
        """The translation so far; at the end that of the whole source, as `Translator.translate` gives it."""
        return ("" if self._setting.unit == "char" else " ").join(self.words)

    @property
    def energies(self) -> int:
        """How many monotonic energies were computed."""
        return self._progress.energies

    @property
    def finished(self) -> bool:
        """Whether the source has ended."""
        return self._progress.complete

    def read(self, text: str) -> list[str]:
        """Reads the next word of the source (or several, in turn) and returns the words that are certain with it.

        Raises UserError where the session is finished, or the source grows longer than the model can read.
        """
        return read([self], [text])[0]

    def finish(self) -> list[str]:
        """Ends the source and returns the rest of the translation. Raises UserError where the session is finished."""
        return finish([self])[0]

    def _hear(self, word: str) -> list[int]:
        """Notes that a word is read, and returns its tokens."""
        ids = self._source_words.encode(word)
        length, limit = self._progress.read + len(ids) + 1, self._setting.model.max_source_length
        if limit is not None and length > limit:
            raise UserError(
                f"a source of {length} tokens, its end included, is longer than the {limit} that this model reads: end "
                "the sentence before, and begin another"
            )
        if not word.isspace():
            self._words_read += 1
            self.events.append(("read", word))
        return ids

    def _write(self, words: list[str]) -> None:
        for word in words:
            self.words.append(word)
            self.delays.append(self._words_read)
            self.events.append(("write", word))


def read(sessions: Sequence[Session], texts: Sequence[str]) -> list[list[str]]:
    """`Session.read` of several sessions in one batch: the words that each writes, which are those it writes alone.

    Raises UserError as there, and where sessions have no batch in common.
    """
    _refuse(sessions)
    before = [len(session.words) for session in sessions]
    split = [session._source_words.split(text) for session, text in zip(sessions, texts, strict=True)]
    for turn in zip_longest(*split):
        _go_on([(session, session._hear(word)) for session, word in zip(sessions, turn, strict=True) if word])
    return [session.words[count:] for session, count in zip(sessions, before, strict=True)]


def finish(sessions: Sequence[Session]) -> list[list[str]]:
    """`Session.finish` of several sessions in one batch. Raises UserError as `read`."""
    _refuse(sessions)
    before = [len(session.words) for session in sessions]
    for session in sessions:
        session._progress.complete = True
    # A blank source has an empty translation.
    _go_on([(session, [EOS]) for session in sessions if session._progress.read])
    for session in sessions:
        session._write(session._target_words.end())
        session._progress.end()
    return [session.words[count:] for session, count in zip(sessions, before, strict=True)]


def _refuse(sessions: Sequence[Session]) -> None:
    if any(session.finished for session in sessions):
        raise UserError("a session that is finished reads nothing more: begin another with translator.stream()")
    if len({id(session) for session in sessions}) < len(sessions):
        raise UserError("a session is there twice, and reads one word at a time: give each session once")
    if any(session._setting != sessions[0]._setting for session in sessions):
        raise UserError("sessions of different models or searches have no batch in common: let them read in turn")


def _go_on(heard: Sequence[tuple[Session, list[int]]]) -> None:
    """Reads tokens, and writes the words that are certain with them. What follows the end of a hypothesis is left."""
    grown = [(session, ids) for session, ids in heard if ids and not session._progress.ended]
    found = go_on([(session._progress, ids) for session, ids in grown])
    for (session, _), tokens in zip(grown, found, strict=True):
        for token in tokens:
            session._write(session._target_words.add(token))
