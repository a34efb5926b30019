"""Which pieces are translations of which: IBM Model 1 against its definition, gold links and recall by hand."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from mt.data.corpus import Corpus
from mt.data.split import Split
from mt.data.tokenizer import EOS, Tokenizer, TokenizerConfig, Tokenizers
from mt.evaluation.lexicon import Lexicon, Pair, coverage, learn_shortlist, linked, model1
from mt.search.shortlist import Shortlist

SIZE = 20


def pair(source: list[int], target: list[int]) -> Pair:
    return np.array([*source, EOS], np.int32), np.array([*target, EOS], np.int32)


def drawn(seed: int) -> list[Pair]:
    draw = np.random.default_rng(seed)
    return [pair(*(draw.integers(4, 10, draw.integers(0, 6)).tolist() for _ in range(2))) for _ in range(12)]


def plain(lexicon: Lexicon) -> dict[tuple[int, int], float]:
    return {(int(key) // SIZE, int(key) % SIZE): float(t) for key, t in zip(lexicon.pairs, lexicon.t, strict=True)}


def by_definition(pairs: list[Pair], iterations: int) -> dict[tuple[int, int], float]:
    """Brown et al. 1993, equations 15 to 17, from a uniform t; EOS of the source is the empty word."""
    t = {(a, b): 1.0 for source, target in pairs for a in source.tolist() for b in target[:-1].tolist()}
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for source, target in pairs:
            for b in target[:-1].tolist():
                total = sum(t[a, b] for a in source.tolist())
                for a in source.tolist():
                    counts[a, b] += t[a, b] / total
        totals: dict[int, float] = defaultdict(float)
        for (a, _), count in counts.items():
            totals[a] += count
        t = {(a, b): counts[a, b] / totals[a] for a, b in t}
    return t


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("iterations", [1, 2, 6])
def test_model_1_is_its_definition(seed: int, iterations: int) -> None:
    """However the corpus is cut into parts."""
    pairs = drawn(seed)
    expected = by_definition(pairs, iterations)
    for count in (1, 3, 12):
        parts = [pairs[i : i + count] for i in range(0, len(pairs), count)]
        assert plain(model1(lambda parts=parts: parts, SIZE, iterations)) == pytest.approx(expected, abs=1e-12)


def test_what_meets_more_often_is_a_translation() -> None:
    """4 is 14 and 5 is 15, though each occurs with the other, too."""
    pairs = [pair([4, 5], [15, 14]), pair([4], [14]), pair([6, 5], [15, 16])]
    lexicon = model1(lambda: [pairs], SIZE, 20)
    assert lexicon.best(1, 8).tolist() == [[0], [0], [0], [0], [14], [15], [16], [0]]
    np.testing.assert_allclose(np.bincount(lexicon.pairs // SIZE, lexicon.t)[[3, 4, 5, 6]], 1)


def test_a_lexicon_is_bounded() -> None:
    """What meets least often is left out, and the rest learnt as if it alone were possible."""
    pairs = [pair([4], [14])] * 3 + [pair([4, 5], [14, 15])]
    assert len(model1(lambda: [pairs], SIZE, 1).pairs) == 6
    found = plain(model1(lambda: [pairs[:2], pairs[2:]], SIZE, 50, most=3))
    assert set(found) == {(3, 14), (4, 14)}
    assert found == pytest.approx({(3, 14): 1, (4, 14): 1})


def test_the_likeliest_come_first() -> None:
    keys = np.array([3 * SIZE + 9, 4 * SIZE + 5, 4 * SIZE + 6, 4 * SIZE + 7, 6 * SIZE + 8])
    lexicon = Lexicon(keys, np.array([1, 0.2, 0.5, 0.2, 1]), SIZE)
    assert lexicon.best(2, 7).tolist() == [[0, 0]] * 4 + [[6, 5], [0, 0], [8, 0]]
    assert lexicon.best(4, 7)[4].tolist() == [6, 5, 7, 0]


def test_recall_and_size_by_hand() -> None:
    lists = np.zeros((8, 2), np.int32)
    lists[5], lists[6] = [7, 8], [8, 9]
    shortlist = Shortlist(lists, np.array([10], np.int32), SIZE)
    # 7 of 7, 11 and 10, 8, UNK of 8, 9 and UNK; lists of PAD, UNK, BOS, EOS, 10 and two, or three, more.
    found = coverage(shortlist, [pair([5], [7, 11, 10]), pair([5, 6], [8, 9, 1]), pair([4], [7])])
    assert found.recall == pytest.approx(5 / 7)
    assert found.pieces == pytest.approx((7 + 8 + 5) / 3)


@pytest.fixture(scope="module")
def words() -> Tokenizers:
    pairs = [("the big cat", "la gata grande"), ("a dog", "un perro")]
    return Tokenizers.train(TokenizerConfig(model_type="word", vocab_size=30, joint=False), pairs)


def split_of(words: Tokenizers, examples: list[tuple[str, str, str]]) -> Split:
    sources, targets, links = (list(column) for column in zip(*examples, strict=True))
    ids = {"source_ids": words.source.encode_column(sources), "target_ids": words.target.encode_column(targets)}
    return Split(pa.table({"source": sources, "target": targets, "links": links, **ids}))


def test_links_that_are_known_are_counted(words: Tokenizers) -> None:
    examples = [
        ("the big cat", "la gata grande", "0-0 1-2 2p1"),
        ("a cat", "un gata", "1-1"),
        ("a dog", "un perro", ""),
    ]
    split = split_of(words, examples)

    def ids(tokenizer: Tokenizer, text: str) -> list[int]:
        return tokenizer.encode([text])[0][:-1]

    shortlist, origin = learn_shortlist(split, words, first=1, best=5, iterations=1, sentences=10)
    assert origin == "gold links"
    for word, expected in (("the", "la"), ("big", "grande"), ("cat", "gata"), ("a", ""), ("dog", "")):
        [piece] = ids(words.source, word)
        assert [one for one in shortlist.lists[piece].tolist() if one] == ids(words.target, expected)
    assert shortlist.first.tolist() == [min(ids(words.target, "gata") + ids(words.target, "un"))]
    found = linked(split, words, [0, 1, 2])
    assert sorted(found.t.tolist()) == [1, 1, 2]


def test_of_a_large_corpus_some_pairs_are_looked_at(words: Tokenizers) -> None:
    split = split_of(words, [("a dog", "un perro", "")] * 7 + [("the big cat", "la gata grande", "")] * 3)
    learnt = [learn_shortlist(split, words, first=9, best=2, iterations=2, sentences=n)[0] for n in (10, 4, 4, 99)]
    sizes = [len(shortlist.first) for shortlist in learnt]
    assert sizes[0] == sizes[3] == 5 and sizes[1] <= 5
    np.testing.assert_array_equal(learnt[1].lists, learnt[2].lists)
    np.testing.assert_array_equal(learnt[0].lists, learnt[3].lists)


def test_a_source_piece_can_be_copied_where_both_sides_have_one_vocabulary(corpus: Corpus) -> None:
    shortlist, origin = learn_shortlist(
        corpus.split("train"), corpus.tokenizers, first=3, best=2, iterations=5, sentences=1000
    )
    assert corpus.tokenizers.joint and origin == "IBM Model 1, 5 iterations"
    tokenizer = corpus.tokenizers.target
    for english, german in (("cats", "Katzen"), ("three", "drei"), ("find", "finden"), ("birds", "鳥")):
        (piece, _), (expected, _) = tokenizer.encode([english, german])
        assert shortlist.lists[piece, 0] == expected and shortlist.lists[piece, -1] == piece
        assert expected in shortlist.of([np.array([piece, EOS])])
