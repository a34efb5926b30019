"""The tree of the hypotheses of a search: which went on, which ended, and where branches were dropped.
Needs no torch."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from mt.decoding.network import Part
from mt.search.hypothesis import End, penalty
from mt.search.processor import Candidates, Processor
from mt.search.scores import Scores

Outcome = Literal["open", "ended", "dropped", "best"]
"""open: it went on, and so did some continuation; ended: it has EOS, or the most tokens; dropped: it got no slot, or
none of its continuations did; best: it is part of the hypothesis that won."""
SHOWN = 6
"""How many of the most probable next tokens of a hypothesis are in a tree, beside the tokens that went on."""


class Node(NamedTuple):
    """A beginning of a hypothesis."""

    parent: int
    """The number of the node that it continues; -1 of the first, which is empty."""
    token: int
    log_prob: float
    """The log-probability of all its tokens."""
    score: float
    """The score that ranks it, without the penalties for its attention while it is active."""
    state: Outcome


class SearchTree(Processor, Part):
    """Watches the search of a single sentence, without changing it."""

    def __init__(self, length_penalty: float) -> None:
        self.nodes = [Node(-1, -1, 0.0, 0.0, "open")]
        """Parents come before their children."""
        self._length_penalty = length_penalty
        self._length = 0
        self._children: dict[tuple[int, int], int] = {}
        """The child of a node by a next token."""
        self._active = [0]
        """The node of each active hypothesis."""
        self._candidates: list[dict[int, float]] = []
        """The next tokens of each active hypothesis with their log-probabilities."""

    def processors(self, indices: np.ndarray, limits: Sequence[int]) -> Sequence[Processor]:
        return [self]

    def propose(self, scores: Scores, candidates: Candidates) -> Candidates:
        self._length += 1
        columns = zip(candidates.tokens.tolist(), candidates.log_probs.tolist(), strict=True)
        self._candidates = [dict(zip(tokens, log_probs, strict=True)) for tokens, log_probs in columns]
        # The most probable next tokens are in the tree, whether they go on or not.
        for row, following in enumerate(self._candidates):
            for token, log_prob in [*following.items()][:SHOWN]:
                if log_prob > -float("inf"):
                    self._continued(row, token)
        return candidates

    def end(self, ends: Sequence[End]) -> None:
        for end in ends:
            self._set(self._continued(end.row, end.token), "ended", end.score)

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        self._active = [self._continued(parent, token) for parent, token in zip(parents, tokens, strict=True)]
        for node in self._active:
            self._set(node, "open")

    def close(self, best: Sequence[int]) -> None:
        """Marks dropped branches and the best hypothesis, when the search is over. best: the tokens of the latter."""
        # A branch that went on for a while is dropped where none of its continuations went on.
        continued = {node.parent for node in self.nodes if node.state != "dropped"}
        for number, node in enumerate(self.nodes):
            if node.state == "open" and number not in continued:
                self._set(number, "dropped")
        number = 0
        self._set(number, "best")
        for token in best:
            # Tokens of terms are new nodes: the search has not chosen them.
            number = self._child(number, token, self.nodes[number].log_prob)
            self._set(number, "best")

    def _continued(self, row: int, token: int) -> int:
        """Returns the node of an active hypothesis with one of its candidates."""
        node = self._active[row]
        return self._child(node, token, self.nodes[node].log_prob + self._candidates[row][token])

    def _child(self, parent: int, token: int, log_prob: float) -> int:
        """Returns the child of a node by a token, which is made where there is none."""
        if (parent, token) not in self._children:
            self._children[parent, token] = len(self.nodes)
            score = log_prob / penalty(self._length, self._length_penalty)
            self.nodes.append(Node(parent, token, log_prob, score, "dropped"))
        return self._children[parent, token]

    def _set(self, number: int, state: Outcome, score: float | None = None) -> None:
        node = self.nodes[number]
        self.nodes[number] = node._replace(state=state, score=node.score if score is None else score)
