"""Terms of a glossary, which hypotheses write where their attention reads the source of the term. Needs no torch.

A term is due where most of the weight of a soft attention lies on it. It is due where a hard attention stops on it, or
behind it, since that never comes back. Of a term that is due only the first tokens may follow, and within it its next
ones; a word is ended before. So greedy search will do, and a source that is still arriving. A term is met once for each
time that it occurs, also where the model writes it by itself. Once the source is known to its end, terms that were
never due stand in place of EOS, or of the last full stop.

In a beam hypotheses that lack as many terms share its slots, as of phrases (see `mt.search.steering`): else those that
evade a term would win.
"""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.search.constraints import Forbidden, Wanted
from mt.search.hypothesis import on_host
from mt.search.phrases import Form
from mt.search.spelling import Spelling
from mt.search.stepper import Step
from mt.step import EOS, Attended

MOST = 0.5
"""A soft attention reads a term with more than this share of its weight. On Multi30k thresholds from 0.35 to 0.65 met
as many terms, with as much chrF to 0.3."""
WORDS_BEFORE = 2
"""How many words a hypothesis may write while a hard attention stops on a term: its article, and what stands between.
On Multi30k's dev data, in streams of MoChA, chrF is 57.0 with 0, 61.6 with 1, 62.6 with 2, and 62.7 with 3 and 4."""
NO_TERM = -1
_FINAL = {*".!?…。！？"}
_NO_TOKENS = np.zeros(0, np.int64)


class SourceTerm(NamedTuple):
    """A term of a source, once for each time that it occurs."""

    forms: tuple[Form, ...]
    """Tokens of its translations, each of which will do."""
    first: tuple[Form, ...]
    """Likewise, at the beginning of a hypothesis: with a capital letter."""
    written: tuple[str, ...]
    """The translations as text; those in lower case are met whatever the case."""

    @property
    def longest(self) -> int:
        """Tokens of its longest translation."""
        return max(len(form.tokens) for form in (*self.forms, *self.first))


class Terms:
    """The terms of one source. Those of a source that is still arriving are added while it does."""

    def __init__(self, spelling: Spelling) -> None:
        self.spelling = spelling
        self.terms: list[SourceTerm] = []
        self.owners = _NO_TOKENS
        """[S] int64: the number of the term to which each position of the source belongs, else NO_TERM; of those
        positions of which that is certain."""
        self.certain: list[int] = []
        """[S]: how many tokens of the source had to come until it was."""
        self.complete = False
        """Whether the source has come to its end."""

    def rests(self, term: int, text: str) -> tuple[tuple[int, ...], ...]:
        """Returns the tokens of each translation that may follow a text."""
        forms = self.terms[term].forms if text else self.terms[term].first
        # Without a blank a term follows what opens, or any character of a script that puts none between words.
        spaced = any(self.spelling.continues[form.tokens[0]] for form in forms if form.bare)
        bare = text != "" and (unicodedata.category(text[-1]) in ("Ps", "Pi") or not (spaced or text[-1] == " "))
        return tuple(form.tokens for form in forms if bare or not form.bare)

    def ending(self, text: str, missing: frozenset[int]) -> int:
        """Returns the missing term that a text ends with, NO_TERM where there is none."""
        for term in sorted(missing):
            for written in self.terms[term].written:
                end = text.lower() if written == written.lower() else text
                if end.endswith(written) and self.spelling.whole(end, len(end) - len(written), len(end)):
                    return term
        return NO_TERM

    def due(self, attended: Attended, weights: np.ndarray, row: int, missing: frozenset[int], read: int | None) -> int:
        """Returns the term that a step of a hypothesis reads, the first one of several. read: how many tokens of the
        source the step may know; None: all that have come."""
        if attended.stops is not None:
            stop = int(attended.stops[row])
            return min(missing.intersection(self.owners[: None if stop < 0 else stop + 1].tolist()), default=NO_TERM)
        owners = self.owners[: weights.shape[1]]
        if read is not None:
            owners = np.where(np.array(self.certain[: len(owners)]) <= read, owners, NO_TERM)
        # The weight on each term, behind the weight on no term.
        shares = np.bincount(owners + 1, weights[row, : len(owners)], len(self.terms) + 1)[1:]
        return next((term for term in missing if shares[term] > MOST), NO_TERM)

    def at_end(self, best: int, weights: np.ndarray, row: int) -> bool:
        """Returns whether the most probable token ends the sentence: EOS, or a mark at the end of the source."""
        surface = self.spelling.surfaces[best] if best < len(self.spelling.surfaces) else ""
        last = len(weights) > 0 and int(weights[row, : len(self.owners)].argmax()) >= len(self.owners) - 2
        return best == EOS or (last and surface.strip() in _FINAL)


class _State(NamedTuple):
    """How far a hypothesis has come with its terms."""

    terms: Terms

    done: frozenset[int] = frozenset()
    """The terms that are met."""
    met: int = NO_TERM
    """The term that is met, too, where the word ends here."""
    forced: bool = False
    """Whether it must end here, as the last word of a term that was due."""
    term: int = NO_TERM
    """The term within which it is."""
    rests: tuple[tuple[int, ...], ...] = ()
    """The tokens that may end this term."""
    text: str = ""
    waited: tuple[int, ...] = ()
    """The terms that were due when another word was written, once for each such word."""

    @property
    def missing(self) -> frozenset[int]:
        return frozenset(range(len(self.terms.terms))) - self.done - {self.met}

    def after(self, token: int) -> "_State":
        """Returns the state after one more token."""
        spelling = self.terms.spelling
        surface = spelling.surfaces[token] if token < len(spelling.surfaces) else " "
        # A term is met once its word has ended.
        ends = self.forced or not (surface[:1] in spelling.letters and self.text[-1:] in spelling.letters)
        done = self.done | {self.met} - {NO_TERM} if ends else self.done
        text = self.text + surface
        # What is left of the term within which the token stands.
        rests = tuple(rest[1:] for rest in self.rests if rest[0] == token)
        after = _State(self.terms, done, text=text, waited=self.waited)
        if () in rests:
            return after._replace(met=self.term, forced=True)
        if rests:
            return after._replace(term=self.term, rests=rests)
        return after._replace(met=self.terms.ending(text, after.missing))


class TermStates:
    """How far the hypotheses of a batch have come with their terms."""

    def __init__(self, sentences: Sequence[Terms | None], *, whole: bool, wait_k: int | None = None) -> None:
        """whole: whether sources are known to their ends, so that terms are written that were never due. wait_k: see
        `mt.search.steering.Steering`."""
        self._hypotheses = [None if terms is None else _State(terms) for terms in sentences]
        """[N]: the state of each hypothesis; None without terms."""
        self._whole = whole
        self._read = wait_k
        """How many tokens of their sources the hypotheses know; None: all that have come."""
        self._wanted = Wanted(_NO_TOKENS, _NO_TOKENS)
        self._begun: dict[int, _State] = {}
        """The states of hypotheses in which a term begins."""

    def closed(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns of some hypotheses, by number, the tokens that would go on with the last word of a term that was
        due."""
        pairs = []
        for row, state in enumerate(self._hypotheses):
            if state is not None and state.forced and state.text[-1:] in state.terms.spelling.letters:
                tokens = state.terms.spelling.continuing
                pairs.append((np.full(len(tokens), row), tokens))
        return pairs

    def wanted(self, forbidden: Forbidden | None) -> Wanted:
        """Returns the tokens that may go on with a term, or begin one."""
        taken = set() if forbidden is None else {*zip(forbidden.rows.tolist(), forbidden.tokens.tolist(), strict=True)}
        pairs = set[tuple[int, int]]()
        for row, state in enumerate(self._hypotheses):
            if state is not None:
                begun = (rest for term in state.missing for rest in state.terms.rests(term, state.text))
                pairs.update((row, rest[0]) for rest in state.rests or begun)
        self._wanted = Wanted(*np.array(sorted(pairs - taken), np.int64).reshape(-1, 2).T.copy())
        return self._wanted

    def choices(
        self, step: Step, values: np.ndarray, room: np.ndarray, *, drawn: bool = False
    ) -> tuple[Step, np.ndarray]:
        """Returns a step with the tokens of terms that are due in place of all others. With it comes of each next token
        how many terms its hypothesis lacks then, [N, K] int64.

        values: of what was wanted. room: [N], how many tokens each hypothesis may still have, this one included.
        drawn: whether each next token was drawn, and goes on with a hypothesis of its own.
        """
        attended = step.attended
        assert attended is not None
        weights = on_host(attended.weights) if attended.stops is None else np.zeros((0, 0))
        log_probs = step.log_probs.copy()
        tokens = step.tokens.copy()
        lacking = np.zeros(tokens.shape, np.int64)
        for row, state in enumerate(self._hypotheses):
            if state is None:
                continue
            lacking[row] = len(state.missing)
            # Each draw goes on by itself: its token gives way to the best one of a term that is due.
            if drawn:
                for column in range(tokens.shape[1]):
                    place = row, slice(column, column + 1)
                    going_on, columns = self._going_on(state, attended, weights, row, tokens[place], room)
                    asked = self._best(row, going_on, values)[:1] if len(columns) else _NO_TOKENS
                    if len(asked):
                        self._begun[row] = going_on
                        log_probs[place] = values[asked]
                        tokens[place] = self._wanted.tokens[asked]
                continue
            state, columns = self._going_on(state, attended, weights, row, tokens[row], room)
            # Tokens that were asked for, most probable first, in place of others; each once.
            asked = self._best(row, state, values)[: len(columns)]
            if len(asked):
                self._begun[row] = state
                log_probs[row, columns] = -np.inf
                log_probs[row, np.isin(tokens[row], self._wanted.tokens[asked])] = -np.inf
                log_probs[row, columns[: len(asked)]] = values[asked]
                tokens[row, columns[: len(asked)]] = self._wanted.tokens[asked]
                lacking[row] -= np.isin(tokens[row], [rest[0] for rest in state.rests])
            elif self._whole and lacking[row, 0]:
                log_probs[row, tokens[row] == EOS] = -np.inf
        return step._replace(log_probs=log_probs, tokens=tokens), lacking

    def _best(self, row: int, state: _State, values: np.ndarray) -> np.ndarray:
        """Returns the places, among what was wanted, of the tokens that go on with a term, most probable first."""
        firsts = [rest[0] for rest in state.rests]
        asked = np.flatnonzero((self._wanted.rows == row) & np.isin(self._wanted.tokens, firsts))
        return asked[(-values[asked]).argsort(kind="stable")]

    def _going_on(
        self,
        state: _State,
        attended: Attended,
        weights: np.ndarray,
        row: int,
        tokens: np.ndarray,
        room: np.ndarray,
    ) -> tuple[_State, np.ndarray]:
        """Returns the state of a hypothesis within the term that it must go on with or begin, and in place of which
        next tokens."""
        every = np.arange(len(tokens))
        terms = state.terms
        missing = state.missing
        best = int(tokens[0])
        if state.rests or not missing:
            return state, every
        # At its end, or its limit, a hypothesis has room for the terms and EOS alone.
        needed = 1 + sum(terms.terms[term].longest for term in missing)
        whole = self._whole or (self._read is not None and terms.complete and self._read >= len(terms.certain))
        if (self._whole and room[row] <= needed) or (whole and terms.at_end(best, weights, row)):
            term = min(missing)
        elif state.text[-1:] in terms.spelling.letters and best in terms.spelling.continuing:
            return state, every  # a word is ended before
        else:
            term = terms.due(attended, weights, row, missing, self._read)
            # While a hard attention stops on a term, the words before it, such as its article, are written.
            stop = -1 if attended.stops is None else int(attended.stops[row])
            on_term = 0 <= stop < len(terms.owners) and terms.owners[stop] == term
            firsts = [rest[0] for rest in terms.rests(term, state.text)] if on_term and term != NO_TERM else [best]
            if best not in firsts and state.waited.count(term) < WORDS_BEFORE:
                state = state._replace(waited=(*state.waited, term))
                self._begun[row] = state
                return state, every
            if term == NO_TERM and whole and EOS in tokens:
                term = min(missing)
                every = np.flatnonzero(tokens == EOS)
        if term == NO_TERM:
            return state, every
        return state._replace(term=term, rests=terms.rests(term, state.text)), every

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Goes on with hypotheses that continue those of `parents` by tokens."""
        following: list[_State | None] = []
        for parent, token in zip(parents, tokens, strict=True):
            state = self._begun.get(parent, self._hypotheses[parent])
            following.append(None if state is None else state.after(token))
        self._hypotheses = following
        self._begun = {}
        self._read = None if self._read is None else self._read + 1
