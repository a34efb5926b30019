"""Sessions that translate all that has come anew, and write what their policy allows: any model, any beam.

What was written is forced, and the search goes on from there. Re-translation is the policy that writes nothing before
the source ends; a reader sees its drafts. At last come sources that are there as a whole (`simulated`).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np

from mt.common.batches import each
from mt.common.terminal import Bar
from mt.data.fields import Raw, Row
from mt.data.tokenizer import EOS, Unit
from mt.decoding.confidence import entropies_of
from mt.decoding.delays import written_units
from mt.decoding.lexical import SourceTerms, encoder_of, require_steerable
from mt.decoding.network import refuse_long_rows
from mt.decoding.request import Request
from mt.decoding.streaming.session import Session, Streaming
from mt.decoding.translation import Timing, Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.metrics.latency import erased, finalised
from mt.search.config import SearchConfig
from mt.search.hypothesis import EMPTY
from mt.search.policies import Draft
from mt.text_io import is_blank

_DRAFTS = 100
"""How many drafts are kept, for policies that compare them."""


class RedraftedSession(Session):
    """A session that drafts with each `pace` words of its source."""

    def __init__(self, streaming: Streaming, request: Request, terms: SourceTerms | None = None) -> None:
        """request: what is asked of the translation."""
        super().__init__(streaming, terms)
        self._request = request
        # The source: rows of its parts, the parts of a text, and the words that may still change.
        self._rows: list[Row] = []
        self._texts: list[str] = []
        self._tail = ""
        # The hypothesis.
        self._tokens: tuple[int, ...] = ()
        self._drafts: deque[tuple[int, ...]] = deque(maxlen=_DRAFTS)
        self._drafted = 0, ""
        """How many parts the last draft had, and which tail."""
        self._shown: Sequence[str] = ()
        self.translation: Translation | None = None
        """The last draft; at the end it is the translation."""

    @property
    def tokens(self) -> tuple[int, ...]:
        return self._tokens

    @property
    def shown(self) -> Sequence[str]:
        return self._shown

    def _scored(self) -> tuple[Sequence[int], Sequence[float], Sequence[float]]:
        if self.translation is None:
            return (), (), ()
        return self.translation.ids, self.translation.log_probs, entropies_of(self.translation.alignment)

    def _read_tail(self, tail: str) -> None:
        if tail and not self.streaming.field.written:
            raise UserError("a tail is of words that a recogniser may still correct, and this model reads none")
        self._tail = "" if is_blank(tail) else tail

    def _read_part(self, part: Any) -> Row:
        row = super()._read_part(part)
        if self.streaming.field.written:
            self._texts.append(part)
        return row

    @classmethod
    def _advance(cls, read_rows: Sequence[tuple[Self, Row]]) -> None:
        due = []
        for session, row in read_rows:
            # Drafts have an end of their own, so that of a text is not one of its parts.
            part = row[:-1] if session.finished and session.streaming.field.written else row
            if session._grow(part):
                due.append(session)
        if due:
            cls.redraft(due)

    def _grow(self, row: Row) -> bool:
        """Adds the next positions of the source, and returns whether it is time for a draft. It is not where nothing
        has come since the last draft, which would only agree with itself. At the end that draft is written as it is."""
        if len(row):
            self._rows.append(row)
        if self.finished:
            self._tail = ""
        # A tail came first, and was taken back.
        if not (self._rows or self._tail or self.finished):
            self._forget()
        # The source is that of the last draft.
        if self.translation is not None and self._drafted == (len(self._rows), self._tail):
            if self.finished:
                self._consider(self.translation)
            return False
        # There is something new; a tail that changes is drafted at once, whatever the pace.
        count, tail = self._drafted
        return self.finished or self._tail != tail or len(self._rows) - count >= self.streaming.search.pace

    def _end(self) -> Row | None:
        row = super()._end()
        if row is None:
            self._forget()
        return row

    def _forget(self) -> None:
        """Takes back the draft of a tail that was removed before any word was read: the source is empty again."""
        self._drafted = 0, ""
        self.translation = None
        self.draft = []
        self._show(())

    def _show(self, words: Sequence[str]) -> None:
        self.erased += erased(self._shown, words)
        self._shown = [*words]

    @classmethod
    def redraft(cls, sessions: Sequence[Self]) -> None:
        """Drafts the translations of some sessions in one batch, and writes what is certain, or notes why a session
        has none."""
        for session, best in zip(sessions, each(cls._best, sessions, UserError), strict=True):
            if isinstance(best, UserError):
                session.failure = best
            else:
                session._consider(best)

    @classmethod
    def _best(cls, sessions: Sequence[Self]) -> list[Translation]:
        """Returns drafts of the translations of some sessions. Raises UserError where one has none."""
        translator, search, unit = sessions[0].streaming
        rows, texts = zip(*(session._source_so_far() for session in sessions), strict=True)
        requests = [session._request._replace(tokens=session._tokens, stream=unit) for session in sessions]
        found = translator.decode(rows, search.drafting, texts=texts, requests=requests)
        return [best for best, *_ in found]

    def _source_so_far(self) -> tuple[Row, Raw]:
        """Returns the row of what has come, and its text, or for a sound the row again."""
        translator = self.streaming.translator
        if not translator.field.written:
            sound = np.concatenate(self._rows)
            return sound, sound
        # A draft ends a text, whether it has come to its end or not.
        row = [*chain.from_iterable(self._rows)]
        if not self._tail:
            return [*row, EOS], self.joined(self._texts)
        tail = translator.tokenizers.source.encode([self._tail])[0]
        return [*row, *tail], self.joined([*self._texts, self._tail])

    def _consider(self, best: Translation) -> None:
        """Writes the words of a draft that its policy allows."""
        search = self.streaming.search
        self._drafted = len(self._rows), self._tail
        self.translation = best
        # Whole words alone are written, and all where the source has ended.
        tokens = best.ids
        words = written_units(self.streaming.tokenizers.target, tokens, self.streaming.unit)
        allowed = search.writes(self._draft(best))
        # With how many tokens it is known that a word ends there. A last word without EOS may go on.
        known = [
            len(tokens) + 1 if word.last is None else word.tokens[-1] + 1 if search.looks_ahead else word.last + 1
            for word in words
        ]
        # What is written stays, whatever a policy says of a later draft.
        count = len(words) if self.finished else max(len(self.words), sum(end <= allowed for end in known))
        self._write([word.text for word in words[len(self.words) : count]])
        if self.finished:
            self._tokens = tokens
        elif count:
            self._tokens = tokens[: words[count - 1].tokens[-1] + 1]
        self.draft = [self._restored(word.text) for word in words[count:]]
        self._drafts.append(tokens)
        self.cut = self.finished and best.cut
        self._show(self.words if self.finished else search.shown(self.words, [*self.words, *self.draft]))

    def _draft(self, best: Translation) -> Draft:
        """Returns a hypothesis as a policy sees it."""
        translator = self.streaming.translator
        # Without the position of EOS, on which attention rests that has nowhere to go.
        positions = len(best.source_tokens) - translator.field.written
        words = [len(row) for row in self._rows] if translator.field.written else None
        read = positions if words is None else sum(words)
        # What a position will be translated to is not known while it may become part of a term.
        if self._terms is not None and not self.finished:
            read = min(read, len(self._terms.certain))
        return Draft(
            tokens=best.ids,
            weights=best.windows.dense(positions),
            log_probs=best.log_probs,
            stops=best.stops,
            written=len(self._tokens),
            read=read,
            complete=self.finished,
            earlier=[*self._drafts],
            words=words,
            closing=encoder_of(translator).spelling.closing,
        )


# Sources that are there as a whole, translated as if they arrived: for the scores of policies that redraft.

TOGETHER = 256
"""How many sources arrive side by side."""


def simulated(
    translator: Translator,
    rows: Sequence[Row],
    search: SearchConfig,
    texts: Sequence[Raw] | None = None,
    requests: Sequence[Request] | None = None,
    *,
    progress: bool = False,
) -> list[list[Translation]]:
    """Returns the translation of each source as a session writes it, with delays. The delay of a word is how much of
    the source had come when it, and all words before it, no longer changed; the end comes with the last word.

    rows, texts, requests: see `Translator.decode`. Raises UserError as that.
    """
    # A draft by a beam would write a phrase whose words may not have come, so phrases are refused before any draft.
    for request in requests or ():
        if request.lexical.constraints and (tokens := encoder_of(translator).encoded(request._replace(glossary=None))):
            require_steerable(search, tokens)
    given: Sequence[Any] = texts or [None] * len(rows)
    asked: Sequence[Any] = requests or [None] * len(rows)
    refuse_long_rows(translator.network, translator.field, rows, range(len(rows)))
    results: list[list[Translation]] = []
    with Bar("decoding", len(rows), "sentences", leave=False, shown=progress) as bar:
        for begin in range(0, len(rows), TOGETHER):
            # Sources arrive side by side: each turn brings one part of each, and drafts them in one batch.
            columns = (column[begin : begin + TOGETHER] for column in (rows, given, asked))
            sessions = [_Simulated(translator, search, *source) for source in zip(*columns, strict=True)]
            for turn in range(max(len(session.counts) for session in sessions)):
                if due := [session for session in sessions if session.comes(turn)]:
                    # A source that has no translation ends them all.
                    for session, best in zip(due, _Simulated._best(due), strict=True):
                        session._consider(best)
                for session in sessions:
                    session.note(turn)
            results += [[session.result()] for session in sessions]
            bar.update(len(sessions))
    return results


class _Simulated(RedraftedSession):
    """A session whose source is there as a whole, and what it has shown after each part."""

    def __init__(
        self, translator: Translator, search: SearchConfig, row: Row, source: Raw | None, request: Request | None
    ) -> None:
        # Latency counts characters or words, and so the session writes these.
        unit: Unit = "char" if translator.config.dataset.latency_unit == "char" else "word"
        request = request or Request("a source")
        terms = None if request.glossary is None else encoder_of(translator).source_terms(request.glossary)
        super().__init__(Streaming(translator, search, unit), request, terms)
        self._row = row
        self._updates: list[str] = []
        self._texts_of_parts: list[str] = []
        # How many positions each part has: a word, or in a sound what one vector of the front-end needs.
        field = translator.field
        tokenizer = translator.tokenizers.source
        described = field.describe(row, len(row), tokenizer, translator.link_units[0], source)
        if field.written:
            text = tokenizer.decode([*map(int, row)]) if source is None else str(source)
            self._texts_of_parts = text.split()
            self.counts = [] if field.blank(row) else [int(count) for count in described.arrivals()]
            self._times = [*range(len(self.counts) + 1)]
        else:
            self.counts = [len(part) for part in self._source.parts(np.asarray(row).reshape(-1))]
            # What is left at the end makes a last, shorter part.
            rest = len(row) - sum(self.counts)
            self.counts += [rest] if rest else []
            self._times = [*accumulate((described.part * count for count in self.counts), initial=0)]
        self._ends = [*accumulate(self.counts)]

    def comes(self, turn: int) -> bool:
        """Lets the part of this number come, and returns whether it is time for a draft."""
        if turn >= len(self.counts):
            return False
        # The end comes with the last part. A placeholder with blanks is one part of several words.
        self.finished = turn + 1 == len(self.counts)
        words = self._texts_of_parts[turn:] if self.finished else self._texts_of_parts[turn : turn + 1]
        for word in words:
            if self._terms is not None:
                self._terms.read(word)
            self._masked(word)
        self._texts += words
        self._source.read = self._times[turn + 1]
        if self.finished and self._terms is not None:
            self._terms.end()
        return self._grow(self._row[self._ends[turn] - self.counts[turn] : self._ends[turn]])

    def note(self, turn: int) -> None:
        """Notes what is shown after the part of this number."""
        if turn < len(self.counts):
            self._updates.append(self.joined(self.shown))

    def result(self) -> Translation:
        """Returns the translation, with delays if there is one."""
        last = self.translation
        if last is None:
            return Translation("", 0.0, (), (), EMPTY)
        return replace(last, timing=self._timing(last) if any(self._updates) else None)

    def _timing(self, last: Translation) -> Timing:
        """Returns when the words of the translation were final. A token is final with its word, and EOS at the end."""
        of_words = finalised([update.split() for update in self._updates])
        words = written_units(self.streaming.tokenizers.target, last.ids, "word", last.replacements)
        known = [len(last.ids) if word.last is None else word.last for word in words]
        # The number of the word that each token belongs to: that many are complete before it.
        complete = np.searchsorted(known, np.arange(len(last.ids)), side="right").tolist()
        parts = [of_words[count] if count < len(of_words) else len(self._updates) for count in complete]
        # In positions of the source, the last of which may be that of EOS, and in its unit.
        ends = [0, *self._ends[:-1], len(self._row)]
        delays, read = (tuple(column[count] for count in parts) for column in (ends, self._times))
        word_delays = tuple(self._times[count] for count in of_words)
        return Timing(delays, read, word_delays, self._times[-1], tuple(self._updates), tuple(self._times[1:]))
