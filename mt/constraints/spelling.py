"""The texts that tokens write, and two automata over them: a prefix, and phrases that a hypothesis must not hold.

Both look at characters, so that it does not matter by which tokens a text is written. Needs no torch.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache

import numpy as np

NO_TOKENS = np.zeros(0, np.int64)
_MARKS = frozenset(".!?…。！？．｡।؟")


class Spelling:
    """The texts that the tokens of a vocabulary write, and how to find tokens by their text."""

    def __init__(self, surfaces: Sequence[str], letters: Collection[str]) -> None:
        """
        Args:
            surfaces: of each token, with a blank where a word begins; empty where it writes nothing.
            letters: the characters that form words with those beside them.
        """
        self.surfaces = surfaces
        self.letters = letters
        self.inside = [surface[-1:] in letters for surface in surfaces]
        """[V]: whether a letter that follows a token would go on with its word."""
        self.continues = [surface[:1] in letters for surface in surfaces]
        """[V]: whether a token would go on with a word before it."""
        self.closing = frozenset(token for token, surface in enumerate(surfaces) if surface.rstrip()[-1:] in _MARKS)
        """The tokens that may close a sentence, since they end with a full stop or the like."""
        self._sorted = sorted((surface, token) for token, surface in enumerate(surfaces) if surface)
        # All texts in one, which is searched at once. No phrase holds the newline between them.
        self._text = "\n".join(surface for surface, _ in self._sorted)
        self._starts = np.cumsum([0, *(len(surface) + 1 for surface, _ in self._sorted)])

    def whole(self, text: str, begin: int, end: int) -> bool:
        """Returns whether the part of a text between two places is no part of a longer word."""
        return not any(
            0 < place < len(text) and text[place - 1] in self.letters and text[place] in self.letters
            for place in (begin, end)
        )

    def exactly(self, text: str) -> list[int]:
        """Returns the tokens that write exactly this text."""
        first = bisect_left(self._sorted, (text, 0))
        last = bisect_left(self._sorted, (text, len(self.surfaces)))
        return [token for _, token in self._sorted[first:last]]

    def beginning(self, text: str) -> list[tuple[str, int]]:
        """Returns the tokens whose text begins like this, each with its text. text: not empty."""
        first = bisect_left(self._sorted, (text, 0))
        last = bisect_right(self._sorted, text, key=lambda pair: pair[0][: len(text)])
        return self._sorted[first:last]

    def containing(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yields tokens whose text holds another behind its beginning: its text, the token, where the other begins.

        text: the other, not empty."""
        place = self._text.find(text)
        while place >= 0:
            number = int(self._starts.searchsorted(place, side="right")) - 1
            surface, token = self._sorted[number]
            # Tokens that begin with the text are left to `beginning`.
            if begin := place - int(self._starts[number]):
                yield surface, token, begin
            place = self._text.find(text, place + 1)


class Avoided:
    """Phrases that must not appear, as whole words: `art` is no part of `start`. The token that would end a phrase is
    forbidden, so that a longer word that begins with the same tokens is sometimes avoided, too.

    The state of a hypothesis is the end of its text that may begin a phrase, with the character before it. Its
    forbidden tokens and the states after it are kept.
    """

    # As if a blank stood before the text, so that its first word begins like any other.
    start = " "

    def __init__(self, phrases: Sequence[str], spelling: Spelling) -> None:
        """phrases: none is empty, with single blanks."""
        self.phrases = phrases
        self._spelling = spelling
        self.after: Callable[[str, int], str] = cache(lambda state, token: self._end(state + spelling.surfaces[token]))
        """Returns the state after one more token."""
        self.forbidden: Callable[[str], np.ndarray] = cache(self._completing)
        """Returns the tokens that may not follow a state, [F] int64."""
        self._within = {
            token
            for phrase in phrases
            for surface, token, begin in spelling.containing(phrase)
            if spelling.whole(surface, begin, begin + len(phrase))
        }
        """The tokens that hold a whole phrase after their first character."""

    def allows(self, tokens: Sequence[int]) -> bool:
        """Returns whether a hypothesis may begin with these tokens."""
        state = self.start
        for token in tokens:
            if token in self.forbidden(state):
                return False
            state = self.after(state, token)
        return True

    def allows_prefix(self, prefix: "Prefix") -> bool:
        """Returns whether some tokens write a prefix without any of the phrases."""
        # Pairs of the states of both automata, each of which is looked at once.
        waiting = [(prefix.start, self.start)]
        for state, end in waiting:  # which grows
            options = prefix.options(state)
            if options is None:
                return True
            for token in np.setdiff1d(options, self.forbidden(end)).tolist():
                after = prefix.after(state, token), self.after(end, token)
                if after not in waiting:
                    waiting.append(after)
        return False

    def _completing(self, state: str) -> np.ndarray:
        """Returns the tokens that would complete a phrase, or hold one."""
        ending = (token for phrase in self.phrases for token in self._ending(phrase, state))
        return np.array(sorted(self._within.union(ending)), np.int64)

    def _ending(self, phrase: str, state: str) -> Iterator[int]:
        """Yields the tokens that would complete a phrase. It may have begun in the state, or begin with the token."""
        # The state ends with the first `size` characters of the phrase.
        for size in range(min(len(phrase), len(state))):
            if not state.endswith(phrase[:size]):
                continue
            # A blank after a blank changes no text.
            rests = [phrase[size:], *([" " + phrase[size:]] if state.endswith(" ") else [])]
            for rest in rests:
                for surface, token in self._spelling.beginning(rest):
                    if self._spelling.whole(state + surface, len(state) - size, len(state) + len(rest)):
                        yield token

    def _end(self, text: str) -> str:
        """Returns the state of a hypothesis with this text."""
        while "  " in text:
            text = text.replace("  ", " ")
        # The longest end of the text with which a phrase begins.
        for begin in range(1, len(text)):
            rest = text[begin:]
            begun = any(phrase.startswith(rest) for phrase in self.phrases)
            if begun and self._spelling.whole(text, begin, len(text)):
                return text[begin - 1 :]
        return text[-1:]


class Prefix:
    """How a hypothesis must begin: with some tokens, then with a text, which may end inside a token. The state of a
    hypothesis is how many of these tokens and characters it has."""

    start = 0

    def __init__(
        self, tokens: Sequence[int], rest: str, spelling: Spelling, continuing: np.ndarray = NO_TOKENS
    ) -> None:
        """continuing: [C] int64, the tokens that may not follow, since they would go on with the last word."""
        self.tokens = tokens
        self._rest = rest
        self._spelling = spelling
        self._continuing = continuing
        self.options: Callable[[int], np.ndarray | None] = cache(self._following)
        """Returns the tokens of which one must follow a state, [W] int64, none where the vocabulary cannot write the
        rest; None where any token may follow."""

    @property
    def fewest(self) -> int:
        """The fewest tokens that write it, or as much of it as the vocabulary can write."""
        # How few tokens lead to each character of the rest, from its beginning.
        fewest = {0: 0}
        for begin in range(len(self._rest)):
            options = self.options(len(self.tokens) + begin) if begin in fewest else None
            for token in () if options is None else options.tolist():
                end = min(self.after(len(self.tokens) + begin, token) - len(self.tokens), len(self._rest))
                # A token writes a character or more, so that no way has more tokens than `end`.
                fewest[end] = min(fewest.get(end, end), fewest[begin] + 1)
        return len(self.tokens) + fewest[max(fewest)]

    def _following(self, state: int) -> np.ndarray | None:
        if state < len(self.tokens):
            return np.array(self.tokens[state : state + 1], np.int64)
        rest = self._rest[state - len(self.tokens) :]
        if not rest:
            return None
        # Tokens that write all of the rest and may go on, and those that write its beginning.
        found = [token for _, token in self._spelling.beginning(rest)]
        for size in range(1, len(rest)):
            tokens = self._spelling.exactly(rest[:size])
            options = self.options(state + size) if tokens else None
            # Only where the rest can be written after it.
            if options is not None and len(options):
                found += tokens
        return np.array(sorted(found), np.int64)

    def holds(self, state: int) -> bool:
        """Returns whether the next token writes a part of the prefix that is more than a blank."""
        return state < len(self.tokens) or bool(self._rest[state - len(self.tokens) :].strip())

    def forbidden(self, state: int) -> np.ndarray:
        """Returns the tokens that may not follow, [F] int64."""
        return self._continuing if state == len(self.tokens) + len(self._rest) else NO_TOKENS

    def after(self, state: int, token: int) -> int:
        """Returns the state after one more token, which is one of its options if it has any."""
        if state < len(self.tokens):
            return state + 1
        return state + max(1, len(self._spelling.surfaces[token]))
