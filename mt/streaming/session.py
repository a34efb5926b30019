"""A source that is still arriving, and as much of its translation as is certain.

session = translator.stream()
for word in "The train leaves at half past seven .".split():
    print(*session.read(word))
print(*session.finish())

What was written never changes, and depends on nothing that had not been read. Sessions know nothing of one another: many
may be open at once, and `read` and `finish` take several in one batch, with the same result.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.data.fields import TEXT
from mt.data.tokenizer import BOS, EOS, Tokenizers, Unit
from mt.errors import UserError
from mt.models.attention import NOT_YET
from mt.models.decoders import DecoderMemory, Question
from mt.models.seq2seq import Seq2Seq
from mt.search.config import OnlineConfig, WaitKConfig, waits
from mt.search.hypothesis import top_k
from mt.streaming.rows import joined, memory_row, picked
from mt.streaming.words import SourceWords, TargetWords

Event = tuple[Literal["read", "write"], str]
"""A source word that was read, or a target word that was written."""


class Setting(NamedTuple):
    """What the sessions of a batch have in common."""

    model: Seq2Seq
    tokenizers: Tokenizers
    search: OnlineConfig | WaitKConfig
    unit: Unit
    """What is read and written: words (what stands between blanks), or characters."""

    @property
    def wait(self) -> int | None:
        """k of wait-k; None where a hard attention decides when to write."""
        return waits(self.search)

    @property
    def hard(self) -> bool:
        return self.wait is None


class Session:
    """The translation of one source; `Translator.stream` makes it. With a model of characters, words are characters."""

    def __init__(self, setting: Setting) -> None:
        self.words: list[str] = []
        """What was written so far; a character has the blank before it, if there is one."""
        self.delays: list[int] = []
        """For each of these words, how many source words had been read when it was written."""
        self.events: list[Event] = []
        """What was read and written, in order."""
        self.energies = 0
        """How many monotonic energies were computed."""
        self.finished = False
        self._setting = setting
        self._words_read = self._tokens_read = self._length = 0
        self._source_words = SourceWords(setting.tokenizers.source, setting.unit)
        self._target_words = TargetWords(setting.tokenizers.target, setting.unit)
        self._prefix: list[int] = []  # for n-grams that must not come twice
        self._ended = False  # whether nothing more will be written
        self._source: tuple[DecoderMemory, Any] | None = None  # and the encoder's state
        self._question: Question | None = None  # of the next step

    @property
    def text(self) -> str:
        """The translation so far; at the end that of the whole source, as `Translator.translate` gives it."""
        return ("" if self._setting.unit == "char" else " ").join(self.words)

    def read(self, text: str) -> list[str]:
        """Reads the next word of the source (or several, in turn) and returns the words that are certain with it.

        Raises UserError where the session is finished, or the source grows longer than the model can read.
        """
        return read([self], [text])[0]

    def finish(self) -> list[str]:
        """Ends the source and returns the rest of the translation. Raises UserError where the session is finished."""
        return finish([self])[0]

    def _hear(self, word: str) -> list[int]:
        """Notes that a word is read; returns its tokens, as far as they matter."""
        ids = self._source_words.encode(word)
        length, limit = self._tokens_read + len(ids) + 1, self._setting.model.max_source_length
        if limit is not None and length > limit:
            raise UserError(
                f"a source of {length} tokens, its end included, is longer than the {limit} that this model reads: end "
                "the sentence before, and begin another"
            )
        if not word.isspace():
            self._words_read += 1
            self.events.append(("read", word))
        return [] if self._ended else ids

    def _take(self, token: int) -> None:
        """Notes the next token of the hypothesis."""
        self._length += 1
        if self._setting.search.no_repeat_ngram_size:
            self._prefix.append(token)
        self._write(self._target_words.add(token))
        if token == EOS:
            self._end()

    def _write(self, words: list[str]) -> None:
        for word in words:
            self.words.append(word)
            self.delays.append(self._words_read)
            self.events.append(("write", word))

    def _end(self) -> None:
        """Nothing more will be written, and nothing is kept for it."""
        self._write(self._target_words.end())
        self._ended, self._source, self._question = True, None, None

    def _may_go_on(self) -> bool:
        """Whether what was read allows a longer hypothesis: a runaway one waits for the source, and ends with it."""
        search, wait, read = self._setting.search, self._setting.wait, self._tokens_read
        if self._ended or self._length >= int(search.max_lengths(torch.tensor(read))):
            return False
        return wait is None or self.finished or read >= wait + self._length

    def _wait(self, question: Question) -> None:
        """Keeps the next step until more of the source has come, and of the source what steps can still use."""
        assert self._source is not None
        memory, encoder = self._source
        self._question = question
        self._source = (self._setting.model.decoder.trim(memory, question.attention_state), encoder)


def read(sessions: Sequence[Session], texts: Sequence[str]) -> list[list[str]]:
    """`Session.read` of several sessions in one batch: the words that each writes, which are those it writes alone.

    Raises UserError as there, and where sessions have no batch in common.
    """
    _refuse(sessions)
    before = [len(session.words) for session in sessions]
    split = [session._source_words.split(text) for session, text in zip(sessions, texts, strict=True)]
    for turn in zip_longest(*split):
        heard = [(session, session._hear(word)) for session, word in zip(sessions, turn, strict=True) if word]
        _go_on([(session, ids) for session, ids in heard if ids])
    return [session.words[count:] for session, count in zip(sessions, before, strict=True)]


def finish(sessions: Sequence[Session]) -> list[list[str]]:
    """`Session.finish` of several sessions in one batch. Raises UserError as `read`."""
    _refuse(sessions)
    before = [len(session.words) for session in sessions]
    # A blank source has an empty translation.
    going = [session for session in sessions if session._tokens_read and not session._ended]
    for session in sessions:
        session.finished = True
    _go_on([(session, [EOS]) for session in going])
    for session in sessions:
        session._end()
    return [session.words[count:] for session, count in zip(sessions, before, strict=True)]


def _refuse(sessions: Sequence[Session]) -> None:
    if any(session.finished for session in sessions):
        raise UserError("a session that is finished reads nothing more: begin another with translator.stream()")
    if len({id(session) for session in sessions}) < len(sessions):
        raise UserError("a session is there twice, and reads one word at a time: give each session once")
    if any(session._setting != sessions[0]._setting for session in sessions):
        raise UserError("sessions of different models or searches have no batch in common: let them read in turn")


def _go_on(heard: Sequence[tuple[Session, Sequence[int]]]) -> None:
    """Reads tokens, at least one for each session, and writes what is certain with them."""
    new = [(session, ids) for session, ids in heard if session._source is None]
    begun = [(session, ids) for session, ids in heard if session._source is not None]
    for grown in filter(None, (new, begun)):
        _grow(grown)
    _advance([session for session, _ in heard if session._may_go_on()])


@torch.no_grad()
def _grow(grown: Sequence[tuple[Session, Sequence[int]]]) -> None:
    """Encodes the next tokens, at least one, of sources that have all begun, or that all begin with them."""
    sessions, count = [session for session, _ in grown], len(grown)
    setting = sessions[0]._setting
    model, device = setting.model, next(setting.model.parameters()).device
    source, mask = TEXT.collate([np.array(ids) for _, ids in grown])
    complete = torch.tensor([session.finished for session in sessions], device=device)
    before = joined([session._source for session in sessions])
    memory, encoder = model.extend(source.to(device), mask.to(device), complete, before)
    if before is None:
        # As it is when something has been dropped, so that rows can be joined.
        first = torch.zeros(count, dtype=torch.int64, device=device)
        memory = memory._replace(attention=memory.attention._replace(first=first))
        state = model.init_state(memory, hard=setting.hard)
        question = model.decoder.ask(torch.full_like(first, BOS), state)
    for index, (session, ids) in enumerate(grown):
        session._tokens_read += len(ids)
        session._source = memory_row(memory, index), picked(encoder, [index], count, device)
        if before is None:
            session._question = picked(question, [index], count, device)


@torch.no_grad()
def _advance(active: list[Session]) -> None:
    """Takes all the steps that what was read decides."""
    if not active:
        return
    setting = active[0]._setting
    model = setting.model
    memory = joined([session._source[0] for session in active if session._source])
    memory = memory if setting.wait is None else model.wait(memory, setting.wait)
    question = joined([session._question for session in active])
    while active:
        attended = model.decoder.attention.step(
            question.query, memory.attention, question.attention_state, hard=setting.hard
        )
        question = question._replace(attention_state=attended.state)
        if setting.hard:
            for session, energies in zip(active, attended.energies.tolist(), strict=True):
                session.energies += energies
            decided = (attended.stops != NOT_YET).tolist()
            active, (memory, question, attended) = _staying(active, decided, (memory, question, attended))
        if not active:
            break
        prediction = model.decoder.answer(question, attended)
        tokens = top_k(prediction.logits, 1, _forbidden(active, prediction.logits))[1][:, 0]
        for session, token in zip(active, tokens.tolist(), strict=True):
            session._take(token)
        question = model.decoder.ask(tokens, prediction.state)
        free = [session._may_go_on() for session in active]
        active, (memory, question) = _staying(active, free, (memory, question))


def _staying(sessions: Sequence[Session], stays: Sequence[bool], trees: Any) -> tuple[list[Session], Any]:
    """The sessions that go on, and their rows of (memory, question, ...). The others keep their question."""
    memory, question = trees[:2]
    count, device = len(sessions), memory.final_state.device
    for index, (session, stay) in enumerate(zip(sessions, stays, strict=True)):
        if not (stay or session._ended):
            session._wait(picked(question, [index], count, device))
    kept = [index for index, stay in enumerate(stays) if stay]
    return [sessions[index] for index in kept], picked(trees, kept, count, device)


def _forbidden(sessions: Sequence[Session], logits: Tensor) -> Tensor | None:
    """[N, V] bool: the tokens that may not follow; see `Constraints.forbidden`."""
    constraints = sessions[0]._setting.search.constraints
    masks = [
        constraints.forbidden(one[None], torch.tensor([session._prefix], device=one.device), session._length)
        for session, one in zip(sessions, logits, strict=True)
    ]
    if all(mask is None for mask in masks):
        return None
    anything = torch.zeros_like(logits[:1], dtype=torch.bool)
    return torch.cat([anything if mask is None else mask for mask in masks])
