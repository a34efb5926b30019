"""What is asked of the hypotheses of single sentences: how they begin, phrases that they must hold, and phrases that
they must not. Needs no torch and knows no model.

Phrases that must appear compete by dynamic beam allocation (Post & Vilar 2018), vectorised (Hu et al. 2019). Beside the
most probable tokens of each hypothesis are those that go on with a phrase, and EOS follows when all are met. The slots
of a sentence are shared among hypotheses that lack as many tokens each, those that lack fewest first. So with each step
the best of these lacks one token less. Which has no steps left for what it lacks is dropped.

First stands what is asked of a sentence, then how far a batch has come: before a step, after it, and afterwards. At the
end are the functions that join and share.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.errors import UserError
from mt.search.constraints import Forbidden, Wanted
from mt.search.phrases import Phrases, PhraseStates, PhraseTable
from mt.search.spelling import Avoided, Prefix, Spelling
from mt.search.stepper import Step
from mt.search.terms import Terms, TermStates
from mt.step import EOS

_NONE = np.zeros(0, np.int64)


class TokenConstraints(NamedTuple):
    """What is asked of the hypotheses of one sentence."""

    name: str
    """What to call the sentence, such as its line in a file."""
    spelling: Spelling
    """What the tokens write that may be in its hypotheses."""
    phrases: Phrases | None = None
    avoided: Avoided | None = None
    prefix: Prefix | None = None
    terms: Terms | None = None

    @property
    def fewest(self) -> int:
        """A number of tokens that it needs."""
        terms = [] if self.terms is None else self.terms.terms
        of_terms = max((min(len(form.tokens) for form in term.forms) for term in terms), default=0)
        phrases = 0 if self.phrases is None else max(self.phrases.least)
        return max(phrases, of_terms, 0 if self.prefix is None else self.prefix.fewest)


class Steering:
    """How far the hypotheses of a batch have come with what is asked of them. A search asks before a step, chooses
    after it, and says which hypotheses go on."""

    def __init__(
        self,
        sentences: Sequence[TokenConstraints | None],
        limits: Sequence[int],
        *,
        whole: bool = True,
        wait_k: int | None = None,
    ) -> None:
        """
        Args:
            sentences: of each what is asked; None: nothing.
            limits: of each the most tokens of a hypothesis.
            whole: whether sources are read to their ends before anything is written.
            wait_k: k, where each step reads one token of the source more; None: the attention stops by itself.

        Raises UserError where more is asked than has room.
        """
        for asked, limit in zip(sentences, limits, strict=True):
            if asked is not None and asked.fewest > limit:
                raise UserError(
                    f"{asked.name} asks for {asked.fewest} tokens or more, and at most {limit} are written: ask for "
                    "less, or raise the limit (search.max_length)"
                )
        self._asked = sentences
        self._limits = np.array(limits)
        self._sentences = np.arange(len(sentences))
        """[N]: the sentence of each hypothesis, rising."""
        self._length = 0
        self._spelled: list[tuple[int, str]] | None = None
        """[N]: the states of the prefix and of the avoided phrases of each hypothesis; None: no sentence has either."""
        if any(asked is not None and (asked.prefix or asked.avoided) for asked in sentences):
            self._spelled = [(0, Avoided.START)] * len(sentences)
        self._table: PhraseTable | None = None
        self._phrases: PhraseStates
        # The automata of phrases, as one, and the terms.
        spelling = next((asked.spelling for asked in sentences if asked is not None and asked.phrases), None)
        if spelling is not None:
            none = Phrases([], spelling.inside)
            phrases = [none if asked is None or asked.phrases is None else asked.phrases for asked in sentences]
            self._table = PhraseTable(phrases, spelling.inside, spelling.continues)
            self._phrases = self._table.begin()
        self._terms: TermStates | None = None
        terms = [None if asked is None else asked.terms for asked in sentences]
        if any(of_sentence is not None for of_sentence in terms):
            self._terms = TermStates(terms, whole=whole, wait_k=wait_k)
        self._wanted: Wanted | None = None
        self._forced: list[tuple[int, int, int]] = []
        """The hypotheses that are in their prefix, and where what may follow begins and ends in what is wanted."""

    @property
    def first_terms(self) -> Terms | None:
        """The terms of the first sentence."""
        return None if self._asked[0] is None else self._asked[0].terms

    def before(self, forbidden: Forbidden | None, *, alone: bool = False) -> tuple[Forbidden | None, Wanted | None]:
        """Returns what a step must not answer, and what it is asked for.

        forbidden: what hypotheses may not have for other reasons. alone: whether the step draws tokens, so that all
            that does not go on with a prefix is forbidden. Raises UserError where nothing is left of a prefix then.
        """
        count = len(self._sentences)
        # Few hypotheses have tokens that end an avoided phrase, or go on with the last word of a term.
        closed: list[tuple[np.ndarray, np.ndarray]] = []
        for row in range(count) if self._spelled is not None or self._terms is not None else ():
            tokens = self._avoided(row, whole=alone)
            if self._terms is not None:
                tokens = np.union1d(tokens, self._terms.closed(row))
            if len(tokens):
                closed.append((np.full(len(tokens), row), tokens))
        if forbidden is not None:
            # A prefix may repeat itself.
            free = np.array([not alone or self._options(row) is None for row in forbidden.rows.tolist()], bool)
            closed.append((forbidden.rows[free], forbidden.tokens[free]))
        # A sentence must not end before its phrases are met.
        lacking = None if self._table is None else self._table.remaining(self._phrases, self._sentences)[0]
        early = np.zeros(count, bool) if forbidden is None else forbidden.early
        if lacking is not None:
            early = early | (lacking > 0)
        if early.any() or closed:
            rows, tokens = (np.concatenate(column) for column in zip((_NONE, _NONE), *closed, strict=True))
            if len(closed) > 1:
                rows, tokens = np.unique((rows, tokens), axis=1)
            forbidden = Forbidden(rows, tokens, early)
        self._wanted = self._asked_for(forbidden, lacking)
        for row, begin, end in self._forced if alone else ():
            if begin == end and (asked := self._asked[self._sentences[row]]) is not None:
                raise nothing_found(asked.name)
        of_terms = None if self._terms is None else self._terms.wanted(forbidden)
        return forbidden, joined(*filter(None, (self._wanted, of_terms)))

    def _avoided(self, row: int, *, whole: bool) -> np.ndarray:
        """Returns the tokens with which a hypothesis would hold an avoided phrase; whole: or leave its prefix."""
        asked = self._asked[self._sentences[row]]
        if self._spelled is None or asked is None:
            return _NONE
        avoided = _NONE if asked.avoided is None else asked.avoided.forbidden(self._spelled[row][1])
        options = self._options(row) if whole else None
        if options is None:
            return avoided
        return np.setdiff1d(np.arange(len(asked.spelling.surfaces)), np.setdiff1d(options, avoided))

    def _options(self, row: int) -> np.ndarray | None:
        """Returns the tokens that go on with a prefix; None where there is none, or no longer."""
        asked = self._asked[self._sentences[row]]
        if self._spelled is None or asked is None or asked.prefix is None:
            return None
        return asked.prefix.options(self._spelled[row][0])

    def _asked_for(self, forbidden: Forbidden | None, lacking: np.ndarray | None) -> Wanted | None:
        """Returns the tokens that go on with prefixes, of which only avoided phrases take some, and those that go on
        with phrases. lacking: [N], the tokens that each hypothesis lacks of its phrases; None: of no phrases."""
        pairs: list[tuple[np.ndarray, np.ndarray]] = []
        # Of hypotheses in their prefix, what goes on with that.
        self._forced = []
        begin = 0
        for row in () if self._spelled is None else range(len(self._sentences)):
            options = self._options(row)
            if options is not None:
                options = np.setdiff1d(options, self._avoided(row, whole=False))
                pairs.append((np.full(len(options), row), options))
                self._forced.append((row, begin, begin + len(options)))
                begin += len(options)
        # Of the others, what goes on with phrases and is not forbidden.
        if self._table is not None and lacking is not None:
            rows, tokens = self._table.following(self._phrases)
            # EOS, too: else all tokens that are asked for may go on with the last word of a phrase.
            met = np.flatnonzero(lacking == 0)
            rows = np.concatenate((rows, met))
            tokens = np.concatenate((tokens, np.full(len(met), EOS)))
            free = np.ones(len(rows), bool)
            if self._forced:
                free &= ~np.isin(rows, [row for row, _, _ in self._forced])
            if forbidden is not None:
                free &= ~(forbidden.early[rows] & (tokens == EOS))
                if len(forbidden.rows):
                    free &= ~np.isin(rows << 32 | tokens, forbidden.rows << 32 | forbidden.tokens)
            pairs.append((rows[free], tokens[free]))
        return joined(*pairs)

    def choices(self, step: Step) -> tuple[Step, np.ndarray | None]:
        """Returns a step with what was asked for in place of what it answered, or in columns beside that. With it comes
        of each next token how many its hypothesis lacks then, [N, K] int64; None where nothing must appear."""
        of_terms = None
        if self._terms is not None and step.wanted is not None:
            begin = 0 if self._wanted is None else len(self._wanted.rows)
            step, of_terms = self._terms.choices(
                step._replace(wanted=step.wanted[:begin]), step.wanted[begin:], self._room()
            )
        # A hypothesis within its prefix goes on with that alone.
        log_probs = step.log_probs.copy()
        tokens = step.tokens.copy()
        for row, begin, end in self._forced:
            log_probs[row] = -np.inf
            if step.wanted is not None and self._wanted is not None:
                best = begin + (-step.wanted[begin:end]).argsort(kind="stable")[: tokens.shape[1]]
                log_probs[row, : len(best)] = step.wanted[best]
                tokens[row, : len(best)] = self._wanted.tokens[best]
        if self._table is None:
            return step._replace(log_probs=log_probs, tokens=tokens), of_terms
        # Of each next token, what its hypothesis would lack, and whether that has room.
        log_probs, tokens = self._with_phrases(log_probs, tokens, step.wanted)
        columns = tokens.shape[1]
        rows = np.arange(len(tokens)).repeat(columns)
        sentences = self._sentences[rows]
        states = self._table.after(self._phrases.rows(rows), sentences, tokens.ravel())
        lacking, fewest = (numbers.reshape(tokens.shape) for numbers in self._table.remaining(states, sentences))
        log_probs[fewest > np.where(tokens == EOS, 0, self._room()[:, None] - 1)] = -np.inf
        if of_terms is not None:
            lacking += np.pad(of_terms, ((0, 0), (0, columns - of_terms.shape[1])), mode="edge")
        return step._replace(log_probs=log_probs, tokens=tokens), lacking

    def _room(self) -> np.ndarray:
        """Returns how many tokens each hypothesis may still have."""
        return self._limits[self._sentences] - self._length

    def drawn(self, step: Step) -> Step:
        """Returns a step of draws with the tokens of terms that are due in place of those that were drawn."""
        if self._terms is None or step.wanted is None:
            return step
        begin = 0 if self._wanted is None else len(self._wanted.rows)
        return self._terms.choices(step, step.wanted[begin:], self._room(), drawn=True)[0]

    def _with_phrases(
        self, log_probs: np.ndarray, tokens: np.ndarray, values: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns next tokens with further columns for those that go on with phrases, each once."""
        begin = self._forced[-1][2] if self._forced else 0
        if values is None or self._wanted is None or len(values) == begin:
            return log_probs, tokens
        rows, wanted = (column[begin:] for column in self._wanted)
        order = rows.argsort(kind="stable")
        order = order[~(tokens[rows] == wanted[:, None]).any(1)[order]]  # each token once
        rows, wanted, values = (column[order] for column in (rows, wanted, values[begin:]))
        # Their columns, in order within each hypothesis. Places that are left have no probability.
        places = np.arange(len(rows)) - rows.searchsorted(rows)
        shape = len(tokens), places.max(initial=-1) + 1
        further_log_probs = np.full(shape, -np.inf, np.float32)
        further_tokens = np.full(shape, EOS)
        further_log_probs[rows, places] = values
        further_tokens[rows, places] = wanted
        return np.concatenate((log_probs, further_log_probs), 1), np.concatenate((tokens, further_tokens), 1)

    def follow(self, parents: list[int], tokens: list[int]) -> None:
        """Goes on with hypotheses that continue those of `parents` by tokens."""
        self._length += 1
        if self._terms is not None:
            self._terms.follow(parents, tokens)
        sentences = self._sentences[parents]
        if self._table is not None:
            states = self._phrases.rows(np.array(parents, np.int64))
            self._phrases = self._table.after(states, sentences, np.array(tokens, np.int64))
        if self._spelled is not None:
            triples = zip(parents, tokens, sentences.tolist(), strict=True)
            self._spelled = [self._spelled_after(parent, token, sentence) for parent, token, sentence in triples]
        self._sentences = sentences

    def _spelled_after(self, parent: int, token: int, sentence: int) -> tuple[int, str]:
        """Returns the states of prefix and avoided phrases of a hypothesis that continues another by a token."""
        assert self._spelled is not None
        prefix, end = self._spelled[parent]
        asked = self._asked[sentence]
        if asked is not None and asked.prefix is not None and asked.prefix.options(prefix) is not None:
            prefix = asked.prefix.after(prefix, token)
        if asked is not None and asked.avoided is not None:
            end = asked.avoided.after(end, token)
        return prefix, end


def nothing_found(name: str) -> UserError:
    """Returns the error where no hypothesis has all that is asked of it."""
    return UserError(
        f"this search found no translation of {name} with all that it asks for: ask for less, widen the beam, or "
        "raise the limit of length"
    )


def joined(*pairs: tuple[np.ndarray, np.ndarray]) -> Wanted | None:
    """Returns what all pairs want, by rows and tokens; None where that is nothing."""
    if not sum(len(rows) for rows, _ in pairs):
        return None
    rows, tokens = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return Wanted(rows, tokens)


def shared(scores: np.ndarray, lacking: np.ndarray) -> np.ndarray:
    """Returns of each sentence the order in which its next hypotheses get slots. First is the best of each number of
    lacking tokens, fewest first, then the second best of each, and so on; impossible ones at last.

    scores: [S, M], -inf of impossible ones. lacking: [S, M].
    """
    # Fewest lacking first, and the best first of those that lack as many: a bank.
    order = np.lexsort((-scores, lacking))
    columns = np.arange(scores.shape[1])
    banks = np.take_along_axis(lacking, order, 1)
    begins = np.ones(banks.shape, bool)
    begins[:, 1:] = banks[:, 1:] != banks[:, :-1]
    # The rank of each within its bank: its column less that of the bank's first.
    ranks = np.empty(lacking.shape, np.int64)
    np.put_along_axis(ranks, order, columns - np.maximum.accumulate(np.where(begins, columns, 0), 1), 1)
    ranks[scores == -np.inf] = scores.shape[1]
    return np.lexsort((lacking, ranks))
