"""The record of a translation from which the page draws it: tokens, words, weights, links, and runners-up of each step.

`record` makes it of a translation, in plain JSON. `runners_up` replays hypotheses through a network, in torch or
exported, to find what else could have stood in their places. Needs no torch."""

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mt.common.backdrop import Backdrop, Picture
from mt.data.fields import Raw, Row
from mt.decoding.translation import Translation
from mt.metrics.alignment import to_pharaoh
from mt.search.config import SearchConfig, is_online, revised_search
from mt.step import BOS

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

# What else each step could have written.

RUNNERS_UP = 6
"""How many of the most probable tokens of a step are kept."""

Candidates = Sequence[Sequence[tuple[int, float]]]
"""For each step the most probable tokens with their probabilities, best first."""


def runners_up(
    translator: "Translator",
    rows: Sequence[Row],
    hypotheses: Sequence[Sequence[int]],
    search: SearchConfig,
    count: int = RUNNERS_UP,
) -> list[Candidates]:
    """Returns for each hypothesis the `count` most probable tokens of each of its steps, as the model has them: what a
    search forbids is among them.

    rows: of the sources. hypotheses: the ids of each, EOS included where it has one. search: says how the attention
    reads. All processes of an evaluation call it, and each replays a share.
    """
    network = translator.network
    found: list[Candidates] = [[] for _ in rows]
    read = [i for i, row in enumerate(rows) if hypotheses[i] and not translator.field.blank(row)]
    if not is_online(search):  # a step of a beam is asked for as many tokens as it is wide
        search = revised_search(search, {"name": "beam", "beam_size": count, "n_best": 1, "utility": None})
    share: list[Any] = []
    sources = [rows[i] for i in read]
    for indices in network.batches(sources, search):
        chosen = [hypotheses[read[i]] for i in indices]
        with network.encoded([np.asarray(sources[i]) for i in indices], search) as batch:
            share.append((indices, _replayed(batch.stepper, chosen, count)))
    merged: list[Any] = network.merged(share)
    for indices, replayed in merged:
        for i, steps in zip(indices, replayed, strict=True):
            found[read[i]] = steps
    return found


def _replayed(stepper: Any, hypotheses: Sequence[Sequence[int]], count: int) -> list[list[list[tuple[int, float]]]]:
    """Takes the steps of the hypotheses of a batch, each from its own tokens, and returns the candidates of each."""
    candidates: list[list[list[tuple[int, float]]]] = [[] for _ in hypotheses]
    going = list(range(len(hypotheses)))
    parents = list(going)
    tokens = [BOS for _ in going]
    for place in range(max(map(len, hypotheses))):
        step = stepper.step(tokens, parents, count, None)
        for row, i in enumerate(going):
            probabilities = np.exp(step.log_probs[row].astype(float)).tolist()
            best = zip(step.tokens[row].tolist(), probabilities, strict=True)
            candidates[i].append([(token, probability) for token, probability in best if token >= 0 and probability])
        # Hypotheses that end here are left out of the next step.
        parents = [row for row, i in enumerate(going) if place + 1 < len(hypotheses[i])]
        going = [going[row] for row in parents]
        tokens = [hypotheses[i][place] for i in going]
    return candidates


# The record of a translation, in plain JSON.

_PARTS = 1000
"""Weights are written in thousandths."""


def record(
    translator: "Translator",
    translation: Translation,
    source: Raw,
    *,
    references: Sequence[str] = (),
    candidates: Candidates = (),
    backdrop: bool = True,
    boundaries: Sequence[float] = (),
) -> dict[str, Any]:
    """Returns the record of a translation; docs/explorer.md explains its keys.

    candidates: of each step, see `runners_up`. backdrop: whether the picture or the sound is in it. boundaries: see
    `Translation.figure`.
    """
    plain = plain_record(translation, backdrop=backdrop, boundaries=boundaries)
    plain["source"] = source if isinstance(source, str) else ""
    if references:
        plain["references"] = list(references)
    if candidates:
        target = translator.tokenizers_of(source).target
        pieces = [target.pieces([token for token, _ in step]) for step in candidates]
        plain["top"] = [
            [[piece, _rounded(probability), token] for piece, (token, probability) in zip(names, step, strict=True)]
            for names, step in zip(pieces, candidates, strict=True)
        ]
        known = [dict(step) for step in candidates]
        plain["probabilities"] = [
            _rounded(step[token]) if token in step else None for token, step in zip(translation.ids, known, strict=True)
        ]
    return plain


def plain_record(
    translation: Translation, *, backdrop: bool = True, boundaries: Sequence[float] = ()
) -> dict[str, Any]:
    """Returns what a translation itself says, in plain JSON. What does not apply is left out."""
    plain: dict[str, Any] = {
        "text": translation.text,
        "score": _rounded(translation.score),
        "tokens": list(translation.tokens),
        "ids": list(translation.ids),
        "source_tokens": list(translation.source_tokens),
        "target_units": list(translation.target_units),
        "source_units": list(translation.source_units),
        "rows": _rows(translation.alignment),
        "links": to_pharaoh(translation.links),
    }
    if translation.stops is not None:
        plain |= {"stops": translation.stops.tolist(), "chunk": translation.chunk_size}
    if translation.delays is not None and translation.words_read is not None:
        plain["delays"] = translation.delays.tolist()
        plain["words_read"] = translation.words_read.tolist()
        plain["source_words"] = translation.source_words
    if translation.cut:
        plain["cut"] = True
    drawn = translation.backdrop() if backdrop and translation.backdrop else None
    if drawn is not None:
        plain["backdrop"] = _backdrop(drawn, boundaries)
    return plain


def _rows(weights: np.ndarray) -> list[list[int]]:
    """Returns of each step the position of its first weight and its weights in thousandths, without zeros at the
    ends."""
    rows = []
    for parts in np.rint(_PARTS * weights).astype(int):
        places = np.flatnonzero(parts)
        rows.append([int(places[0]), *parts[places[0] : places[-1] + 1].tolist()] if len(places) else [0])
    return rows


def _backdrop(backdrop: Backdrop, boundaries: Collection[float]) -> dict[str, Any]:
    """Returns a picture or a sound in plain JSON, the image within it."""
    from mt.plots import embedded  # Not above: a text needs no matplotlib.

    if isinstance(backdrop, Picture):
        return {"kind": "picture", "grid": list(backdrop.grid), "image": embedded(backdrop)}
    plain = {"seconds": round(backdrop.seconds, 4), "boundaries": list(boundaries)}
    return {"kind": "sound", **plain, "image": embedded(backdrop)}


def _rounded(number: float) -> float | None:
    """Returns a number to four digits; None of what JSON cannot say."""
    return float(f"{number:.4g}") if math.isfinite(number) else None
