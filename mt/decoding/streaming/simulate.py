"""Sources that are there as a whole, translated as if they arrived: for the scores of policies that redraft."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from mt.common.terminal import Bar
from mt.data.fields import Raw, Row
from mt.data.tokenizer import Unit
from mt.decoding.delays import TargetWords
from mt.decoding.lexical import encoder_of
from mt.decoding.modes import require_compatible
from mt.decoding.network import refuse_long_rows
from mt.decoding.request import Request
from mt.decoding.streaming.redraft import RedraftedSession
from mt.decoding.streaming.session import Streaming
from mt.decoding.translation import Timing, Translation
from mt.metrics.latency import finalised
from mt.search.config import SearchConfig
from mt.search.hypothesis import EMPTY

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

TOGETHER = 256
"""How many sources arrive side by side."""


def simulated(
    translator: "Translator",
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
    require_compatible(search, translator.model)
    given: Sequence[Any] = texts or [None] * len(rows)
    asked: Sequence[Any] = requests or [None] * len(rows)
    refuse_long_rows(translator.network, translator.field, rows, range(len(rows)))
    results: list[list[Translation]] = []
    with Bar("decoding", len(rows), "sentences", leave=False, shown=progress) as bar:
        for begin in range(0, len(rows), TOGETHER):
            columns = (column[begin : begin + TOGETHER] for column in (rows, given, asked))
            sessions = [_Simulated(translator, search, *source) for source in zip(*columns, strict=True)]
            for turn in range(max(len(session.counts) for session in sessions)):
                if due := [session for session in sessions if session.comes(turn)]:
                    _Simulated.redraft(due)
                for session in sessions:
                    session.note(turn)
            results += [[session.result()] for session in sessions]
            bar.update(len(sessions))
    return results


class _Simulated(RedraftedSession):
    """A session whose source is there as a whole, and what it has shown after each part."""

    def __init__(
        self, translator: "Translator", search: SearchConfig, row: Row, source: Raw | None, request: Request | None
    ) -> None:
        # Latency counts characters or words, and so the session writes these.
        unit: Unit = "char" if translator.config.dataset.latency_unit == "char" else "word"
        request = request or Request("a source")
        _, terms = encoder_of(translator).streamed(request, "word", search)
        super().__init__(Streaming(translator, search, unit), request, terms)
        self._row = row
        self._updates: list[str] = []
        self._texts_of_parts: list[str] = []
        # How many positions each part has: of a word, or of a sound those of a vector of the front-end.
        field = translator.field
        tokenizer = translator.tokenizers.source
        described = field.describe(row, len(row), tokenizer, translator.link_unit, source)
        if field.written:
            text = tokenizer.decode([*map(int, row)]) if source is None else str(source)
            self._texts_of_parts = text.split()
            self.counts = [] if field.blank(row) else [int(count) for count in described.arrivals()]
            self._times = [*range(len(self.counts) + 1)]
        else:
            self.counts = [len(part) for part in self._source.parts(np.asarray(row).reshape(-1))]
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
        words = TargetWords(self.streaming.tokenizers.target, replaced=last.replacements)
        parts: list[int] = []
        complete = 0
        for token in last.ids:
            complete += len(words.add(token))
            parts.append(of_words[complete] if complete < len(of_words) else len(self._updates))
        # In positions of the source, the last of which may be that of EOS, and in its unit.
        ends = [0, *self._ends[:-1], len(self._row)]
        delays, read = (tuple(column[count] for count in parts) for column in (ends, self._times))
        word_delays = tuple(self._times[count] for count in of_words)
        return Timing(delays, read, word_delays, self._times[-1], tuple(self._updates))
