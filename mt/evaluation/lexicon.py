"""Which target pieces each source piece is translated to, learnt from a corpus: from its gold links, or by IBM Model 1.

Model 1 (Brown et al. 1993, section 4.1) supposes that each target token is the translation of one source token, any
alike, or of none: t(target | source) is learnt by EM. EOS, the last of every source, stands for none.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mt.data.split import Split
from mt.data.tokenizer import Tokenizer, Tokenizers
from mt.metrics.alignment import parse_pharaoh
from mt.search.shortlist import SPECIAL, Shortlist

MOST = 1 << 24
"""Pairs of a source and a target piece that a lexicon knows, those that meet most often of a corpus that has more: it
bounds the memory of learning, about 1 GB."""
MEETINGS = 1 << 21
"""Of a source and a target token of one sentence, looked at together."""
Pair = tuple[np.ndarray, np.ndarray]
Parts = Callable[[], Iterable[Sequence[Pair]]]
"""The (source ids, target ids) of a corpus, EOS last, in parts; asked for once for each pass."""


class Lexicon(NamedTuple):
    """t(target | source) of pairs of pieces, all others being 0."""

    pairs: np.ndarray
    """[K] int64, rising: source * target_size + target"""
    t: np.ndarray
    """[K] float64"""
    target_size: int

    def best(self, count: int, source_size: int) -> np.ndarray:
        """For each source piece the `count` likeliest target pieces, [source_size, count] int32, 0 where it has fewer;
        of equals the lower ids. The special source pieces have none."""
        source, target = np.divmod(self.pairs, self.target_size)
        order = np.lexsort((-self.t, source))
        source, target = source[order], target[order]
        rank = np.arange(len(source)) - np.searchsorted(source, source)
        kept = (rank < count) & (source >= SPECIAL)
        found = np.zeros((source_size, count), np.int32)
        found[source[kept], rank[kept]] = target[kept]
        return found


def learn_shortlist(
    split: Split, tokenizers: Tokenizers, *, first: int, best: int, iterations: int, sentences: int
) -> tuple[Shortlist, str]:
    """The shortlist of a training split of texts, and what its links are from.

    first: the most frequent target pieces, for every sentence. best: for each source piece. Where both sides have one
    vocabulary, a source piece may be copied besides. sentences: pairs that are looked at, at the most, of a larger
    corpus always the same. iterations: of EM, where there are no gold links.
    """
    source_size, target_size, _ = tokenizers.sizes
    chosen = np.sort(np.random.default_rng(0).permutation(len(split))[:sentences])
    parts = _parts(split, chosen)
    if any(split.links()):
        lexicon, origin = linked(split, tokenizers, chosen), "gold links"
    else:
        lexicon, origin = model1(parts, target_size, iterations), f"IBM Model 1, {iterations} iterations"
    frequency = np.zeros(target_size, np.int64)
    for part in parts():
        frequency += np.bincount(np.concatenate([target for _, target in part]), minlength=target_size)
    frequency[:SPECIAL] = 0
    common = np.argsort(-frequency, kind="stable")[:first]
    lists = lexicon.best(best, source_size)
    if tokenizers.joint:
        lists = np.column_stack([lists, np.arange(source_size, dtype=np.int32)])
    return Shortlist(lists, common[frequency[common] > 0].astype(np.int32), target_size), origin


class Coverage(NamedTuple):
    """How far a shortlist reaches."""

    recall: float
    """Share of the target tokens, without EOS, that are in the list of their own sentence."""
    pieces: float
    """Mean size of the list of a sentence."""


def coverage(shortlist: Shortlist, pairs: Sequence[Pair]) -> Coverage:
    """pairs: (source ids, target ids), EOS last; at least one token that is not."""
    inside = tokens = pieces = 0
    for source, target in pairs:
        listed = shortlist.of([source])
        inside += int(np.isin(target[:-1], listed).sum())
        tokens += len(target) - 1
        pieces += len(listed)
    return Coverage(inside / tokens, pieces / len(pairs))


def linked(split: Split, tokenizers: Tokenizers, chosen: Sequence[int] | np.ndarray) -> Lexicon:
    """How often pieces of linked words meet, in place of t, which has the same order. chosen: some pairs of the split;
    those without links count for nothing."""
    links, sources, targets = split.links(), split.column("source"), split.column("target")
    met: Counter[tuple[int, int]] = Counter()
    for i in chosen:
        (gold,) = parse_pharaoh([links[i]], "the gold links")
        read, written = (_by_word(side, text[i]) for side, text in zip(tokenizers, (sources, targets), strict=True))
        for one, other in gold.possible:
            met.update(itertools.product(read.get(one, ()), written.get(other, ())))
    found = np.array(sorted((*pair, count) for pair, count in met.items()), np.int64).reshape(-1, 3)
    size = len(tokenizers.target)
    return Lexicon(found[:, 0] * size + found[:, 1], found[:, 2].astype(float), size)


def _by_word(tokenizer: Tokenizer, text: str) -> dict[int | None, list[int]]:
    """The ids of each word of a text, by the word's number."""
    found: dict[int | None, list[int]] = {}
    for piece, word in zip(tokenizer.encode([text])[0], tokenizer.unit_ids(text), strict=True):
        found.setdefault(word, []).append(piece)
    return found


def model1(parts: Parts, target_size: int, iterations: int, most: int = MOST) -> Lexicon:
    """t(target | source) after some iterations of EM from a uniform one. most: see MOST."""
    pairs = _met(parts, target_size, most)
    t = np.ones(len(pairs))
    for _ in range(iterations):
        counts = np.zeros(len(pairs))
        for part in parts():
            meetings, sizes = _meetings(part, target_size)
            if not len(meetings):
                continue
            places = np.searchsorted(pairs, meetings).clip(max=len(pairs) - 1)
            likely = np.where(pairs[places] == meetings, t[places], 0.0)
            # Over the source tokens of each target token, which are there at least with EOS.
            total = np.add.reduceat(likely, np.cumsum(sizes) - sizes)
            shares = likely / np.repeat(total, sizes).clip(min=1e-300)
            counts += np.bincount(places, shares, minlength=len(pairs))
        source = pairs // target_size
        t = counts / np.bincount(source, counts)[source].clip(min=1e-300)
    return Lexicon(pairs, t, target_size)


def _met(parts: Parts, target_size: int, most: int) -> np.ndarray:
    """The pairs of pieces that occur in a sentence together, rising; at most `most`, those that do most often."""
    pairs, times, least = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    for part in parts():
        new, counts = np.unique(_meetings(part, target_size)[0], return_counts=True)
        pairs, places = np.unique(np.concatenate([pairs, new]), return_inverse=True)
        times = np.bincount(places, np.concatenate([times, counts]), minlength=len(pairs)).astype(np.int64)
        while len(pairs) > most:
            least += 1
            pairs, times = pairs[times > least], times[times > least]
    return pairs


def _meetings(part: Sequence[Pair], target_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Each target token but EOS with each source token of its sentence: source * target_size + target, those of one
    target token beside one another; and of each target token how many."""
    lengths = np.array([len(source) for source, _ in part])
    counts = np.array([len(target) - 1 for _, target in part])
    begins = np.repeat(np.cumsum(lengths) - lengths, counts)
    sizes = np.repeat(lengths, counts)
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sources = np.concatenate([source for source, _ in part]).astype(np.int64)
    targets = np.concatenate([target[:-1] for _, target in part])
    return sources[np.repeat(begins, sizes) + inside] * target_size + np.repeat(targets, sizes), sizes


def _parts(split: Split, chosen: np.ndarray) -> Parts:
    """Parts of about MEETINGS, of chosen pairs."""
    lengths = [side[chosen] for side in split.lengths()]
    number = np.cumsum(lengths[0] * lengths[1]) // MEETINGS
    groups = np.split(chosen, np.flatnonzero(np.diff(number)) + 1)
    return lambda: (split.ids(group) for group in groups)
