"""The tree of the hypotheses that a search has looked at: which went on, which ended, and where branches were dropped.

A search tells its observer what it chooses from and what it takes. Needs no torch.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from mt.search.hypothesis import End, penalty
from mt.search.stepper import Step

State = Literal["open", "ended", "dropped", "best"]
"""open: it went on, and so did what continues it; ended: by EOS, or at the most tokens; dropped: it got no slot, or
nothing that continues it did; best: it is part of the hypothesis that won."""
SHOWN = 6
"""How many of the most probable next tokens of a hypothesis are in a tree, beside those that went on."""


class Observer(Protocol):
    """What a search of a single sentence tells of itself."""

    def before(self, tokens: list[int], parents: list[int], log_probs: list[float], step: Step) -> None:
        """Takes the open hypotheses, see `Stepper.step`, with their log-probabilities, and what may follow them."""

    def end(self, ends: Sequence[End]) -> None:
        """Takes the hypotheses that have ended with the step."""


class Node(NamedTuple):
    """A beginning of a hypothesis."""

    parent: int
    """The number of the node that it continues; -1 of the first, which is empty."""
    token: int
    log_prob: float
    """Of all its tokens."""
    score: float
    """By which it is ranked, but for what an open one pays for its attention."""
    state: State


class Tree:
    """An observer that keeps all it is told."""

    def __init__(self, length_penalty: float) -> None:
        self.nodes = [Node(-1, -1, 0.0, 0.0, "dropped")]
        """Parents before what continues them."""
        self._length_penalty = length_penalty
        self._length = 0
        self._children: dict[tuple[int, int], int] = {}
        """The node of a node and a next token."""
        self._open: list[int] = []
        """The node of each open hypothesis."""

    def before(self, tokens: list[int], parents: list[int], log_probs: list[float], step: Step) -> None:
        # Those that are open have got a slot in the step before.
        pairs = zip(tokens, parents, log_probs, strict=True)
        self._open = [
            self._child(self._open[parent], token, log_prob) if self._open else 0 for token, parent, log_prob in pairs
        ]
        for node in self._open:
            self._set(node, "open")
        # What may follow each, the most probable alone.
        self._length += 1
        for node, log_prob, values, following in zip(self._open, log_probs, step.log_probs, step.tokens, strict=True):
            for value, token in zip(values[:SHOWN].tolist(), following[:SHOWN].tolist(), strict=True):
                if value > -float("inf"):
                    self._child(node, token, log_prob + value)

    def end(self, ends: Sequence[End]) -> None:
        for end in ends:
            node = self._child(self._open[end.row], end.token, end.log_prob)
            self._set(node, "ended", end.score)

    def close(self, best: Sequence[int]) -> None:
        """Says where branches were dropped, and which hypothesis has won, by its tokens; when the search is over."""
        continued = {node.parent for node in self.nodes if node.state != "dropped"}
        for number, node in enumerate(self.nodes):
            if node.state == "open" and number not in continued:
                self._set(number, "dropped")
        number = 0
        self._set(number, "best")
        for token in best:
            number = self._child(number, token, self.nodes[number].log_prob)  # tokens of terms are no one's choice
            self._set(number, "best")

    def _child(self, parent: int, token: int, log_prob: float) -> int:
        if (parent, token) not in self._children:
            self._children[parent, token] = len(self.nodes)
            score = log_prob / penalty(self._length, self._length_penalty)
            self.nodes.append(Node(parent, token, log_prob, score, "dropped"))
        return self._children[parent, token]

    def _set(self, number: int, state: State, score: float | None = None) -> None:
        node = self.nodes[number]
        self.nodes[number] = node._replace(state=state, score=node.score if score is None else score)
