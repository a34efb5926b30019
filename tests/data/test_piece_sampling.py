"""BPE-dropout and unigram sampling: SentencePiece's own pieces where nothing is random, the papers' process else."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from sentencepiece import sentencepiece_model_pb2

from data_prep.generated import bulletin, phrasebook
from mt.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig, train
from mt.data.tokenizer.sampling import BPEDropout, PieceSampler, UnigramSampling, model_type
from mt.data.tokenizer.training import ModelType

BEST = 1e4
"""As alpha: the best segmentation has all of the probability."""
DRAWS = 4000


def texts() -> list[str]:
    sizes = {"train": 100, "dev": 1, "test": 1}
    pairs = [pair for corpus in (phrasebook, bulletin) for pair in corpus.generate(1, sizes)["train"]]
    return [text for pair in pairs for text in (pair.source, pair.target)]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    kinds: tuple[ModelType, ...] = ("bpe", "unigram", "char", "word")
    return {kind: train(TokenizerConfig(model_type=kind, vocab_size=600), texts()) for kind in kinds}


def encoded(tokenizer: Tokenizer, lines: Sequence[str]) -> list[np.ndarray]:
    return [np.array(ids, dtype=np.int32) for ids in tokenizer.encode(lines)]


def without_chance(tokenizer: Tokenizer) -> PieceSampler:
    return BPEDropout(tokenizer, 0.0) if model_type(tokenizer) == "bpe" else UnigramSampling(tokenizer, BEST)


def sampled(sampler: PieceSampler, rows: Sequence[np.ndarray], seed: int = 0) -> list[list[int]]:
    return [row.tolist() for row in sampler.sample(rows, np.random.default_rng(seed))]


def foreign(tokenizer: Tokenizer, *, suffixes: bool = False) -> Tokenizer:
    """The vocabulary as from elsewhere: with a symbol that is never taken apart and a piece across a blank, or with
    blanks at the ends of words."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.model)
    if suffixes:
        proto.trainer_spec.treat_whitespace_as_suffix = True
        for piece in proto.pieces:
            piece.piece = piece.piece[1:] + "▁" if piece.piece.startswith("▁") else piece.piece
    else:
        proto.pieces.add(piece="<of>", score=0.0, type=4)
        proto.pieces.add(piece="e▁t", score=1.0, type=1)
    return Tokenizer(proto.SerializeToString())


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("changed", ["as it is", "foreign"])
def test_without_chance_pieces_are_those_of_sentencepiece(kind, changed, tokenizers):
    tokenizer = tokenizers[kind]
    lines = [*texts(), "xжx 12 жж ⁇ ▁ 鳥a", "<of>the<of> a<of>", ""]
    if changed == "foreign":
        tokenizer = foreign(tokenizer)
    rows = [row.tolist() for row in encoded(tokenizer, lines)]
    others = sampled(without_chance(tokenizer), encoded(tokenizer, lines))
    if kind == "bpe":
        assert others == rows
    else:  # the same pieces in another order are as likely, as `t tt` and `tt t`
        assert [*map(sorted, others)] == [*map(sorted, rows)]
        assert sum(other != row for other, row in zip(others, rows, strict=True)) < 0.05 * len(rows)


@pytest.mark.parametrize("suffixes", [False, True])
@pytest.mark.parametrize("kind", ["bpe", "unigram", "char", "word"])
def test_sampled_pieces_spell_the_same_text(kind: str, suffixes: bool, tokenizers: dict[str, Tokenizer]) -> None:
    """Where marks end words, none stands before the first one of a batch, whose first texts are short."""
    tokenizer = foreign(tokenizers[kind], suffixes=True) if suffixes else tokenizers[kind]
    lines = ["the", "", *texts(), "xжx жж"]
    rows = encoded(tokenizer, lines)
    sampler = BPEDropout(tokenizer, 0.3) if kind == "bpe" else UnigramSampling(tokenizer, 0.2)
    others = sampled(sampler, rows)
    assert [tokenizer.decode(row) for row in others] == [tokenizer.decode(row.tolist()) for row in rows]
    assert all(row[-1] == EOS and row.count(EOS) == 1 for row in others)
    assert [row.count(UNK) for row in others] == [row.tolist().count(UNK) for row in rows]
    assert others == sampled(sampler, rows)
    if kind in ("bpe", "unigram"):
        assert sum(map(len, others)) > 1.1 * sum(map(len, rows)) and others != sampled(sampler, rows, seed=1)
    if kind == "bpe":
        assert sampled(BPEDropout(tokenizer, 0.0), rows) == [row.tolist() for row in rows]


def by_the_algorithm(word: str, ranks: dict[str, int], p: float, draw: random.Random) -> tuple[str, ...]:
    """Provilkov et al. 2020, algorithm 1, one merge at a time."""
    symbols = list(word)
    while True:
        pairs = [(ranks[a + b], i) for i, (a, b) in enumerate(itertools.pairwise(symbols)) if a + b in ranks]
        pairs = [pair for pair in pairs if draw.random() >= p]
        if not pairs:
            return tuple(symbols)
        _, i = min(pairs)
        symbols[i : i + 2] = ["".join(symbols[i : i + 2])]


def test_bpe_dropout_draws_as_the_algorithm_does(tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tokenizers["bpe"]
    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.model)
    ranks = {piece.piece: -int(piece.score) for piece in proto.pieces if piece.type == 1 and len(piece.piece) > 1}
    word = "▁station"
    draw = random.Random(1)
    expected = Counter(by_the_algorithm(word, ranks, 0.4, draw) for _ in range(DRAWS))
    rows = encoded(tokenizer, ["station"] * DRAWS)
    actual = Counter(tuple(tokenizer.pieces(row[:-1])) for row in sampled(BPEDropout(tokenizer, 0.4), rows))
    assert len(expected) > 5
    for pieces in expected | actual:
        share = max(expected[pieces], actual[pieces]) / DRAWS
        assert abs(expected[pieces] - actual[pieces]) / DRAWS < 6 * math.sqrt(share / DRAWS), pieces


def segmentations(word: str, scores: dict[str, float]) -> list[tuple[str, ...]]:
    if not word:
        return [()]
    starts = (word[:i] for i in range(1, len(word) + 1))
    return [(piece, *rest) for piece in starts if piece in scores for rest in segmentations(word[len(piece) :], scores)]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_unigram_sampling_has_the_probabilities_of_all_segmentations(alpha, tokenizers):
    tokenizer = tokenizers["unigram"]
    proto = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.model)
    scores = {piece.piece: piece.score for piece in proto.pieces if piece.type == 1}
    # What a vocabulary holds depends on the release of SentencePiece.
    words = sorted({word for line in texts() for word in line.split()})
    word = next(word for word in words if 5 < len(segmentations("▁" + word, scores)) < 50)
    every = segmentations("▁" + word, scores)
    weights = [math.exp(alpha * sum(scores[piece] for piece in pieces)) for pieces in every]
    rows = encoded(tokenizer, [word] * DRAWS)
    result = Counter(tuple(tokenizer.pieces(row[:-1])) for row in sampled(UnigramSampling(tokenizer, alpha), rows))
    assert len(every) > 5 and result.keys() <= {*every}
    for pieces, weight in zip(every, weights, strict=True):
        share = weight / sum(weights)
        assert abs(result[pieces] / DRAWS - share) < 6 * math.sqrt(share / DRAWS) + 1e-3, pieces
