"""Texts cut into pieces anew each time: BPE-dropout and unigram sampling, from a generator that the caller passes.

SentencePiece samples, too, but from a generator of its process: no two processes, and no resumed run, would see the
same pieces. Rows of ids are cut again, not texts: the characters of a word's pieces are the word, as the vocabulary's
own normalisation has left it. EOS, unknown pieces, bytes and user-defined symbols are no ordinary pieces: they stay as
they are, and nothing is joined to them.
"""

import functools
import itertools
import math
from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Iterator, Sequence

import numpy as np

from mt.data.tokenizer.processor import SPACE, ModelProto, Tokenizer
from mt.data.tokenizer.training import NORMAL, ModelType

_WORDS = 1 << 17
"""Words whose segmentations are remembered."""


_TYPES: dict[int, ModelType] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
"""The types of SentencePiece models, by their numbers."""


def model_type(tokenizer: Tokenizer) -> ModelType:
    """Returns bpe, unigram, char or word."""
    return _TYPES[ModelProto.FromString(tokenizer.model).trainer_spec.model_type]


class PieceSampler(ABC):
    """Cuts rows of ids into other pieces of the same vocabulary, which spell the same text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        proto = ModelProto.FromString(tokenizer.model)
        pieces = [piece.piece for piece in proto.pieces]
        self._scores = [float(piece.score) for piece in proto.pieces]
        normal = [piece.type == NORMAL for piece in proto.pieces]
        characters = {piece for piece, is_normal in zip(pieces, normal, strict=True) if is_normal and len(piece) == 1}
        # A piece is not taken apart where a character of it has no piece of its own, as in some vocabularies from
        # elsewhere.
        self._ids = {piece: i for i, piece in enumerate(pieces) if normal[i] and characters.issuperset(piece)}
        self._pieces = pieces
        self.widths = np.array([*map(len, pieces)])
        """[V]: the characters of each piece, the mark of a blank among them."""
        ordinary = np.zeros(len(pieces), dtype=bool)
        ordinary[[*self._ids.values()]] = True
        self._begins = ~ordinary | np.array([not tokenizer.marks_ends and piece.startswith(SPACE) for piece in pieces])
        """[V] bool: whether no piece before is joined to this one, which begins a word or is no ordinary piece."""
        self._ends = ~ordinary | np.array([tokenizer.marks_ends and piece.endswith(SPACE) for piece in pieces])
        """[V] bool: whether no piece after it is joined to it."""

    @abstractmethod
    def sample(self, rows: Sequence[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
        """Returns int32 rows of sampled pieces of the same texts: a pure function of the rows and the generator."""

    def _word_starts(self, ids: np.ndarray) -> np.ndarray:
        """Returns for each of [N] ids of several rows whether a word begins there. A piece that is no ordinary one
        counts as a word."""
        starts = self._begins[ids].copy()
        starts[:1] = True  # where a mark ends words, none stands before the first
        starts[1:] |= self._ends[ids[:-1]]
        return starts


class BPEDropout(PieceSampler):
    """BPE-dropout (Provilkov et al. 2020, algorithm 1): words are merged from characters again, and before each merge
    every possible one is left out with probability p. With p = 0 it is SentencePiece's own segmentation.

    A merge joins two neighbours whose characters together are a piece; the piece that was learnt first comes first, and
    of several places the leftmost. A word is finished where no merge is possible, or all were left out. All words of
    a batch are merged at once, one merge of each word a step.
    """

    def __init__(self, tokenizer: Tokenizer, p: float) -> None:
        super().__init__(tokenizer)
        self._p = p
        ids = self._ids
        by_rank = sorted((i for piece, i in ids.items() if len(piece) > 1), key=lambda i: (-self._scores[i], i))
        self._merged = np.array(by_rank, dtype=np.int64)
        """[R]: the piece that a merge gives, by its rank."""
        # Each way to part a piece into two that there are.
        pairs = {
            ids[piece[:end]] * len(self._pieces) + ids[piece[end:]]: rank
            for rank, piece in enumerate(self._pieces[i] for i in by_rank)
            for end in range(1, len(piece))
            if piece[:end] in ids and piece[end:] in ids
        }
        # The last pair is larger than all others, so that a search for any pair ends within the array.
        self._pairs = np.array([*sorted(pairs), len(self._pieces) ** 2], dtype=np.int64)
        self._ranks = np.array([*(pairs[pair] for pair in sorted(pairs)), len(by_rank)], dtype=np.int64)
        spelt = [
            [ids[character] for character in piece] if piece in ids else [i] for i, piece in enumerate(self._pieces)
        ]
        self._lengths = np.array([*map(len, spelt)], dtype=np.int64)
        self._offsets = np.cumsum(self._lengths) - self._lengths
        self._spelt = np.array([*itertools.chain.from_iterable(spelt)], dtype=np.int64)

    def sample(self, rows: Sequence[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
        # All texts one after another, each piece spelt in the pieces of its characters.
        ids = np.concatenate(rows)
        counts = self._lengths[ids]
        ends = np.cumsum(counts)
        positions = np.arange(ends[-1])
        # Each symbol stands in `_spelt` at the offset of its piece, and its own place within that.
        symbols = self._spelt[positions + np.repeat(self._offsets[ids] - ends + counts, counts)]
        words = np.repeat(np.cumsum(self._word_starts(ids)), counts)
        # Every round makes the best merge of each word; a word without one is done, and leaves.
        pieces = np.full(len(symbols), -1)
        ranks = self._ranks_at(symbols, words, positions)
        while len(symbols):
            # [words]: the best merge of each, by its rank and then its place.
            starts = np.flatnonzero(np.diff(words, prepend=-1))
            possible = np.where(random.random(len(ranks)) < self._p, len(self._merged), ranks) if self._p else ranks
            # One number has the rank of a merge and its place, so that of equal ranks the first place is taken.
            best = np.minimum.reduceat(possible * len(symbols) + np.arange(len(symbols)), starts)
            merging = best < len(self._merged) * len(symbols)
            stays = np.repeat(merging, np.diff(starts, append=len(symbols)))
            pieces[positions[~stays]] = symbols[~stays]
            rank, left = np.divmod(best[merging], len(symbols))
            symbols[left] = self._merged[rank]
            stays[left + 1] = False
            symbols, words, positions, ranks = (each[stays] for each in (symbols, words, positions, ranks))
            left = (np.cumsum(stays) - 1)[left]
            # A merge changes the pairs that it makes with both neighbours.
            for changed in (left, left[left > 0] - 1):
                ranks[changed] = self._ranks_at(symbols, words, changed)
        # The texts again; places that were merged into the one before hold nothing.
        boundaries = ends[np.cumsum([*map(len, rows)])[:-1] - 1]
        return [of_text[of_text >= 0].astype(np.int32) for of_text in np.split(pieces, boundaries)]

    def _ranks_at(self, symbols: np.ndarray, words: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Returns the rank of the merge of the symbols at these places with those after them; R for none."""
        after = np.minimum(positions + 1, len(symbols) - 1)
        # Two pieces as one number, as in `_pairs`.
        wanted = symbols[positions] * len(self._pieces) + symbols[after]
        nearest = np.searchsorted(self._pairs, wanted)
        possible = (self._pairs[nearest] == wanted) & (words[positions] == words[after]) & (positions < after)
        return np.where(possible, self._ranks[nearest], len(self._merged))


class UnigramSampling(PieceSampler):
    """Subword regularisation (Kudo 2018, section 3.2): a segmentation x of a word is drawn with probability `P(x)^alpha
    / sum over all segmentations`. Forward filtering and backward sampling draw it (l = infinity). The larger alpha, the
    likelier is the best one; alpha = 0 draws all alike.
    """

    def __init__(self, tokenizer: Tokenizer, alpha: float) -> None:
        super().__init__(tokenizer)
        self._alpha = alpha
        self._longest = max(map(len, self._ids), default=0)
        # A cache of this sampler: one of the method would keep all samplers alive.
        self._lattice = functools.lru_cache(_WORDS)(self._filtered)

    def sample(self, rows: Sequence[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
        # No text has more pieces than characters, so that this many draws are enough.
        most = int(self.widths[np.concatenate(rows)].sum())
        draws = iter(random.random(most).tolist())
        return [np.array([*itertools.chain.from_iterable(self._row(row, draws))], dtype=np.int32) for row in rows]

    def _row(self, row: np.ndarray, draws: Iterator[float]) -> Iterator[list[int]]:
        """Yields the sampled pieces of each word, or what is no ordinary piece."""
        starts = np.flatnonzero(self._word_starts(row)).tolist()
        ids = row.tolist()
        for start, end in itertools.pairwise([*starts, len(ids)]):
            word = "".join([self._pieces[i] for i in ids[start:end]])
            yield self._sampled(word, draws) if self._pieces[ids[start]] in self._ids else ids[start:end]

    def _sampled(self, word: str, draws: Iterator[float]) -> list[int]:
        # Backwards from the end of the word: draw the piece that ends there, and go on at its beginning.
        lattice = self._lattice(word)
        pieces = []
        end = len(word)
        while end:
            cumulative, arcs = lattice[end]
            # Rounding could reach the whole sum, behind which there is no arc.
            end, piece = arcs[bisect(cumulative, next(draws) * cumulative[-1], 0, len(arcs) - 1)]
            pieces.append(piece)
        return pieces[::-1]

    def _filtered(self, word: str) -> list[tuple[list[float], list[tuple[int, int]]]]:
        """Returns for each place of a word, from 0 on, the (start, id) of the pieces that end there. Beside them are
        the running sums of their probabilities, given that a segmentation has come to that place."""
        forward = [0.0]
        lattice: list[tuple[list[float], list[tuple[int, int]]]] = [([], [])]
        for end in range(1, len(word) + 1):
            starts = range(max(0, end - self._longest), end)
            arcs = [(start, self._ids[word[start:end]]) for start in starts if word[start:end] in self._ids]
            logs = [forward[start] + self._alpha * self._scores[piece] for start, piece in arcs]
            # As in logsumexp, the largest is subtracted before the exponentials, and added again at the end.
            largest = max(logs)
            cumulative = [*itertools.accumulate(math.exp(log - largest) for log in logs)]
            forward.append(largest + math.log(cumulative[-1]))
            lattice.append((cumulative, arcs))
        return lattice
