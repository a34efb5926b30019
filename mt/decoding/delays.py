"""Delays: how many words of the source, or milliseconds, had been read when each word of a translation was written.

Words are separated by blanks in detokenised text, as SimulEval reads and writes them. A text comes word by word, and
its end comes with the last word. A sound comes 10 ms at a time, the last of which may be silence. A target word is
written when nothing can change it any more: with the token that begins the next word, or ends the sentence.

`timing` has the delays of a search that extends, `written_units` the words that tokens stand for, and `TargetWords`
those of a stream.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mt.data.fields import ReadSource
from mt.data.tokenizer import EOS, UNK, Tokenizer, Unit
from mt.decoding.network import Network
from mt.decoding.translation import Timing
from mt.search.hypothesis import Hypothesis


def timing(tokenizer: Tokenizer, source: ReadSource, hypothesis: Hypothesis, network: Network) -> Timing:
    """Returns when a hypothesis of an online search was written.

    tokenizer: of the target. network: made the vectors in which the hypothesis counts its delays.
    """
    assert hypothesis.delays is not None
    # A search may wait for one vector more than there are: the end. An encoder may make fewer values of the vectors.
    (vectors,) = network.encoded_lengths([source.length])
    vectors_read = np.minimum(hypothesis.delays, vectors)
    # Vectors need positions of the source, which come in words or milliseconds.
    positions_read = network.needed(vectors_read)
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
    # The fewest words that together have this many tokens; EOS comes with the last word.
    return np.minimum(np.searchsorted(np.cumsum([0, *lengths]), delays), len(lengths))


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
    words = written_units(tokenizer, ids, "word", replaced)
    return tuple(source_length if word.last is None else read[word.last] for word in words)


class WrittenUnit(NamedTuple):
    """A word of a translation, or a character with the blank before it, if there is one."""

    text: str
    last: int | None
    """The number of the token that completed it; None where the end of the source did."""
    tokens: list[int]
    """The numbers of its tokens."""


def written_units(
    tokenizer: Tokenizer, ids: Sequence[int], unit: Unit, replaced: Mapping[int, str] = {}
) -> list[WrittenUnit]:
    """Returns the words or characters that tokens stand for, as a stream would write them. replaced: see
    `TargetWords`."""
    # The tokens since the last complete word belong to the next one.
    target = TargetWords(tokenizer, unit, replaced)
    units: list[WrittenUnit] = []
    begin = 0
    for place, token in enumerate(ids):
        complete = target.add(token)
        # A character is complete with its own token, a word with the first token of the next one.
        tokens = [place] if unit == "char" else [*range(begin, place)]
        units += [WrittenUnit(text, place, tokens) for text in complete]
        begin = place if complete else begin
    return [*units, *(WrittenUnit(text, None, [*range(begin, len(ids))]) for text in target.end())]


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
        # Replaced texts have places in the whole hypothesis, and here they count from the word's first token.
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
