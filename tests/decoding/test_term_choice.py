"""Which words terms replace, and what agrees with them: by a model of pairs of words, and by one that has learnt."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mt.config import Config
from mt.constraints.phrases import Form, Phrases
from mt.constraints.processor import TokenConstraints
from mt.constraints.spelling import Avoided, Prefix, Spelling
from mt.constraints.terms import NO_TERM, SourceTerm, Target, Terms
from mt.data.corpus import Corpus
from mt.data.words import words
from mt.decoding.network import DecodedBatch, EncodedBatch
from mt.decoding.term_choice import write_terms
from mt.decoding.torch_network import torch_translator
from mt.decoding.translator import Translator
from mt.search.config import BeamConfig, GreedyConfig
from mt.search.hypothesis import Hypothesis, Windows
from mt.search.stepper import Scores, Step
from mt.step import BOS, EOS, UNK
from mt.training.start import begin
from mt.training.train import train_and_test

SURFACES = [
    "",
    " ⁇ ",
    "",
    "",
    *(f" {word}" for word in ["Der", "Die", "Den", "Zug", "Bahn", "nach", "Berlin", "fährt", "ab", "Tram", "Karte"]),
    ".",
]
SPELLING = Spelling(SURFACES, {character for surface in SURFACES for character in surface if character.isalpha()})
IDS = {surface.strip(): token for token, surface in enumerate(SURFACES)}
SOURCE = ["The", "train", "to", "Berlin", "leaves", "."]
FREE = ["Der", "Zug", "nach", "Berlin", "fährt", "ab", "."]
READS = [1, 1, 4, 3, 4, 4, 5]
"""The article reads its noun, and the preposition the verb, as in trained models."""


class Pairs:
    """A model that knows how probable a word is after another, and of `Zug` only from its source."""

    single = False

    def __init__(self, **after: float) -> None:
        """after: log-probabilities, as `Die_Bahn=-1`."""
        self._after = {tuple(IDS[word] for word in pair.split("_")): value for pair, value in after.items()}
        self._after |= {(IDS[one], IDS[other]): -0.1 for one, other in pairwise(FREE)}

    @contextlib.contextmanager
    def encoded(self, rows: Sequence[np.ndarray], search: Any) -> Iterator[EncodedBatch]:
        self._unknown = [row[1] == UNK for row in rows]
        yield EncodedBatch(self, [len(row) for row in rows])  # type: ignore[arg-type]

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        self._unknown = [self._unknown[parent] for parent in parents]
        values = np.full((len(tokens), len(SURFACES)), -9.0, np.float32)
        for row, (token, unknown) in enumerate(zip(tokens, self._unknown, strict=True)):
            for (before, behind), value in self._after.items():
                if before == token:
                    values[row, behind] = -4.0 if unknown and behind == IDS["Zug"] else value
            if token == BOS:
                values[row, [IDS["Der"], IDS["Die"], IDS["Den"]]] = -0.1, -5, -6
        return Step(Scores(values), None)


def target(*written: str) -> Target:
    tokens = tuple(IDS[word] for word in written)
    return Target(written, tokens, tokens)


def written(model, *terms, free=FREE, reads=READS, limit=20, **asked) -> str:
    """Returns the text of a hypothesis with terms, each of a position of the source."""
    found = Terms(SPELLING)
    found.owners = np.full(len(SOURCE) + 1, NO_TERM)
    for number, (place, targets) in enumerate(terms):
        found.owners[place] = number
        found.terms.append(SourceTerm((*targets,)))
    tokens = [*(IDS[word] for word in free), EOS]
    weights = np.zeros((len(tokens), len(SOURCE) + 1), np.float32)
    weights[np.arange(len(tokens)), [*reads, len(SOURCE)]] = 1
    own = Hypothesis((*tokens,), -1.0, -1.0, Windows.whole(weights), (-0.1,) * len(tokens))
    asked_of = TokenConstraints("text 1", SPELLING, terms=found, **asked)
    row = np.array([*range(10, 10 + len(SOURCE)), EOS])
    batch = DecodedBatch(model, GreedyConfig(max_length=limit), np.array([0]), [row], [[own]])  # type: ignore[arg-type]
    ((result,),) = write_terms(batch, [asked_of])
    assert result.log_prob == own.log_prob and len(result.log_probs) == len(result.tokens) == len(result.windows.first)
    return "".join(SURFACES[token] for token in result.tokens).strip()


def test_a_term_stands_in_the_place_of_the_noun_and_its_article_agrees():
    known = Pairs(Der_Bahn=-5, Die_Bahn=-1, Den_Bahn=-5, Bahn_nach=-0.1)
    assert written(known, (1, [target("Bahn")])) == "Die Bahn nach Berlin fährt ab."
    masculine = Pairs(Der_Tram=-1, Die_Tram=-5, Tram_nach=-0.1)
    assert written(masculine, (1, [target("Tram")])) == "Der Tram nach Berlin fährt ab."
    # What is to be avoided is not chosen.
    avoided = Avoided(["Die"], SPELLING)
    assert written(known, (1, [target("Bahn")]), avoided=avoided) == "Der Bahn nach Berlin fährt ab."


def test_an_ending_changes_only_for_words_that_the_model_knows():
    model = Pairs(Der_Bahn=-7, Die_Bahn=-1)
    assert written(model, (1, [target("Bahn", "Karte")])) == "Der Bahn Karte nach Berlin fährt ab."


def test_of_several_targets_the_most_probable_one_is_written():
    model = Pairs(Der_Tram=-2, Der_Bahn=-4)
    assert written(model, (1, [target("Bahn"), target("Tram")])) == "Der Tram nach Berlin fährt ab."


def test_what_the_model_writes_by_itself_stays_and_each_place_meets_one_term():
    model = Pairs(Der_Bahn=-2)
    assert written(model, (1, [target("Zug")])) == "Der Zug nach Berlin fährt ab."
    assert written(model, (1, [target("Zug")]), (3, [target("Zug")])) == "Der Zug nach Zug fährt ab."
    # Elsewhere it translates something else.
    assert written(model, (3, [target("Zug")])) == "Der Zug nach Zug fährt ab."


def test_what_was_asked_for_stays():
    model = Pairs(Der_Bahn=-2, Der_Tram=-3)
    train = (1, [target("Bahn")])
    prefix = Prefix([IDS["Der"], IDS["Zug"]], "", SPELLING)
    assert written(model, train, prefix=prefix) == "Der Zug nach Berlin fährt ab Bahn."
    # The blank that ends a prefix is no part of the word behind it.
    assert written(model, train, prefix=Prefix([IDS["Der"]], " ", SPELLING)) == written(model, train)
    phrases = Phrases([[Form((IDS["Zug"], IDS["nach"]))]], SPELLING.inside)
    assert "Zug nach" in written(model, train, phrases=phrases) and "Bahn" in written(model, train, phrases=phrases)
    either = (1, [target("Bahn"), target("Tram")])
    assert written(model, either, avoided=Avoided(["Bahn"], SPELLING)) == "Der Tram nach Berlin fährt ab."


def test_a_word_before_several_terms_has_one_ending_and_is_left_out_with_it():
    model = Pairs(Die_Bahn=-1, Die_Tram=-1)
    bahn, tram = (1, [target("Bahn")]), (2, [target("Tram")])
    assert written(model, bahn, tram, free=["Der"], reads=[4]) == "Die Bahn Tram"
    assert written(model, bahn, limit=2) == "Bahn"
    both = Pairs(Der_Bahn=-5, Die_Bahn=-1, Bahn_Tram=-0.1, Bahn_Karte=-0.1)
    assert written(both, (1, [target("Die")]), (2, [target("Bahn")]), free=["Der", "Zug"], reads=[1, 2]) == "Die Bahn"


def test_what_the_model_left_out_comes_before_the_last_mark_and_the_limit_holds():
    model = Pairs(Der_nach=-0.1)
    free = ["Der", "nach", "Berlin", "fährt", "ab", "."]
    longer = written(model, (1, [target("Bahn")]), free=free, reads=[4, 4, 3, 4, 4, 5])
    assert longer == "Der nach Berlin fährt ab Bahn."
    assert written(Pairs(Der_Bahn=-2, Bahn_nach=-0.1), (1, [target("Bahn")]), limit=6) == "Der Bahn nach Berlin fährt"
    assert written(Pairs(), (1, [target("Bahn")]), free=[], reads=[]) == "Bahn"


# A model that has learnt.


@pytest.fixture(scope="module")
def learnt(configure: Callable[..., Config], corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    config = configure({"training": {"epochs": 24, "validate_every": 400}, "search": {"name": "greedy"}})
    run = begin(config, corpus, tmp_path_factory.mktemp("learnt") / "run")
    train_and_test(run)
    return torch_translator(run.model.eval(), corpus.tokenizers, config)


LINES = [
    f"{article} {adjective} {noun} {verb} {article} {thing}".replace("  ", " ")
    for article in ("the", "two")
    for adjective in ("", "big", "green")
    for noun in ("cats", "dogs")
    for verb, thing in (("see", "streets"), ("find", "bridges"), ("leave", "houses"))
]
GLOSSARY = {"cats": "Häuser", "dogs": "鳥", "see": "verlassen", "bridges": "Katzen", "big": "grünen"}


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3)])
def test_sentences_have_the_term_in_the_place_of_the_model_s_own_word(learnt: Translator, search: Any):
    own = {"cats": "Katzen", "dogs": "Hunde", "see": "sehen", "bridges": "Brücken", "big": "großen"}
    free = learnt.translate(LINES, search)
    results = learnt.translate(LINES, search, glossary=GLOSSARY)
    right = 0
    for line, plain, result in zip(LINES, free, results, strict=True):
        expected = [*words(plain.text)]
        for term, written in GLOSSARY.items():
            if term in line.split() and own[term] in expected:
                expected[expected.index(own[term])] = written
        right += words(result.text) == expected
    assert right >= 0.95 * len(LINES)
