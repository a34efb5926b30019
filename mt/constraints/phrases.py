"""Phrases that a hypothesis must hold, as an automaton over tokens. Needs no torch.

A phrase has several forms, which are sequences of tokens, and any of them will do. A phrase that is given twice must
appear twice. It ends with a whole word: a token that goes on with that word takes back that the phrase was met.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from mt.constraints.spelling import Spelling


class Form(NamedTuple):
    """Tokens that write a phrase."""

    tokens: tuple[int, ...]
    bare: bool = False
    """Whether the first token goes on with the word before, if that ends in a letter."""


class PhraseState(NamedTuple):
    """How far a hypothesis has come with its phrases."""

    begun: tuple[tuple[int, int, int], ...]
    """The forms that its last tokens begin: phrase, form, and how many tokens of it are there."""
    missing: tuple[int, ...]
    """How often each phrase is missing."""
    fresh: tuple[int, ...] = ()
    """The phrases that were met by the last token."""
    inside: bool = False
    """Whether a letter would go on with the last word."""


class Phrases:
    """The phrases of one sentence."""

    def __init__(self, phrases: Sequence[Sequence[Form]], spelling: Spelling) -> None:
        """phrases: the forms of each, of at least one token."""
        counted = Counter(tuple(sorted(set(forms))) for forms in phrases)
        self.forms = [*counted]
        """[C]: the forms of each phrase."""
        self.copies = [*counted.values()]
        """[C]: how often each phrase is to appear."""
        # A bare form may not follow a letter, so that it counts only where a phrase has no other form.
        self.least = [
            min([len(form.tokens) for form in forms if not form.bare] or [len(form.tokens) for form in forms])
            for forms in counted
        ]
        """[C]: tokens of its shortest form that may stand anywhere."""
        self.start = PhraseState((), tuple(self.copies))
        self._spelling = spelling
        self._tokens = {token for forms in counted for form in forms for token in form.tokens}
        # What is computed of a state is kept: a beam looks at each again and again.
        self._after: dict[tuple[PhraseState, int | tuple[bool, bool]], PhraseState] = {}
        self.needed: Callable[[PhraseState], tuple[int, int]] = cache(self._count)
        """Returns two numbers of tokens. The first is enough for all missing phrases one after another, 0 where none is
        missing. The second is what the longest of them still needs: phrases may share tokens, but fewer never do."""

    def after(self, state: PhraseState, token: int) -> PhraseState:
        """Returns the state after one more token."""
        # Tokens of no phrase differ only by the words that they go on with.
        kind = token if token in self._tokens else (self._spelling.continues[token], self._spelling.inside[token])
        key = state, kind
        if key not in self._after:
            self._after[key] = self._next(state, token)
        return self._after[key]

    def _next(self, state: PhraseState, token: int) -> PhraseState:
        # A token that goes on with the last word of a phrase takes the phrase back.
        missing = [*state.missing]
        if state.inside and self._spelling.continues[token]:
            for phrase in state.fresh:
                missing[phrase] += 1
        # The forms that it begins or goes on with, and the phrases that it meets.
        begun = tuple(
            (phrase, form, count + 1)
            for phrase, form, count in self._ways(state)
            if self.forms[phrase][form].tokens[count] == token
        )
        met = {phrase for phrase, form, count in begun if not self._left(phrase, form, count)}
        fresh = tuple(sorted(phrase for phrase in met if missing[phrase]))
        for phrase in fresh:
            missing[phrase] -= 1
        # A further copy of a phrase begins after this one.
        again = [phrase for phrase in fresh if missing[phrase]]
        begun = tuple((phrase, form, count) for phrase, form, count in begun if phrase not in again)
        return PhraseState(begun, tuple(missing), fresh, self._spelling.inside[token])

    def _ways(self, state: PhraseState) -> list[tuple[int, int, int]]:
        """Returns the forms that the next token may begin or go on with, and how many tokens of each are there."""
        begun = [way for way in state.begun if self._left(*way)]
        return begun + [
            (phrase, number, 0)
            for phrase, forms in enumerate(self.forms)
            for number, form in enumerate(forms)
            if not (form.bare and state.inside)
        ]

    def _left(self, phrase: int, form: int, count: int) -> int:
        """Returns how many tokens of a form are left after the first `count`."""
        return len(self.forms[phrase][form].tokens) - count

    def following(self, state: PhraseState) -> list[int]:
        """Returns the tokens that go on with a missing phrase, or begin one."""
        ways = [(phrase, form, count) for phrase, form, count in self._ways(state) if state.missing[phrase]]
        return sorted({self.forms[phrase][form].tokens[count] for phrase, form, count in ways})

    def _count(self, state: PhraseState) -> tuple[int, int]:
        """Computes what `needed` returns."""
        missing = [phrase for phrase, count in enumerate(state.missing) if count]
        # How many tokens each missing phrase saves, since a part of it is there already.
        gains = dict.fromkeys(missing, 0)
        for phrase, form, count in state.begun:
            left = self._left(phrase, form, count)
            if phrase in gains and left:
                gains[phrase] = max(gains[phrase], self.least[phrase] - left)
        # All begun forms share the last tokens, so that only one of the gains is sure to count.
        total = sum(count * least for count, least in zip(state.missing, self.least, strict=True))
        longest = max((self.least[phrase] - gains[phrase] for phrase in missing), default=0)
        return total - max(gains.values(), default=0), longest

    def repeats(self, size: int) -> bool:
        """Returns whether a phrase cannot be written without some `size` tokens in a row twice: all its forms repeat
        them, or it is to appear several times."""
        for forms, copies in zip(self.forms, self.copies, strict=True):
            ngrams = [
                [form.tokens[i : i + size] for i in range(len(form.tokens) - size + 1)] * copies for form in forms
            ]
            if all(len(set(of_form)) < len(of_form) for of_form in ngrams):
                return True
        return False
