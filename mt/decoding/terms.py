"""Writes the terms of a glossary into hypotheses, in the place of the model's own words. Needs no torch.

The model goes on with its own words, and never sees them replaced. So a term takes nothing from the rest of the
sentence, which has its order, its end and each other word once. A translation is a list of an `Entry` for each token,
which says from which token of the hypothesis it has its attention.

First stand the words of a hypothesis and its rewriting. `TermStream` does that while a hypothesis is written. For
hypotheses that are there as a whole, `mt.decoding.term_choice` chooses better.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mt.constraints.spelling import Spelling
from mt.constraints.terms import NO_TERM, Terms
from mt.data.words import term_spans, term_words
from mt.search.config import SearchConfig
from mt.search.hypothesis import Hypothesis
from mt.step import EOS

MOST = 0.5
"""A token reads a term if it has more than this share of its attention on it."""
_CONTEXT = 200
"""How many of the last characters of a text are kept, to see where words begin."""


class Entry(NamedTuple):
    """A token of a translation."""

    token: int
    place: int
    """The token of the hypothesis whose attention it has."""
    log_prob: float


class Edit(NamedTuple):
    """A change of a hypothesis: some of its tokens are replaced by others."""

    begin: int
    end: int
    tokens: tuple[int, ...]
    place: int
    """The token of the hypothesis whose attention the new tokens have."""


def _new_entries(tokens: Sequence[int], place: int, log_prob: float) -> list[Entry]:
    """Returns tokens that replace others. The first one has the log-probability of all the replaced tokens, and the
    others have 0."""
    return [Entry(token, place, 0.0 if number else log_prob) for number, token in enumerate(tokens)]


def edited(tokens: Sequence[int], log_probs: Sequence[float], edits: Sequence[Edit]) -> list[Entry]:
    """Returns the tokens of a hypothesis after some edits. Where edits overlap, the later one inserts its tokens."""
    entries: list[Entry] = []
    end = 0
    for edit in sorted(edits, key=lambda edit: (edit.begin, edit.end)):
        entries += [Entry(tokens[i], i, log_probs[i]) for i in range(end, edit.begin)]
        # Log-probabilities are counted once: an edit that overlaps the one before it brings none.
        replaced = sum(log_probs[edit.begin : edit.end]) if edit.begin >= end else 0.0
        entries += _new_entries(edit.tokens, edit.place, replaced)
        end = max(end, edit.end)
    return entries + [Entry(tokens[i], i, log_probs[i]) for i in range(end, len(tokens))]


def rewritten(hypothesis: Hypothesis, entries: Sequence[Entry]) -> Hypothesis:
    """Returns a hypothesis with other tokens. Its score and log-probability stay those of the tokens that the model
    chose."""
    places = [entry.place for entry in entries]
    return replace(
        hypothesis,
        tokens=tuple(entry.token for entry in entries),
        windows=hypothesis.windows.take(places),
        log_probs=tuple(entry.log_prob for entry in entries),
        delays=None if hypothesis.delays is None else hypothesis.delays[places],
    )


class OwnWord(NamedTuple):
    """A word of a hypothesis, or several that share a token."""

    begin: int
    end: int
    """Its tokens are from `begin` up to `end`."""
    text: str
    numbers: range
    """The indices of its words among those of the text (`term_words`)."""


def words_of(tokens: Sequence[int], spelling: Spelling) -> list[OwnWord]:
    """Returns the words of a hypothesis. A token of blanks alone, or without a text, belongs to no word."""
    # The word that each character of the text belongs to.
    surfaces = [spelling.surfaces[token] for token in tokens]
    ends = np.cumsum([0, *map(len, surfaces)]).tolist()
    spans = term_spans("".join(surfaces))
    owner = {character: number for number, span in enumerate(spans) for character in range(*span)}
    # Tokens that share a word are joined.
    found: list[OwnWord] = []
    for number, surface in enumerate(surfaces):
        own = [owner[character] for character in range(ends[number], ends[number + 1]) if character in owner]
        if own and found and own[0] < found[-1].numbers.stop:
            begin, _, before, numbers = found.pop()
            found.append(OwnWord(begin, number + 1, before + surface, range(numbers.start, own[-1] + 1)))
        elif own:
            found.append(OwnWord(number, number + 1, surface.strip(), range(own[0], own[-1] + 1)))
    return [word._replace(text=word.text.strip()) for word in found]


class TermStream:
    """Puts terms into a hypothesis while it is written.

    Of words in a row that read a term the last one is its translation: those before are its article, say. So such words
    wait for the one that follows. A hard attention never comes back to a term that it has passed: it is written then.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._surfaces = terms.spelling.surfaces
        self._met: set[int] = set()
        """The terms that are written."""
        self._text = ""
        """The end of the text so far, without the tokens that wait."""
        self._waiting: list[Entry] = []
        """Tokens of words in a row that read one term."""
        self._last_word = 0
        """Where the last word begins among the waiting tokens."""
        self._term = NO_TERM
        """The term that the waiting tokens read."""
        self._count = 0
        """How many tokens of the hypothesis have come."""

    @property
    def known(self) -> int:
        """How many positions of the source are known to belong to some term or to none."""
        return len(self._terms.certain)

    def reads(self, weights: np.ndarray, stop: int | None, read: int | None) -> list[int]:
        """Returns the terms that a hard attention has passed, in order, and at last the term that the step reads, or
        NO_TERM.

        weights: the attention, which counts where it is soft. stop: where a hard attention stopped, -1 for nowhere;
        None where it is soft. read: how many tokens of the source are known; None: all that have come."""
        owners = self._terms.owners
        # A hard attention reads the term where it stops, and passes the terms before.
        if stop is not None:
            own = owners[stop] if 0 <= stop < len(owners) else NO_TERM
            passed = {*owners[: max(stop, 0)].tolist()} - {NO_TERM, own}
            return [*sorted(passed - self._met), int(own) if own not in self._met else NO_TERM]
        # A soft one reads the term that has most of its weight, among the terms that are known.
        owners = owners[: len(weights)]
        if read is not None:
            owners = np.where(np.array(self._terms.certain[: len(owners)]) <= read, owners, NO_TERM)
        # Moved by one, since NO_TERM is -1 and `bincount` takes no negative numbers; its share is dropped.
        shares = np.bincount(owners + 1, weights[: len(owners)], len(self._terms.terms) + 1)[1:]
        return [next((i for i in range(len(shares)) if shares[i] > MOST and i not in self._met), NO_TERM)]

    def add(self, token: int, log_prob: float, reads: Sequence[int]) -> list[Entry]:
        """Returns the tokens that become certain with the next token of a hypothesis. reads: the result of `reads`."""
        entry = Entry(token, self._count, log_prob)
        self._count += 1
        surface = self._surfaces[token]
        before = "".join(self._surfaces[waiting.token] for waiting in self._waiting) or self._text
        begins = token == EOS or len(term_spans(before + surface)) > len(term_spans(before))
        # A word that reads something else ends the words that wait.
        *passed, term = reads
        written: list[Entry] = []
        if self._waiting and begins and (term != self._term or token == EOS):
            written += self._resolve()
        # A hard attention never comes back to the terms that it has passed, so these are written now.
        for other in passed:
            if begins and other not in self._met and other != self._term:
                written += self._written(other, entry.place, 0.0)
        # A token that reads a term waits, and so do all after it until the words that read the term have ended.
        if self._waiting or (term != NO_TERM and term not in self._met and token != EOS):
            if begins or not self._waiting:
                self._last_word = len(self._waiting)
            self._term = self._term if self._waiting else term
            self._waiting.append(entry)
            return written
        self._note([entry])
        return [*written, entry]

    def end(self) -> list[Entry]:
        """Returns the tokens that still wait where the hypothesis ends without EOS."""
        return self._resolve() if self._waiting else []

    def _resolve(self) -> list[Entry]:
        """Returns the tokens that waited. The term replaces their last word, unless the model has written it itself."""
        waiting, self._waiting = self._waiting, []
        term, self._term = self._term, NO_TERM
        # The model has written the term itself if a target stands in the text, and ends among these tokens.
        words = term_words(self._text + "".join(self._surfaces[entry.token] for entry in waiting))
        first = len(term_words(self._text))
        targets = self._terms.terms[term].targets
        if any(begin + len(target.words) > first for target in targets for begin in target.places(words)):
            self._met.add(term)
            self._note(waiting)
            return waiting
        # Otherwise the words before the last one stay, such as an article.
        kept = waiting[: self._last_word]
        last = waiting[self._last_word :]
        self._note(kept)
        return [*kept, *self._written(term, last[0].place, sum(entry.log_prob for entry in last), last[0].token)]

    def _written(self, term: int, place: int, log_prob: float, instead: int | None = None) -> list[Entry]:
        """Returns the tokens of a term, and notes that it is written. instead: the first token that it replaces."""
        self._met.add(term)
        blank = " " if instead is None or self._surfaces[instead].startswith(" ") else ""
        tokens = self._terms.written(self._terms.terms[term].targets[0], self._text and self._text + blank)
        entries = _new_entries(tokens, place, log_prob)
        self._note(entries)
        return entries

    def _note(self, entries: Sequence[Entry]) -> None:
        """Adds tokens that are certain to the text."""
        self._text = (self._text + "".join(self._surfaces[entry.token] for entry in entries))[-_CONTEXT:]


def streamed(hypothesis: Hypothesis, terms: Terms, search: SearchConfig) -> Hypothesis:
    """Returns a hypothesis with its terms as a stream of this search writes it."""
    # Each token, and the token of the hypothesis with which it became certain.
    stream = TermStream(terms)
    windows = hypothesis.windows
    weights = windows.dense()
    certain_with: list[tuple[Entry, int]] = []
    for place, (token, log_prob) in enumerate(zip(hypothesis.tokens, hypothesis.log_probs, strict=True)):
        stop = None if windows.stops is None else int(windows.stops[place])
        reads = stream.reads(weights[place], stop, search.sees(place))
        certain_with += [(entry, place) for entry in stream.add(token, log_prob, reads)]
    certain_with += [(entry, len(hypothesis.tokens) - 1) for entry in stream.end()]
    # Terms change the delays of an online search.
    entries, resolved = map(list, zip(*certain_with, strict=True))
    result = rewritten(hypothesis, entries)
    if (delays := hypothesis.delays) is not None:
        if windows.stops is not None:
            # A token is not written before it is certain to which term its stop belongs.
            certain = np.array([0, *terms.certain])
            known = (windows.stops >= 0) & (windows.stops < len(terms.certain))
            delays = np.maximum.accumulate(np.maximum(delays, certain[np.where(known, windows.stops + 1, 0)]))
        # A token that has waited comes with the token that ended the waiting.
        delays = np.maximum(delays[[entry.place for entry in entries]], delays[resolved])
        result = replace(result, delays=np.maximum.accumulate(delays))
    return result
