"""Phrases that must appear in a hypothesis, as an automaton over tokens (Aho & Corasick 1975). Needs no torch.

Each hypothesis of a batch has integers for a state. They are the node of its sentence's automaton that its last tokens
lead to, and of each phrase how often it is missing. A phrase has several forms, sequences of tokens of which any will
do, and the same phrase twice is to appear twice. It ends with its word: a token that goes on with the word takes back
that the phrase was met.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.step import EOS

OUTSIDE = 0
"""The node of a hypothesis that is in no phrase, and whose last character ends its word whatever follows."""
INSIDE = 1
"""Likewise, where a letter that follows would go on with its word; phrases that begin with a letter have no place."""
_STRIDE = 1 << 32
"""More than there are tokens."""


class Form(NamedTuple):
    """Tokens that write a phrase."""

    tokens: tuple[int, ...]
    bare: bool = False
    """Whether the first token goes on with the word before, if that ends in a letter."""


class Phrases:
    """The phrases of one sentence."""

    def __init__(self, phrases: Sequence[Sequence[Form]], inside: np.ndarray) -> None:
        """
        Args:
            phrases: the forms of each, of at least one token.
            inside: [V] bool: whether the text may go on with the last word of a token.
        """
        counted = Counter(tuple(sorted(set(forms))) for forms in phrases)
        self.forms = [*counted]
        """[C]: the forms of each phrase."""
        self.copies = [*counted.values()]
        """[C]: how often each phrase is to appear."""
        self.least = [
            min([len(form.tokens) for form in forms if not form.bare] or [len(form.tokens) for form in forms])
            for forms in counted
        ]
        """[C]: tokens of its shortest form that may stand anywhere."""
        self.resets = [count > 1 and _overlap(forms) for forms, count in counted.items()]
        """[C]: whether its next copy must not begin within the last one."""
        # The automaton: its edges, and what is met, gained and may follow at each node.
        children, left, following = _ways([*counted])
        self.edges, failures = _edges(children, inside)
        """Of each node the tokens after which a hypothesis is in some phrase, and the nodes that they lead to."""
        self.met = np.zeros((len(children), len(counted)), bool)
        """Which phrases end at each node."""
        self.gains = np.zeros(self.met.shape, np.int64)
        """How many tokens of each phrase are there at a node, against its shortest form."""
        for node in failures:
            if node not in (OUTSIDE, INSIDE):
                failure = failures[node]
                self.met[node] = self.met[failure]
                self.gains[node] = self.gains[failure]
                following[node] |= following[failure]
            for phrase, tokens in left[node]:
                self.met[node, phrase] |= tokens == 0
                if tokens:
                    self.gains[node, phrase] = max(self.gains[node, phrase], self.least[phrase] - tokens)
        self.following = [sorted(of_node) for of_node in following]
        """Of each node the tokens that go on with a phrase, and the phrase."""


def _ways(
    phrases: Sequence[Sequence[Form]],
) -> tuple[list[dict[int, int]], list[list[tuple[int, int]]], list[set[tuple[int, int]]]]:
    """Returns of each node the nodes after it, the phrases on whose ways it is with tokens to go, and the tokens that
    go on."""
    children: list[dict[int, int]] = [{}, {}]
    left: list[list[tuple[int, int]]] = [[], []]
    following: list[set[tuple[int, int]]] = [set(), set()]
    # A node for each beginning of a form.
    ways = [(phrase, form) for phrase, forms in enumerate(phrases) for form in forms]
    for phrase, (tokens, bare) in ways:
        node = OUTSIDE
        for to_go, token in zip(range(len(tokens) - 1, -1, -1), tokens, strict=True):
            if token not in children[node]:
                children[node][token] = len(children)
                children.append({})
                left.append([])
                following.append(set())
            following[node].add((token, phrase))
            if node == OUTSIDE and not bare:
                children[INSIDE][token] = children[OUTSIDE][token]
                following[INSIDE].add((token, phrase))
            node = children[node][token]
            left[node].append((phrase, to_go))
    return children, left, following


def _edges(children: list[dict[int, int]], inside: np.ndarray) -> tuple[list[dict[int, int]], dict[int, int]]:
    """Returns of each node all its edges; and, the nearest first, the node of the longest end of its tokens that begins
    a phrase, too."""
    edges = [dict(of_node) for of_node in children]
    failures = {OUTSIDE: OUTSIDE, INSIDE: INSIDE}
    queue = [OUTSIDE, INSIDE]
    for node in queue:  # which grows
        for token, child in children[node].items():
            if child in failures:
                continue
            root = INSIDE if _at(inside, token) else OUTSIDE
            failures[child] = root if node in (OUTSIDE, INSIDE) else edges[failures[node]].get(token, root)
            edges[child] = edges[failures[child]] | children[child]
            queue.append(child)
    return edges, failures


def repeats(phrases: Phrases, size: int) -> bool:
    """Returns whether a phrase holds so many tokens in a row twice, in all its forms, or is to appear twice with as
    many."""
    for forms, copies in zip(phrases.forms, phrases.copies, strict=True):
        for form in forms:
            ngrams = [form.tokens[i : i + size] for i in range(len(form.tokens) - size + 1)] * copies
            if len(set(ngrams)) == len(ngrams):
                break
        else:
            return True
    return False


def _overlap(forms: Sequence[Form]) -> bool:
    """Returns whether two appearances of a phrase may share tokens."""
    if len(forms) > 1:
        return True
    (tokens, _) = forms[0]
    return any(tokens[:size] == tokens[-size:] for size in range(1, len(tokens)))


def _at(table: np.ndarray, tokens: np.ndarray | int) -> np.ndarray:
    """Returns entries of a table of the vocabulary; False for ids beyond it, which are whole words of a source."""
    return table[np.where(np.asarray(tokens) < len(table), tokens, EOS)]


class PhraseStates(NamedTuple):
    """How far N hypotheses have come with their phrases."""

    nodes: np.ndarray
    """[N] int64: of the automaton of all sentences."""
    missing: np.ndarray
    """[N, C] int64: how often each phrase is missing."""
    fresh: np.ndarray
    """[N, C] bool: the phrases that were met by the last token."""
    inside: np.ndarray
    """[N] bool: whether a letter would go on with the last word."""

    def rows(self, rows: np.ndarray) -> "PhraseStates":
        return PhraseStates(*(numbers[rows] for numbers in self))


class PhraseTable:
    """The automata of the sentences of a batch as one, for all their hypotheses at once."""

    def __init__(self, sentences: Sequence[Phrases], inside: np.ndarray, continues: np.ndarray) -> None:
        """
        Args:
            inside: see `Phrases`.
            continues: [V] bool: whether a token would go on with a word before it.
        """
        self._inside = inside
        self._continues = continues
        most = max(len(phrases.copies) for phrases in sentences)
        # The nodes of a sentence follow those of the sentence before it.
        sizes = [len(phrases.edges) for phrases in sentences]
        self._roots = np.cumsum([0, *sizes[:-1]])
        """[S]: the first node of each sentence."""
        # Tables over nodes, and tables over sentences, with a column for each phrase.
        self._met = np.concatenate([_widened(phrases.met, most) for phrases in sentences]) > 0
        self._gains = np.concatenate([_widened(phrases.gains, most) for phrases in sentences])
        self._copies = _widened([phrases.copies for phrases in sentences], most)
        self._least = _widened([phrases.least for phrases in sentences], most)
        self._resets = _widened([phrases.resets for phrases in sentences], most)
        # All edges as one sorted table of keys, of which the last is never asked for.
        edges = [
            ((root + node) * _STRIDE + token, root + child)
            for root, phrases in zip(self._roots.tolist(), sentences, strict=True)
            for node, of_node in enumerate(phrases.edges)
            for token, child in sorted(of_node.items())
        ]
        self._keys, self._children = np.array([*edges, (np.iinfo(np.int64).max, 0)], np.int64).T.copy()
        # All that follows as one list, and of each node how many pairs of it, and the first.
        following = [of_node for phrases in sentences for of_node in phrases.following]
        self._counts = np.array([*map(len, following)])
        self._firsts = np.cumsum(self._counts) - self._counts
        self._following = np.array([pair for of_node in following for pair in of_node], np.int64).reshape(-1, 2)

    def begin(self) -> PhraseStates:
        """Returns the state of one hypothesis of each sentence, before the first token."""
        count, most = self._copies.shape
        return PhraseStates(
            self._roots.copy(), self._copies.copy(), np.zeros((count, most), bool), np.zeros(count, bool)
        )

    def after(self, states: PhraseStates, sentences: np.ndarray, tokens: np.ndarray) -> PhraseStates:
        """Returns the states of hypotheses of these sentences after one more token each."""
        nodes, missing, fresh, inside = states
        # A token that goes on with the last word of a phrase takes the phrase back.
        broken = inside & _at(self._continues, tokens)
        missing = missing + (fresh & broken[:, None])
        # The edge by this token; without one, back to the root.
        inside = _at(self._inside, tokens)
        roots = self._roots[sentences] + inside
        keys = nodes * _STRIDE + tokens
        places = self._keys.searchsorted(keys)
        nodes = np.where(self._keys[places] == keys, self._children[places], roots)
        fresh = self._met[nodes] & (missing > 0)
        missing = missing - fresh
        # A further copy of a phrase begins after this one.
        again = (fresh & (missing > 0) & (self._resets[sentences] > 0)).any(1)
        return PhraseStates(np.where(again, roots, nodes), missing, fresh, inside)

    def remaining(self, states: PhraseStates, sentences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns how many tokens each hypothesis needs to meet all its phrases, one after another, [N] int64. Beside
        it stands the number of the phrase that needs most, without which none does, since phrases may share tokens."""
        missing = states.missing > 0
        least = self._least[sentences]
        gains = self._gains[states.nodes]
        begun = np.where(missing, gains, 0).max(1, initial=0)
        return (states.missing * least).sum(1) - begun, np.where(missing, least - gains, 0).max(1, initial=0)

    def following(self, states: PhraseStates) -> tuple[np.ndarray, np.ndarray]:
        """Returns the tokens that go on with a missing phrase, or begin one: rows and tokens, [W] int64 each."""
        # A row for each pair of each hypothesis: its place is the first of its node, and how far it is behind.
        counts = self._counts[states.nodes]
        rows = np.arange(len(counts)).repeat(counts)
        offsets = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
        tokens, phrases = self._following[self._firsts[states.nodes][rows] + offsets].T
        # Of missing phrases, each token once.
        keys = np.unique((rows * _STRIDE + tokens)[states.missing[rows, phrases] > 0])
        return keys // _STRIDE, keys % _STRIDE


def _widened(rows: Sequence[Sequence[int]] | np.ndarray, columns: int) -> np.ndarray:
    """Returns a table of as many columns, with 0 where a row ends before."""
    table = np.zeros((len(rows), columns), np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table
