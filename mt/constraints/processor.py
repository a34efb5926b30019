"""The processor of a search for the constraints of single sentences. Needs no torch and knows no model.

Phrases that must appear compete by dynamic beam allocation (Post & Vilar 2018; Hu et al. 2019). Beside the most
probable tokens of each hypothesis are those that go on with a phrase, and EOS when all are met. Hypotheses that lack as
many tokens form a bank, and banks share the slots of a sentence. So at each step the best hypothesis of the bank that
lacks fewest tokens comes one token closer. A hypothesis is dropped when it has fewer steps left than a phrase has
tokens.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mt.constraints.phrases import Phrases
from mt.constraints.spelling import Avoided, Prefix, Spelling
from mt.constraints.terms import Terms
from mt.errors import UserError
from mt.search.processor import Candidates, Processor
from mt.search.stepper import Scores
from mt.step import EOS


class TokenConstraints(NamedTuple):
    """The constraints of one sentence, which its hypotheses must meet."""

    name: str
    """What to call the sentence, such as its line in a file."""
    spelling: Spelling
    """The texts of the tokens."""
    phrases: Phrases | None = None
    avoided: Avoided | None = None
    prefix: Prefix | None = None
    terms: Terms | None = None
    """Terms that are written into its hypotheses afterwards; until then there must be room for them."""
    waits: bool = False
    """Whether its source still arrives, and the room for what is asked with it."""

    @property
    def fewest(self) -> int:
        """The fewest tokens of a hypothesis that may meet the constraints."""
        # Phrases may share tokens with one another and with the prefix, so that only the longest is certain.
        phrases = 0 if self.phrases is None else max(self.phrases.least)
        prefix = 0 if self.prefix is None else self.prefix.fewest
        return max(phrases, prefix) + (0 if self.terms is None else self.terms.fewest)


class State:
    """The state of a hypothesis in the automata of its sentence.

    It is made when the first hypothesis reaches it, and all hypotheses of the sentence with the same tokens share it
    and the tokens that it allows and forbids.
    """

    def __init__(self, *parts: tuple[Any, Any]) -> None:
        """parts: the automata of the prefix, of what is avoided and of phrases, each with its state."""
        self._prefix, self._avoided, self._phrases = parts
        self._after: dict[int, State] = {}

    @classmethod
    def first(cls, asked: TokenConstraints) -> "State":
        """Returns the state of a hypothesis without tokens."""
        # An automaton of nothing allows all.
        prefix = asked.prefix or Prefix((), "", asked.spelling)
        avoided = asked.avoided or Avoided((), asked.spelling)
        phrases = asked.phrases or Phrases((), asked.spelling)
        return cls((prefix, prefix.start), (avoided, avoided.start), (phrases, phrases.start))

    def after(self, token: int) -> "State":
        """Returns the state after one more token."""
        if token not in self._after:
            parts = (self._prefix, self._avoided, self._phrases)
            self._after[token] = State(*((automaton, automaton.after(state, token)) for automaton, state in parts))
        return self._after[token]

    @cached_property
    def options(self) -> np.ndarray | None:
        """The tokens of which one must follow, [W] int64, without those that are avoided; None where the prefix is
        complete, so that any token may follow."""
        prefix, state = self._prefix
        avoided, end = self._avoided
        options = prefix.options(state)
        return None if options is None else np.setdiff1d(options, avoided.forbidden(end))

    @cached_property
    def forbidden(self) -> np.ndarray:
        """The tokens that may not follow, [F] int64: EOS, too, before all phrases are met."""
        tokens = [automaton.forbidden(state) for automaton, state in (self._avoided, self._prefix)]
        # The last part holds EOS where phrases are lacking, and nothing elsewhere.
        return np.concatenate([*tokens, np.full(int(self.lacking > 0), EOS)])

    @cached_property
    def wanted(self) -> list[int]:
        """The tokens that compete with the most probable ones, if they may follow."""
        phrases, state = self._phrases
        if not phrases.forms or self.options is not None:
            return []
        # EOS, too: else all that go on with phrases may take back that the last one was met.
        return [*phrases.following(state), *([] if self.lacking else [EOS])]

    @property
    def lacking(self) -> int:
        """How many tokens it lacks of its phrases, one after another; 0 where the hypothesis may end."""
        phrases, state = self._phrases
        return phrases.needed(state)[0]

    def needed_after(self, token: int) -> tuple[int, int]:
        """Returns how many tokens of its phrases it would lack after one more token, and how few might do; see
        `Phrases.needed`."""
        phrases, state = self._phrases
        return phrases.needed(phrases.after(state, token))


class ConstraintProcessor(Processor):
    """Runs the automata of the sentences of a batch for all their hypotheses."""

    def __init__(self, sentences: Sequence[TokenConstraints | None], limits: Sequence[int]) -> None:
        """
        Args:
            sentences: the constraints of each, some of which have some; None: it has none.
            limits: of each the most tokens of a hypothesis.

        Raises UserError where more is asked than has room.
        """
        # What the limit of length leaves no room for is refused before anything is searched.
        for asked, limit in zip(sentences, limits, strict=True):
            if asked is not None and not asked.waits and asked.fewest > limit:
                raise UserError(
                    f"{asked.name} asks for {asked.fewest} tokens or more, and at most {limit} are written: ask for "
                    "less, or raise the limit (search.max_length)"
                )
        # A sentence without constraints runs with automata that allow everything.
        spelling = next(asked.spelling for asked in sentences if asked is not None)
        self._states = [State.first(asked or TokenConstraints("", spelling)) for asked in sentences]
        """[N]: of each hypothesis."""
        self._room = [*limits]
        """[N]: how many tokens each hypothesis may still have."""
        self._has_phrases = any(asked is not None and asked.phrases is not None for asked in sentences)

    def mask(self, scores: Scores) -> None:
        # Within a prefix only its options may follow; else all tokens but the forbidden ones.
        rows = [*enumerate(self._states)]
        within = [(row, state.options) for row, state in rows if state.options is not None]
        if within:
            scores.restrict(np.array([row for row, _ in within]), *_pairs(within))
        scores.forbid(*_pairs([(row, state.forbidden) for row, state in rows if state.options is None]))

    def propose(self, scores: Scores, candidates: Candidates) -> Candidates:
        if not self._has_phrases:
            return candidates
        # Tokens that go on with a phrase compete, too. The bank is how many tokens of phrases would be lacking.
        log_probs, tokens = self._with_wanted(scores, candidates)
        banks = np.zeros(tokens.shape, np.int64)
        least = np.zeros(tokens.shape, np.int64)
        for row, state in enumerate(self._states):
            banks[row], least[row] = zip(*map(state.needed_after, tokens[row].tolist()), strict=True)
        # A hypothesis is dropped where the rest of its phrases has no room.
        # Nothing fits behind EOS.
        room = np.where(tokens == EOS, 0, np.array(self._room)[:, None] - 1)
        log_probs[least > room] = -np.inf
        return Candidates(log_probs, tokens, banks)

    def _with_wanted(self, scores: Scores, candidates: Candidates) -> tuple[np.ndarray, np.ndarray]:
        """Returns the log-probabilities and tokens of candidates, with further columns for wanted tokens."""
        log_probs, tokens, _ = candidates
        # The wanted tokens of each hypothesis that are no candidates yet.
        pairs = zip(self._states, tokens.tolist(), strict=True)
        further = [[token for token in state.wanted if token not in best] for state, best in pairs]
        # As a grid, whose unused places are impossible.
        width = max(map(len, further))
        further_tokens = np.array([[*of_row, *[EOS] * (width - len(of_row))] for of_row in further], np.int64)
        rows = np.arange(len(further)).repeat(width)
        further_log_probs = scores.at(rows, further_tokens.ravel()).reshape(further_tokens.shape)
        further_log_probs[np.arange(width) >= np.array([*map(len, further)])[:, None]] = -np.inf
        return np.concatenate((log_probs, further_log_probs), 1), np.concatenate((tokens, further_tokens), 1)

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        self._states = [self._states[parent].after(token) for parent, token in zip(parents, tokens, strict=True)]
        self._room = [self._room[parent] - 1 for parent in parents]


def _pairs(of_rows: Sequence[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows with several tokens each as pairs of a row and a token, [W] int64 both."""
    rows = np.array([row for row, _ in of_rows], np.int64).repeat([len(tokens) for _, tokens in of_rows])
    return rows, np.concatenate([np.zeros(0, np.int64), *(tokens for _, tokens in of_rows)])


def nothing_found(name: str) -> UserError:
    """Returns the error where no hypothesis meets its constraints."""
    return UserError(
        f"this search found no translation of {name} with all that it asks for: ask for less, widen the beam, or "
        "raise the limit of length"
    )
