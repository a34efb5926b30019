"""Word links of training pairs: from links of words to links of pieces.

Preparation spreads the links of words over their pieces (`links_of_pieces`). Where every epoch draws other pieces,
`moved` moves the links to these.
"""

import itertools
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mt.common.links import Link, links_of
from mt.data.tokenizer import LinkUnit, Tokenizer, Tokenizers


def links_of_pieces(
    lines: Sequence[str], sources: Sequence[str], targets: Sequence[str], tokenizers: Tokenizers, unit: LinkUnit
) -> pa.ListArray:
    """Returns for each pair the links between its pieces: a list [2K] of source and target positions in turn. Each
    piece of a word is linked to each piece of the linked word.

    lines: the links between words, one line for each pair. unit: what a word is.
    """
    sides = tokenizers.source, tokenizers.target
    rows = []
    for line, *texts in zip(lines, sources, targets, strict=True):
        words = links_of(line).possible
        pairs: set[Link] = set()
        if words:
            source, target = (_positions(tokenizer, text, unit) for tokenizer, text in zip(sides, texts, strict=True))
            pairs = {pair for i, j in words for pair in itertools.product(source[i], target[j])}
        rows.append([*itertools.chain.from_iterable(sorted(pairs))])
    return pa.array(rows, pa.list_(pa.int32()))


def _positions(tokenizer: Tokenizer, text: str, unit: LinkUnit) -> dict[int, list[int]]:
    """Returns the positions of the pieces of each word. A piece that two words share belongs to the
    one that has more of its characters."""
    positions: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(tokenizer.unit_ids(text, unit)):
        if number is not None:
            positions[number].append(place)
    return positions


def moved(
    links: np.ndarray, best: Sequence[np.ndarray], drawn: Sequence[np.ndarray], widths: Sequence[np.ndarray]
) -> np.ndarray:
    """Moves links [K, 2] to other pieces of the same two texts: to all that share characters with the linked ones.

    best: the (source, target) ids that the links join. drawn: the (source, target) ids to link instead. widths: the
    number of characters of each piece of the (source, target) vocabulary.
    """
    for side, (best_ids, drawn_ids) in enumerate(zip(best, drawn, strict=True)):
        if best_ids is drawn_ids or np.array_equal(best_ids, drawn_ids):
            continue
        # A piece shares characters with all drawn pieces from the one of its first character to that of its last.
        ends = np.cumsum(widths[side][best_ids])
        drawn_ends = np.cumsum(widths[side][drawn_ids])
        first_drawn = np.searchsorted(drawn_ends, ends - widths[side][best_ids], side="right")[links[:, side]]
        last_drawn = np.searchsorted(drawn_ends, ends - 1, side="right")[links[:, side]]
        # Each link becomes one for each of these pieces.
        counts = last_drawn - first_drawn + 1
        links = np.repeat(links, counts, axis=0)
        # Counts up from `first_drawn` within the copies of each link.
        links[:, side] = np.repeat(first_drawn - np.cumsum(counts) + counts, counts) + np.arange(len(links))
    return np.unique(links, axis=0)
