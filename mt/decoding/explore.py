"""A translation to try things out on (Seq2Seq-Vis; Strobelt et al. 2019).

`explore` begins with given tokens (`_with_prefix`) and attends where it is told (`_encoded`, `_forced`). It shows the
translations, the tree of what the search has looked at, and the runners-up of each step.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mt.data.fields import Raw, Row
from mt.data.glossary import Glossary
from mt.decoding.lexical import LexicalConstraints, constrained, spelling_of
from mt.decoding.minimum_bayes_risk import ranking
from mt.decoding.network import EncodedBatch, refuse_long_rows
from mt.decoding.record import NOTHING, Replay, runners_up
from mt.decoding.translation import Translation, decoded
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import SearchConfig, decode
from mt.search.options import BeamConfig, GreedyConfig
from mt.search.spelling import Prefix
from mt.search.steering import TokenConstraints
from mt.search.tree import Tree
from mt.step import Prediction

if TYPE_CHECKING:
    from mt.search.torch_stepper import Predict

Places = Mapping[int, Sequence[int]]
"""For some target steps, counted from 0, the source positions that they attend to, all alike."""


class Explored(NamedTuple):
    """The hypotheses of a source, best first, and how they were found."""

    translations: list[Translation]
    tree: Tree | None = None
    """None of a search that is neither greedy nor a beam, and of a blank source."""
    replay: Replay = NOTHING
    """The probabilities of the steps of the best, with what is forced."""


def explore(
    translator: Translator,
    source: Raw,
    search: SearchConfig,
    *,
    asked: LexicalConstraints | None = None,
    glossary: Glossary | None = None,
    prefix: Sequence[int] = (),
    places: Places | None = None,
    top: int = 0,
) -> Explored:
    """Translates a source as `Translator.n_best` does.

    asked, glossary: see there. prefix: tokens that the translation begins with, in place of a prefix of `asked`.
    places: where steps are forced to attend. top: how many of the most probable tokens of each step the replay has; 0:
    it has none. Raises UserError as there, and where a token, a position or the model is not for that.
    """
    (row,) = translator.encoded([source])
    if translator.field.blank(row):
        return Explored(translator.decode([row], search, texts=[source])[0])
    refuse_long_rows(translator.network, translator.field, [row], [0])
    search = translator.search_for(search)
    (constraints,) = constrained(translator, [asked or LexicalConstraints()], [source], glossaries=[glossary])
    if prefix:
        constraints = _with_prefix(constraints, translator, source, prefix)
    tree = None
    if isinstance(search, GreedyConfig | BeamConfig):
        tree = Tree(getattr(search, "length_penalty", 0.0))
    translator.network.batches([row], search)  # refuses what is not for the model
    encoded = partial(_encoded, translator, row, places)
    with encoded(search) as batch:
        (hypotheses,) = decode(search, *batch, [np.asarray(row)], [constraints] if constraints else [], tree)
    replay = NOTHING
    target = translator.tokenizers_of(source).target
    rank = ranking(search, target, translator.config.dataset, lambda _: target)
    if rank is not None:
        hypotheses = rank(0, hypotheses)
    if tree is not None:
        tree.close(hypotheses[0].tokens)
    if top:
        best = [hypotheses[0].tokens]
        (replay,) = runners_up(translator, [row], best, search, top, lambda _, search: encoded(search))
    return Explored(decoded(translator, row, hypotheses, source), tree, replay)


def _with_prefix(
    constraints: TokenConstraints | None, translator: Translator, source: Raw, tokens: Sequence[int]
) -> TokenConstraints:
    """Returns what is asked with a prefix of tokens."""
    target = translator.tokenizers_of(source).target
    unknown = [token for token in tokens if not 0 <= token < len(target)]
    if unknown:
        raise UserError(f"the prefix has the token {unknown[0]}, and there are {len(target)}: give numbers of tokens")
    spelling = spelling_of(target) if constraints is None else constraints.spelling
    constraints = TokenConstraints("the text", spelling) if constraints is None else constraints
    return constraints._replace(prefix=Prefix(tuple(tokens), "", spelling))


def _encoded(
    translator: Translator, row: Row, places: Places | None, search: SearchConfig
) -> AbstractContextManager[EncodedBatch]:
    """Encodes a source. Raises UserError where its steps cannot be forced to attend where they are told."""
    if not places:
        return translator.network.encoded([row], search)
    network = translator.network.in_torch()
    (length,) = network.encoded_lengths([translator.field.length(row)])
    if not network.forces:
        raise UserError(
            "attention is forced in a single model that has learnt where to attend. This one attends to the same "
            "whatever it writes, or is an ensemble: name another run"
        )
    if wrong := [place for of_step in places.values() for place in of_step if not 0 <= place < length]:
        raise UserError(f"the source has {length} positions, from 0, and none of number {wrong[0]}: force another")
    return network.encoded([row], search, partial(_forced, places))


def _forced(places: Places, predict: "Predict") -> "Predict":
    """Returns the steps of a model of which some attend where they are told; of one search, whose steps are counted."""
    numbers = count()

    def step(tokens: Any, memory: Any, state: Any) -> Prediction:
        chosen = places.get(next(numbers))
        if chosen:
            weights = memory.attention.mask.float() * 0
            weights[:, [*chosen]] = 1 / len(chosen)
            memory = memory._replace(attention=memory.attention._replace(forced=weights))
        return predict(tokens, memory, state)

    return step
