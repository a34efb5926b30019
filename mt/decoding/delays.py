"""Delays: how many words of the source, or milliseconds, had been read when each word of a translation was written.

Words are what stands between blanks of detokenised text, as SimulEval reads and writes them. A text comes a whole word
at a time, its end with the last word; a sound 10 ms at a time, the last of which may be silence. A target word is
written when nothing can change it any more: together with the token that begins the next word, or ends the sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from mt.data.fields import ReadSource
from mt.data.tokenizer import EOS, UNK, Tokenizer
from mt.models.frontends import Frontend
from mt.search.online import OnlineHypothesis


def delays(
    tokenizer: Tokenizer,
    source: ReadSource,
    hypothesis: OnlineHypothesis,
    frontend: Frontend,
) -> dict[str, Any]:
    """Returns the fields of a `Translation` that are about delays, by their names.

    tokenizer: of the target. frontend: what made the vectors that the hypothesis' delays count.
    """
    # A search may wait for one vector more than there are, which is the end; an encoder may leave fewer values of them.
    vectors = int(frontend.output_lengths(torch.tensor(source.length)))
    vectors_read = np.minimum(hypothesis.delays, vectors)
    # From vectors to the positions that they need, and from these to words or milliseconds.
    positions_read = frontend.needed(torch.from_numpy(vectors_read)).numpy()
    read = source.part * words_read(positions_read, source.arrivals)
    # A stop at the last position may be there because nothing follows, which is known only at the end.
    source_length = source.part * len(source.arrivals)
    read = np.where(vectors_read < vectors, read, source_length)
    words = word_delays(tokenizer, hypothesis.tokens, read, source_length)
    return {"delays": vectors_read, "words_read": read, "word_delays": words, "source_words": source_length}


def words_read(delays: np.ndarray, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Returns [T] int64, the source words that must have come for so many source tokens.

    delays: [T] int64, source tokens, EOS included. lengths: the tokens of each source word.
    """
    ends = np.cumsum([0, *lengths])
    return np.minimum(np.searchsorted(ends, delays), len(lengths))


def word_delays(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    read: np.ndarray,
    source_length: int,
    replaced: Mapping[int, str] = {},
) -> tuple[int, ...]:
    """Returns how many source words had been read when each word of `tokenizer.decode(ids, replaced)` was written.

    ids: T target tokens; without an EOS the search was ended by its limit of length, with the source. read: [T] int64,
    source words read when each token was chosen. source_length: in words, or the unit of `read`.
    """
    delays: list[int] = []
    word: list[int] = []
    for position, token in enumerate(ids):
        if token == EOS or _begins(tokenizer, ids, position, word, replaced):
            delays += [int(read[position])] * _count(tokenizer, word, position, replaced)
            word = []
        word.append(token)
    return (*delays, *[source_length] * _count(tokenizer, word, len(ids), replaced))


def _begins(
    tokenizer: Tokenizer, ids: Sequence[int], position: int, word: Sequence[int], replaced: Mapping[int, str]
) -> bool:
    """Returns whether a token begins a word. A replaced one may stand without a blank beside others."""
    begins = tokenizer.begins_word(ids[position], word[-1] if word else None)
    if not word or not begins or not tokenizer.marks_beginnings:
        return begins
    before = replaced.get(position - 1)
    ends_before = ids[position - 1] == UNK if before is None else before.endswith(" ")
    if position in replaced:
        return replaced[position].startswith(" ") or ends_before
    return begins if before is None else ends_before or tokenizer.begins_word(ids[position], None)


def _count(tokenizer: Tokenizer, word: Sequence[int], end: int, replaced: Mapping[int, str]) -> int:
    """Counts the words that the tokens before `end` make: one, but none of a blank alone, and more where an unknown one
    is replaced by several."""
    begin = end - len(word)
    inside = {position - begin: text for position, text in replaced.items() if begin <= position < end}
    return len(tokenizer.decode(word, inside).split())
