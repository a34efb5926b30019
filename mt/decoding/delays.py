"""Delays: how many words of the source, or milliseconds, had been read when each word of a translation was written.

Words are separated by blanks in detokenised text, as SimulEval reads and writes them. A text comes word by word, and
its end comes with the last word. A sound comes 10 ms at a time, the last of which may be silence. A target word is
written when nothing can change it any more: with the token that begins the next word, or ends the sentence.

`timing` has the delays of an online search, and `TargetWords` the words of a stream. `retranslated` decodes by
re-translation, where a word is written when no later translation changes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mt.data.fields import Raw, ReadSource, Row
from mt.data.tokenizer import EOS, UNK, Tokenizer, Unit
from mt.decoding.lexical import constrained
from mt.decoding.modes import require_words
from mt.decoding.network import refuse_long_rows
from mt.decoding.request import Request
from mt.decoding.translation import Timing, Translation
from mt.metrics.latency import LatencyUnit, erased, finalised
from mt.models.frontends.base import Frontend
from mt.search.config import SearchConfig
from mt.search.online import OnlineHypothesis
from mt.search.options import RetranslateConfig

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


def timing(tokenizer: Tokenizer, source: ReadSource, hypothesis: OnlineHypothesis, frontend: Frontend) -> Timing:
    """Returns when a hypothesis of an online search was written.

    tokenizer: of the target. frontend: made the vectors in which the hypothesis counts its delays.
    """
    # A search may wait for one vector more than there are: the end. An encoder may make fewer values of the vectors.
    vectors = int(frontend.output_lengths(torch.tensor(source.length)))
    vectors_read = np.minimum(hypothesis.delays, vectors)
    # Vectors need positions of the source, which come in words or milliseconds.
    positions_read = frontend.needed(torch.from_numpy(vectors_read)).numpy()
    arrivals = source.arrivals()
    read = source.part * words_read(positions_read, arrivals)
    # A stop at the last position may depend on the end of the source, so it counts as known with the end.
    source_length = source.part * len(arrivals)
    read = np.where(vectors_read < vectors, read, source_length).tolist()
    words = word_delays(tokenizer, hypothesis.tokens, read, source_length)
    return Timing(tuple(vectors_read.tolist()), tuple(read), words, source_length)


def words_read(delays: np.ndarray, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns [T] int64, how many source words must have come before a number of source tokens is known.

    delays: [T] int64, source tokens, EOS included. lengths: the tokens of each source word.
    """
    ends = np.cumsum([0, *lengths])
    return np.minimum(np.searchsorted(ends, delays), len(lengths))


def word_delays(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    read: Sequence[int],
    source_length: int,
    replaced: Mapping[int, str] = {},
) -> tuple[int, ...]:
    """Returns how many source words had been read when each word of `tokenizer.decode(ids, replaced)` was written.

    ids: T target tokens; without EOS, where the limit of length ended the search, the last word comes with the end of
    the source. read: [T], source words read when each token was chosen. source_length: in words, or the unit of `read`.
    """
    words = TargetWords(tokenizer, replaced=replaced)
    delays: list[int] = []
    for token, count in zip(ids, read, strict=True):
        delays += [count] * len(words.add(token))
    return (*delays, *[source_length] * len(words.end()))


class TargetWords:
    """Joins tokens to words, or to characters, and returns each as soon as no later token can change it.

    Words joined by blanks, or characters joined directly, are the text that `Tokenizer.decode` makes of all tokens.
    """

    def __init__(self, tokenizer: Tokenizer, unit: Unit = "word", replaced: Mapping[int, str] = {}) -> None:
        """replaced: texts in place of the tokens at some places, as in `Tokenizer.decode`; with unit `word` only."""
        self._tokenizer = tokenizer
        self._unit = unit
        self._replaced = replaced
        self._count = 0
        """How many tokens have come."""
        self._word: list[int] = []
        """The tokens of the last word, which may go on."""
        self._blank_due = False
        """Whether a blank stands before the next character."""
        self._begun = False
        """Whether there is any character yet."""

    def add(self, token: int) -> list[str]:
        """Returns the words that the next token completes. A token that begins a word completes the word before it, and
        EOS the last word. There are several where a token is replaced by several words, and none for a blank alone."""
        if token == EOS:
            return self.end()
        begins = self._begins(token)
        words: list[str] = []
        if self._unit == "char":
            words = self._character(token, begins)
        elif begins:
            words = self.end()
        self._word.append(token)
        self._count += 1
        return words

    def end(self) -> list[str]:
        """Returns the words that are complete when no token follows."""
        word, self._word = self._word, []
        if self._unit == "char":
            return []
        begin = self._count - len(word)
        inside = {place - begin: text for place, text in self._replaced.items() if begin <= place < self._count}
        return self._tokenizer.decode(word, inside).split()

    def _begins(self, token: int) -> bool:
        """Returns whether a token begins a word. The texts of replaced tokens tell whether blanks are around them."""
        # Without replaced tokens the tokenizer knows where words begin.
        begins = self._tokenizer.begins_word(token, self._word[-1] if self._word else None)
        if not (self._replaced and self._word and begins and self._tokenizer.marks_beginnings):
            return begins
        # There is a blank if the text before ends with one, or if this text, or the mark of the token, begins with one.
        text_before = self._replaced.get(self._count - 1)
        ends_before = self._word[-1] == UNK if text_before is None else text_before.endswith(" ")
        if self._count in self._replaced:
            return self._replaced[self._count].startswith(" ") or ends_before
        return begins if text_before is None else ends_before or self._tokenizer.begins_word(token, None)

    def _character(self, token: int, begins: bool) -> list[str]:
        """Returns a character with the blank before it, if there is one."""
        # A character needs no later token, but a blank waits for the character after it.
        self._word = []
        self._blank_due = self._blank_due or (begins and self._begun)
        text = self._tokenizer.decode([token])
        if not text:
            return []
        blank = " " if self._blank_due else ""
        self._blank_due = False
        self._begun = True
        return [blank + text]


# Re-translation: with each word of a text, all that has come is translated again, and the new translation replaces the
# one that was shown (Arivazhagan et al. 2020, "Re-translation versus streaming for simultaneous translation"). `Shown`
# keeps what a reader sees while a text arrives, and `retranslated` simulates this for whole texts.

SENTENCES = 256
"""How many texts are translated at once, with all their prefixes."""


class Shown:
    """The translation of one text that a reader sees while the text arrives."""

    def __init__(self, search: SearchConfig, unit: LatencyUnit) -> None:
        """unit: with `char`, characters are masked and counted, else words."""
        self._masked = search.mask_k if isinstance(search, RetranslateConfig) else 0
        self._characters = unit == "char"
        self.units: list[str] = []
        """The words, or characters without blanks, that are shown."""
        self.erased = 0
        """How many shown words, or characters, were taken back."""

    def update(self, text: str, *, complete: bool) -> str:
        """Shows the translation of all that has come, without the masked words at its end, and returns the shown text.
        complete: whether the source has ended, so that nothing is masked."""
        # The last words are the likeliest to change, so that a mask hides them.
        if self._masked and not complete:
            text = text[: -self._masked].rstrip() if self._characters else " ".join(text.split()[: -self._masked])
        units = [*"".join(text.split())] if self._characters else text.split()
        self.erased += erased(self.units, units)
        self.units = units
        return text


def retranslated(
    translator: "Translator",
    rows: Sequence[Row],
    search: RetranslateConfig,
    texts: Sequence[Raw] | None,
    requests: Sequence[Request] | None = None,
    *,
    progress: bool = False,
) -> list[list[Translation]]:
    """Returns the translation of each text, with the texts that were shown before, and delays.

    The delay of a word is the number of source words after which it, and all words before it, no longer changed. rows,
    texts: see `Translator.decode`. Raises UserError where sources are no texts, or something is asked of one.
    """
    require_words(written=translator.field.written)
    if requests is not None and texts is not None:
        constrained(translator, requests, texts, search)  # raises where anything is asked
    refuse_long_rows(translator.network, translator.field, rows, range(len(rows)))
    results: list[list[Translation]] = []
    for begin in range(0, len(rows), SENTENCES):
        of_part = slice(begin, begin + SENTENCES)
        sources = None if texts is None else texts[of_part]
        results += _part(translator, rows[of_part], search, sources, progress=progress)
    return results


def _part(
    translator: "Translator",
    rows: Sequence[Row],
    search: RetranslateConfig,
    texts: Sequence[Raw] | None,
    *,
    progress: bool,
) -> list[list[Translation]]:
    """Does the work of `retranslated` for some texts, whose prefixes are decoded together: those of similar length in
    one batch."""
    sources: Sequence[Raw | None] = [None] * len(rows) if texts is None else texts
    # Where the words of each text end, and its prefixes, of which the last is the text itself.
    ends: list[list[int]] = []
    prefixes: list[Row] = []
    of_prefixes: list[Any] = []  # the whole text of each prefix, for placeholders
    for row, source in zip(rows, sources, strict=True):
        tokenizer = translator.tokenizers.source
        arrivals = translator.field.describe(row, len(row), tokenizer, translator.link_unit, source).arrivals()
        ends.append([*accumulate(arrivals)])
        prefixes += [np.array([*row[:end], EOS]) for end in ends[-1][:-1]]
        prefixes.append(row)
        of_prefixes += [source] * (len(prefixes) - len(of_prefixes))
    whole_texts = None if texts is None else of_prefixes
    found = iter(translator.decode(prefixes, search.of_prefixes, texts=whole_texts, progress=progress))
    # What was shown of each text, and when each of its words was final.
    results: list[list[Translation]] = []
    target = translator.tokenizers.target
    for row, of_text in zip(rows, ends, strict=True):
        history = [next(found)[0] for _ in of_text or [0]]
        shown = Shown(search, translator.config.dataset.latency_unit)
        updates = [shown.update(translation.text, complete=translation is history[-1]) for translation in history]
        times = _timing(target, history[-1], updates, [*of_text[:-1], len(row)]) if any(updates) else None
        results.append([replace(history[-1], timing=times)])
    return results


def _timing(target: Tokenizer, last: Translation, updates: Sequence[str], ends: Sequence[int]) -> Timing:
    """Returns when the words of a text were final. A token is final with its word, and EOS at the end.

    updates: the text that was shown after each source word. ends: the source tokens up to the end of each source word.
    """
    # When each word was final, and with it its tokens.
    of_words = finalised([text.split() for text in updates])
    words = TargetWords(target, replaced=last.replacements)
    read: list[int] = []
    complete = 0
    for token in last.ids:
        complete += len(words.add(token))
        read.append(of_words[complete] if complete < len(of_words) else len(updates))
    delays = tuple([0, *ends][count] for count in read)
    return Timing(delays, tuple(read), tuple(of_words), len(updates), tuple(updates))
