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
from mt.search.spelling import Avoided, Prefix, Spelled, Spelling
from mt.search.stepper import Step
from mt.search.terms import Terms
from mt.step import EOS

NOTHING = Wanted(np.zeros(0, np.int64), np.zeros(0, np.int64))


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
        phrases = 0 if self.phrases is None else max(self.phrases.least)
        prefix = 0 if self.prefix is None else self.prefix.fewest
        return max(phrases, prefix) + (0 if self.terms is None else self.terms.fewest)


class Steering:
    """How far the hypotheses of a batch have come with what is asked of them. A search asks before a step, chooses
    after it, and says which hypotheses go on."""

    def __init__(
        self,
        sentences: Sequence[TokenConstraints | None],
        limits: Sequence[int],
    ) -> None:
        """
        Args:
            sentences: of each what is asked; None: nothing.
            limits: of each the most tokens of a hypothesis.

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
        self._spelled: list[Spelled | None] = []
        """[N]: how far each hypothesis has come with prefix and avoided phrases; empty where no sentence has either."""
        if any(asked is not None and (asked.prefix or asked.avoided) for asked in sentences):
            self._spelled = [None if asked is None else Spelled(asked.prefix, asked.avoided) for asked in sentences]
        self._table: PhraseTable | None = None
        self._phrases: PhraseStates
        # The automata of phrases, as one.
        spelling = next((asked.spelling for asked in sentences if asked is not None and asked.phrases), None)
        if spelling is not None:
            none = Phrases([], spelling.inside)
            phrases = [none if asked is None or asked.phrases is None else asked.phrases for asked in sentences]
            self._table = PhraseTable(phrases, spelling.inside, spelling.continues)
            self._has_phrases = np.array([of_sentence is not none for of_sentence in phrases])
            self._phrases = self._table.begin()
        self._within: list[int] = []
        """The hypotheses that are in their prefix."""
        self._wanted: list[Wanted] = []
        """What a step is asked for: what goes on with prefixes, and with phrases."""

    def before(self, forbidden: Forbidden | None, *, alone: bool = False) -> tuple[Forbidden | None, Wanted | None]:
        """Returns what a step must not answer, and what it is asked for.

        forbidden: what hypotheses may not have for other reasons. alone: whether the step draws tokens, so that all
            that does not go on with a prefix is forbidden. Raises UserError where nothing is left of a prefix then.
        """
        count = len(self._sentences)
        # Of the hypotheses in their prefix, what goes on with that, but for what avoided phrases take.
        options: dict[int, np.ndarray] = {}
        # Few hypotheses have tokens that end an avoided phrase.
        closed: list[tuple[np.ndarray, np.ndarray]] = []
        for row, (spelled, sentence) in enumerate(zip(self._spelled, self._sentences.tolist(), strict=False)):
            asked = self._asked[sentence]
            if spelled is None or asked is None:
                continue
            tokens = spelled.forbidden()
            if (going_on := spelled.options()) is not None:
                options[row] = np.setdiff1d(going_on, tokens)
                if alone:
                    tokens = np.setdiff1d(np.arange(len(asked.spelling.surfaces)), options[row])
                    if not len(options[row]):
                        raise nothing_found(asked.name)
            closed.append((np.full(len(tokens), row), tokens))
        if forbidden is not None:
            # A prefix may repeat itself.
            free = np.array([not alone or row not in options for row in forbidden.rows.tolist()], bool)
            closed.append((forbidden.rows[free], forbidden.tokens[free]))
        # A sentence must not end before its phrases are met.
        lacking = None if self._table is None else self._table.remaining(self._phrases, self._sentences)[0]
        early = np.zeros(count, bool) if forbidden is None else forbidden.early
        if lacking is not None:
            early = early | (lacking > 0)
        pairs = joined(*closed)
        if pairs is not None and len(closed) > 1:
            pairs = Wanted(*np.unique(pairs, axis=1))
        if early.any() or pairs is not None:
            forbidden = Forbidden(*(pairs or NOTHING), early)
        # What is asked for.
        self._within = [*options]
        of_prefixes = joined(*((np.full(len(tokens), row), tokens) for row, tokens in options.items()))
        self._wanted = [of_prefixes or NOTHING, self._following(forbidden, lacking)]
        return forbidden, joined(*self._wanted)

    def _following(self, forbidden: Forbidden | None, lacking: np.ndarray | None) -> Wanted:
        """Returns the tokens that go on with phrases and are not forbidden, of hypotheses that are in no prefix.

        lacking: [N], the tokens that each hypothesis lacks of its phrases; None: of no phrases.
        """
        if self._table is None or lacking is None:
            return NOTHING
        rows, tokens = self._table.following(self._phrases)
        # EOS, too: else all tokens that are asked for may go on with the last word of a phrase.
        met = np.flatnonzero((lacking == 0) & self._has_phrases[self._sentences])
        rows = np.concatenate((rows, met))
        tokens = np.concatenate((tokens, np.full(len(met), EOS)))
        free = ~np.isin(rows, self._within)
        if forbidden is not None:
            free &= ~(forbidden.early[rows] & (tokens == EOS))
            free &= ~np.isin(rows << 32 | tokens, forbidden.rows << 32 | forbidden.tokens)
        return Wanted(rows[free], tokens[free])

    def _values(self, step: Step) -> list[np.ndarray]:
        """Returns the log-probabilities of each part of what was asked for."""
        ends = np.cumsum([len(part.rows) for part in self._wanted])
        return np.split(np.zeros(0, np.float32) if step.wanted is None else step.wanted, ends[:-1])

    def choices(self, step: Step) -> tuple[Step, np.ndarray | None]:
        """Returns a step with what was asked for in place of what it answered, or in columns beside that. With it comes
        of each next token how many its hypothesis lacks then, [N, K] int64; None where nothing must appear."""
        of_prefixes, of_phrases = self._values(step)
        # A hypothesis within its prefix goes on with that alone.
        log_probs = step.log_probs.copy()
        tokens = step.tokens.copy()
        for row in self._within:
            log_probs[row] = -np.inf
            own = np.flatnonzero(self._wanted[0].rows == row)
            best = own[(-of_prefixes[own]).argsort(kind="stable")][: tokens.shape[1]]
            log_probs[row, : len(best)] = of_prefixes[best]
            tokens[row, : len(best)] = self._wanted[0].tokens[best]
        if self._table is None:
            return step._replace(log_probs=log_probs, tokens=tokens), None
        # Of each next token, what its hypothesis would lack, and whether that has room.
        log_probs, tokens = _with_columns(log_probs, tokens, self._wanted[1], of_phrases)
        columns = tokens.shape[1]
        rows = np.arange(len(tokens)).repeat(columns)
        sentences = self._sentences[rows]
        states = self._table.after(self._phrases.rows(rows), sentences, tokens.ravel())
        lacking, fewest = (numbers.reshape(tokens.shape) for numbers in self._table.remaining(states, sentences))
        log_probs[fewest > np.where(tokens == EOS, 0, self._room()[:, None] - 1)] = -np.inf
        return step._replace(log_probs=log_probs, tokens=tokens), lacking

    def _room(self) -> np.ndarray:
        """Returns how many tokens each hypothesis may still have."""
        return self._limits[self._sentences] - self._length

    def follow(self, parents: list[int], tokens: list[int]) -> None:
        """Goes on with hypotheses that continue those of `parents` by tokens."""
        self._length += 1
        sentences = self._sentences[parents]
        if self._table is not None:
            states = self._phrases.rows(np.array(parents, np.int64))
            self._phrases = self._table.after(states, sentences, np.array(tokens, np.int64))
        if self._spelled:
            before = [self._spelled[parent] for parent in parents]
            pairs = zip(before, tokens, strict=True)
            self._spelled = [None if spelled is None else spelled.after(token) for spelled, token in pairs]
        self._sentences = sentences


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


def _with_columns(
    log_probs: np.ndarray, tokens: np.ndarray, wanted: Wanted, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns next tokens with further columns for those that were wanted, each once. values: their
    log-probabilities."""
    if not len(values):
        return log_probs, tokens
    order = wanted.rows.argsort(kind="stable")
    order = order[~(tokens[wanted.rows] == wanted.tokens[:, None]).any(1)[order]]  # each token once
    rows, added, values = (column[order] for column in (*wanted, values))
    # Their columns, in order within each hypothesis. Places that are left have no probability.
    places = np.arange(len(rows)) - rows.searchsorted(rows)
    shape = len(tokens), places.max(initial=-1) + 1
    further_log_probs = np.full(shape, -np.inf, np.float32)
    further_tokens = np.full(shape, EOS)
    further_log_probs[rows, places] = values
    further_tokens[rows, places] = added
    return np.concatenate((log_probs, further_log_probs), 1), np.concatenate((tokens, further_tokens), 1)


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
