"""Explores a translation (Seq2Seq-Vis; Strobelt et al. 2019): what if it began otherwise, or attended elsewhere?

`explore` translates with steps forced to attend to some positions (`_attending`, `_forced`). It returns the
translations, the tree of hypotheses of the search, and the runners-up of each step.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mt.data.fields import Raw, Row
from mt.decoding.network import Part
from mt.decoding.record import runners_up
from mt.decoding.request import Request
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import SearchConfig
from mt.search.hypothesis import End, penalty
from mt.search.options import BeamConfig, GreedyConfig
from mt.search.processor import Candidates, Processor
from mt.search.stepper import Replayed, Scores
from mt.step import Prediction

if TYPE_CHECKING:
    from mt.decoding.modes import DecodableModel
    from mt.search.torch_stepper import Predict

# The tree of the hypotheses of a search: which went on, which ended, and where branches were dropped.

Outcome = Literal["open", "ended", "dropped", "best"]
"""open: it went on, and so did some continuation; ended: it has EOS, or the most tokens; dropped: it got no slot, or
none of its continuations did; best: it is part of the hypothesis that won."""
SHOWN = 6
"""How many of the most probable next tokens of a hypothesis are in a tree, beside the tokens that went on."""


@dataclass
class Node:
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
            node = self.nodes[self._continued(end.row, end.token)]
            node.state = "ended"
            node.score = end.score

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        self._active = [self._continued(parent, token) for parent, token in zip(parents, tokens, strict=True)]
        for number in self._active:
            self.nodes[number].state = "open"

    def close(self, best: Sequence[int]) -> None:
        """Marks dropped branches and the best hypothesis, when the search is over. best: the tokens of the latter."""
        # A branch that went on for a while is dropped where none of its continuations went on.
        continued = {node.parent for node in self.nodes if node.state != "dropped"}
        for number, node in enumerate(self.nodes):
            if node.state == "open" and number not in continued:
                node.state = "dropped"
        number = 0
        self.nodes[number].state = "best"
        for token in best:
            # Tokens of terms are new nodes: the search has not chosen them.
            number = self._child(number, token, self.nodes[number].log_prob)
            self.nodes[number].state = "best"

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


# The exploration.

Places = Mapping[int, Sequence[int]]
"""The source positions that some target steps attend to, with equal weights. Steps and positions count from 0."""


class Explored(NamedTuple):
    """The hypotheses of a source, best first, and how they were found."""

    translations: list[Translation]
    tree: SearchTree | None = None
    """None of a search that is neither greedy nor a beam, and of a blank source."""
    replay: Replayed | None = None
    """What the model says of the best hypothesis, with forced steps."""


def explore(
    translator: Translator,
    source: Raw,
    search: SearchConfig,
    *,
    request: Request | None = None,
    places: Places | None = None,
    top: int = 0,
) -> Explored:
    """Translates a source as `Translator.n_best` does.

    request: what is asked of the translation, with the tokens that it begins with (`Request.tokens`). places: where
    steps are forced to attend. top: how many of the most probable tokens of each step are in the replay; 0: there is no
    replay. Raises UserError as `n_best`, for a token or position that does not exist, and for a model without attention
    to force.
    """
    # A blank source is not searched.
    (row,) = translator.encoded([source])
    if translator.field.blank(row):
        return Explored(translator.decode([row], search, texts=[source])[0])
    # The tree watches the hypotheses of the search, and the model's steps are replaced where some are forced.
    search = translator.search_for(search)
    if not translator.network.extends(search):
        search = search.drafting
    tree = None
    if isinstance(search, GreedyConfig | BeamConfig):
        # A greedy search has no penalty.
        tree = SearchTree(getattr(search, "length_penalty", 0.0))
    parts = [] if tree is None else [tree]
    if places:
        translator = _attending(translator, row, places)
    requests = None if request is None else [request]
    (translations,) = translator.decode([row], search, texts=[source], requests=requests, parts=parts)
    # What became of the hypotheses, and the runners-up of the best one.
    best = translations[0].ids
    if tree is not None:
        tree.close(best)
    (replay,) = runners_up(translator, [row], [best], search, top) if top else (None,)
    return Explored(translations, tree, replay)


def can_force(model: "DecodableModel") -> bool:
    """Returns whether steps can be forced to attend somewhere: in a single model with learnt attention."""
    single_model = model.as_online_model
    return single_model is not None and single_model.decoder.attention.learns_weights


def _attending(translator: Translator, row: Row, places: Places) -> Translator:
    """Returns a translator with some forced steps. Raises UserError where they cannot be forced."""
    # A copy of the network takes the forced steps, so that other calls are not touched.
    network = copy(translator.network.in_torch())
    (length,) = network.encoded_lengths([translator.field.length(row)])
    if not can_force(network.model):
        raise UserError(
            "attention is forced in a single model that has learnt where to attend. This one attends to the same "
            "whatever it writes, or is an ensemble: name another run"
        )
    if wrong := [place for of_step in places.values() for place in of_step if not 0 <= place < length]:
        raise UserError(f"the source has {length} positions, from 0, and none of number {wrong[0]}: force another")
    network.steps = partial(_forced, places)
    # Parts would align the hypotheses once more, without the forced steps.
    network.parts = ()
    translator = copy(translator)
    translator.network = network
    return translator


def _forced(places: Places, model: Any, hard: bool) -> "Predict":
    """Returns the step function of a model with some forced steps. It counts its calls, so it is for one search."""
    import torch  # Not above: an exported model decodes without it.

    from mt.models.attention.forced import forced_step

    numbers = count()
    decoder = model.decoder

    def step(tokens: Any, memory: Any, state: Any) -> Prediction:
        chosen = {*places.get(next(numbers), ())}
        if not chosen:
            return model.step(tokens, memory, state, hard=hard)
        # The chosen positions share the attention, and the decoder goes on with their context.
        weights = torch.zeros_like(memory.mask, dtype=torch.float32)  # [B, S]
        weights[:, [*chosen]] = 1 / len(chosen)
        query = decoder.make_query(tokens, state)
        own = decoder.attend(query, memory, hard=hard)
        forced = forced_step(decoder.attention, own, memory, query.attention_state, weights)
        return decoder.read_out(query, forced, memory)

    return step
