"""The record of a translation from which the page draws it: tokens, words, weights, links, and runners-up of each step.

`record` makes it of a translation, in plain JSON. `runners_up` replays hypotheses through a network, in torch or
exported, to find what else could have stood in their places. Needs no torch."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mt.common.backdrop import Backdrop, Picture
from mt.common.links import to_pharaoh
from mt.data.fields import Raw, Row
from mt.decoding.confidence import Confidence, mean
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.search.config import SearchConfig, revised_search
from mt.search.stepper import Replayed, replayed

# What else each step could have written.

RUNNERS_UP = 6
"""How many of the most probable tokens of a step are kept."""


def runners_up(
    translator: Translator,
    rows: Sequence[Row],
    hypotheses: Sequence[Sequence[int]],
    search: SearchConfig,
    count: int = RUNNERS_UP,
) -> list[Replayed | None]:
    """Returns for each hypothesis the probabilities of its tokens, and the `count` most probable tokens of each step,
    also of tokens that a search has forbidden; None where there is no step: of a blank source, or an empty hypothesis.

    rows: of the sources. hypotheses: the ids of each, EOS included where it has one. search: says how the attention
    reads. All processes of an evaluation call it, and each replays a share.
    """
    network = translator.network
    found: list[Replayed | None] = [None for _ in rows]
    read = [i for i, row in enumerate(rows) if hypotheses[i] and not translator.field.blank(row)]
    if not search.extends:  # a step of a beam is asked for as many tokens as it is wide
        search = revised_search(search, {"name": "beam", "beam_size": count, "n_best": 1, "utility": None})
    # This process replays its share of the batches, and gets the rest from the others.
    share: list[Any] = []
    sources = [rows[i] for i in read]
    for indices in network.batches(sources, search):
        chosen = [hypotheses[read[i]] for i in indices]
        with network.encoded([np.asarray(sources[i]) for i in indices], search) as batch:
            share.append((indices, replayed(batch.stepper, [[tokens] for tokens in chosen], count)))
    merged: list[Any] = network.merged(share)
    for indices, replays in merged:
        for i, (replay,) in zip(indices, replays, strict=True):
            found[read[i]] = replay
    return found


# The record of a translation, in plain JSON.

_PARTS = 1000
"""Weights are written in thousandths."""


def record(
    translator: Translator,
    translation: Translation,
    source: Raw,
    *,
    references: Sequence[str] = (),
    replay: Replayed | None = None,
    backdrop: bool = True,
    boundaries: Sequence[float] = (),
) -> dict[str, Any]:
    """Returns the record of a translation; docs/explorer.md explains its keys.

    replay: see `runners_up`. backdrop: whether the picture or the sound is in it. boundaries: see
    `Translation.figure`.
    """
    # The translation itself, then what its run and the caller know of it.
    plain = plain_record(translation, backdrop=backdrop, boundaries=boundaries)
    plain["source"] = source if isinstance(source, str) else ""
    confidence = Confidence.of(translator)
    if confidence.table is not None:  # else the page shows probabilities
        words = confidence.words(translation)
        plain["confidence"] = _rounded(mean(words))
        plain["word_confidence"] = [_rounded(share) for share in words]
    if references:
        plain["references"] = list(references)
    if replay is not None:
        target = translator.tokenizers.target
        plain["probabilities"] = [_rounded(math.exp(log_prob)) for log_prob in replay.log_probs.tolist()]
        # What has a probability of 0 was never possible.
        plain["top"] = [
            [
                [piece, _rounded(probability), token]
                for piece, (token, log_prob) in zip(target.pieces([token for token, _ in step]), step, strict=True)
                if (probability := math.exp(log_prob)) > 0
            ]
            for step in replay.best
        ]
    return plain


def plain_record(
    translation: Translation, *, backdrop: bool = True, boundaries: Sequence[float] = ()
) -> dict[str, Any]:
    """Returns the record of a translation alone, without its source, references, probabilities and confidences. What
    does not apply is left out."""
    # What every translation has.
    plain: dict[str, Any] = {
        "text": translation.text,
        "score": _rounded(translation.score),
        "tokens": list(translation.tokens),
        "ids": list(translation.ids),
        "source_tokens": list(translation.source_tokens),
        "target_units": list(translation.units.target),
        "source_units": list(translation.units.source),
        "rows": _rows(translation.alignment),
        "links": to_pharaoh(translation.links),
    }
    # What a hard attention and a search that writes while it reads have besides.
    if translation.stops is not None:
        plain |= {"stops": translation.stops.tolist(), "chunk": translation.drawing.chunk_size}
    if translation.timing is not None:
        plain["delays"] = list(translation.timing.delays)
        plain["words_read"] = list(translation.timing.words_read)
        plain["source_words"] = translation.timing.source_words
    if translation.cut:
        plain["cut"] = True
    # A picture or a sound is embedded, so that the page needs no other file.
    drawn = translation.drawing.backdrop() if backdrop and translation.drawing.backdrop else None
    if drawn is not None:
        plain["backdrop"] = _backdrop(drawn, boundaries)
    return plain


def _rows(weights: np.ndarray) -> list[list[int]]:
    """Returns for each step the position of its first weight, then its weights in thousandths, without zeros at both
    ends."""
    rows = []
    # Most weights of a monotonic attention are zero.
    for thousandths in np.rint(_PARTS * weights).astype(int):
        places = np.flatnonzero(thousandths)
        rows.append([int(places[0]), *thousandths[places[0] : places[-1] + 1].tolist()] if len(places) else [0])
    return rows


def _backdrop(backdrop: Backdrop, boundaries: Collection[float]) -> dict[str, Any]:
    """Returns a picture or a sound in plain JSON, with its image."""
    from mt.plots import embedded  # Not above: a text needs no matplotlib.

    if isinstance(backdrop, Picture):
        return {"kind": "picture", "grid": list(backdrop.grid), "image": embedded(backdrop)}
    plain = {"seconds": round(backdrop.seconds, 4), "boundaries": list(boundaries)}
    return {"kind": "sound", **plain, "image": embedded(backdrop)}


def _rounded(number: float) -> float | None:
    """Returns a number to four digits; None for infinity and NaN, which JSON cannot write."""
    return float(f"{number:.4g}") if math.isfinite(number) else None
