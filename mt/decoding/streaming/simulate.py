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
            sources = [
                _Source(translator, search, rows[i], given[i], asked[i])
                for i in range(begin, min(begin + TOGETHER, len(rows)))
            ]
            for turn in range(max(len(source.arrivals) for source in sources)):
                due = [source.session for source in sources if source.comes(turn)]
                if due:
                    RedraftedSession.redraft(due)
                for source in sources:
                    source.note(turn)
            results += [[source.result()] for source in sources]
            bar.update(len(sources))
    return results


class _Source:
    """A source that arrives, and what was shown of its translation."""

    def __init__(
        self, translator: "Translator", search: SearchConfig, row: Row, source: Raw | None, request: Request | None
    ) -> None:
        self._translator = translator
        self._row = row
        tokenizers = translator.tokenizers
        # Latency counts characters or words, and so the session writes these.
        unit: Unit = "char" if translator.config.dataset.latency_unit == "char" else "word"
        request = request or Request("a source")
        _, terms = encoder_of(translator).streamed(request, "word", search)
        self.session = RedraftedSession(Streaming(translator, search, unit), request, terms)
        self._updates: list[str] = []
        # The positions of each part: of a word, or of a sound those of a vector of the front-end.
        field = translator.field
        described = field.describe(row, len(row), tokenizers.source, translator.link_unit, source)
        self._words: list[str] = []
        if field.written:
            text = tokenizers.source.decode([*map(int, row)]) if source is None else str(source)
            self._words = text.split()
            counts = [] if field.blank(row) else [int(count) for count in described.arrivals()]
            self._read = [*range(len(counts) + 1)]
        else:
            counts = self.session.lengths_of_parts(np.asarray(row))
            self._read = [*accumulate((described.part * count for count in counts), initial=0)]
        self.arrivals = counts
        self._ends = [*accumulate(counts)]

    def comes(self, turn: int) -> bool:
        """Lets the part of this number come, and returns whether it is time for a draft."""
        if turn >= len(self.arrivals):
            return False
        end = self._ends[turn]
        last = turn + 1 == len(self.arrivals)
        # The end comes with the last part. A placeholder with blanks is one part of several words.
        words = self._words[turn:] if last else self._words[turn : turn + 1]
        row = self._row[end - self.arrivals[turn] : end]
        return self.session.arrives(row, words, self._read[turn + 1], ends=last)

    def note(self, turn: int) -> None:
        """Notes what is shown after the part of this number."""
        if turn < len(self.arrivals):
            self._updates.append(self.session.joined(self.session.shown))

    def result(self) -> Translation:
        """Returns the translation, with delays if there is one."""
        last = self.session.translation
        if last is None:
            return Translation("", 0.0, (), (), EMPTY)
        times = self._timing(last) if any(self._updates) else None
        return replace(last, timing=times)

    def _timing(self, last: Translation) -> Timing:
        """Returns when the words of the translation were final. A token is final with its word, and EOS at the end."""
        of_words = finalised([update.split() for update in self._updates])
        words = TargetWords(self._translator.tokenizers.target, replaced=last.replacements)
        parts: list[int] = []
        complete = 0
        for token in last.ids:
            complete += len(words.add(token))
            parts.append(of_words[complete] if complete < len(of_words) else len(self._updates))
        # In positions of the source, the last of which may be that of EOS, and in its unit.
        ends = [0, *self._ends[:-1], len(self._row)]
        delays = tuple(ends[count] for count in parts)
        read = tuple(self._read[count] for count in parts)
        word_delays = tuple(self._read[count] for count in of_words)
        return Timing(delays, read, word_delays, self._read[-1], tuple(self._updates))
