"""Terms in the place of a model's own words: the words of hypotheses, their rewriting, and hypotheses that are written
while the source is read."""

from dataclasses import replace

import numpy as np
import pytest

from mt.constraints.spelling import Spelling
from mt.constraints.terms import NO_TERM, SourceTerm, Target, Terms
from mt.decoding.terms import Edit, TermStream, edited, rewritten, streamed, words_of
from mt.search.hypothesis import Hypothesis, Windows
from mt.search.policies import OnlineConfig, WaitKConfig
from mt.step import EOS

SURFACES = ["", " ⁇ ", "", "", " A", " b", " c", "d", ".", " term", " two", " words", "-", "term", " Term", "'"]
SPELLING = Spelling(SURFACES, {*"Abcdetrmwos"})
A, B, C, D, DOT, TERM, TWO, WORDS, HYPHEN, BARE, CAPITAL, APOSTROPHE = range(4, 16)
LENGTH = 5
ONE = Target(("term",), (TERM,), (CAPITAL,), (BARE,))
BOTH = Target(("two", "words"), (TWO, WORDS), (TWO, WORDS))


def source(*terms: SourceTerm, owners: list[int]) -> Terms:
    found = Terms(SPELLING)
    found.terms = [*terms]
    found.owners = np.array(owners)
    found.certain = [LENGTH] * LENGTH
    found.complete = True
    return found


def text(tokens: tuple[int, ...]) -> str:
    return "".join(SURFACES[token] for token in tokens)


def hypothesis(tokens: list[int], reads: list[int], *, hard: bool = False, share: float = 0.9) -> Hypothesis:
    weights = np.full((len(tokens), LENGTH), (1 - share) / (LENGTH - 1), np.float32)
    weights[np.arange(len(tokens)), reads] = share
    windows = Windows.whole(weights)._replace(stops=np.array(reads) if hard else None)
    log_probs = tuple(-float(place + 1) for place in range(len(tokens)))
    return Hypothesis((*tokens,), sum(log_probs), sum(log_probs), windows, log_probs)


def test_words_are_those_of_terms_and_what_shares_a_token_is_one():
    tokens = [A, D, HYPHEN, D, APOSTROPHE, D, DOT, B, EOS]
    assert [(word.begin, word.end, word.text) for word in words_of(tokens, SPELLING)] == [
        (0, 4, "Ad-d"),
        (4, 5, "'"),
        (5, 6, "d"),
        (6, 7, "."),
        (7, 8, "b"),
    ]
    joined = Spelling([*SURFACES, "b. c"], {*"Abc"})
    assert [(*word[:3], [*word.numbers]) for word in words_of([A, len(SURFACES), D], joined)] == [
        (0, 3, "Ab. cd", [0, 1, 2])
    ]
    unspaced = Spelling(["", "", "", "", "東京", "に"], set())
    assert [word.text for word in words_of([4, 5], unspaced)] == ["東京", "に"]


def test_what_is_written_has_the_attention_and_the_probability_of_what_it_replaces():
    own = hypothesis([A, B, D, C, EOS], [0, 1, 1, 2, 4])
    entries = edited(own.tokens, own.log_probs, [Edit(1, 3, (TWO, WORDS, B), 2), Edit(4, 4, (TERM,), 3)])
    result = rewritten(own, entries)
    assert text(result.tokens) == " A two words b c term" and result.tokens[-1] == EOS
    assert result.log_probs == (-1, -5, 0, 0, -4, 0, -5) and result.log_prob == own.log_prob
    assert result.windows.peaks() == [0, 1, 1, 1, 2, 2, 4] and sum(result.log_probs) == own.log_prob


def test_two_terms_of_one_word_stand_side_by_side():
    own = hypothesis([A, B, C], [0, 1, 2])
    entries = edited(own.tokens, own.log_probs, [Edit(1, 2, (TWO,), 1), Edit(1, 2, (WORDS,), 1)])
    assert text(tuple(entry.token for entry in entries)) == " A two words c"
    assert sum(entry.log_prob for entry in entries) == own.log_prob  # of the word that both replace, once


@pytest.mark.parametrize(
    ("tokens", "reads", "hard", "expected"),
    [
        ([A, B, C], [0, 1, 2], False, " A term c"),
        ([B, C, A], [1, 2, 3], False, " Term c A"),
        # The last of several words that read it; a part of a word; its last word.
        ([A, B, C, A], [0, 1, 1, 3], False, " A b term A"),
        ([A, D, C, DOT], [0, 1, 2, 3], False, " Aterm c."),
        ([A, B, EOS], [0, 1, 4], False, " A term"),
        ([A, B], [0, 1], False, " A term"),
        # What is written by itself; and what reads it too little.
        ([A, TERM, C], [0, 1, 2], False, " A term c"),
        ([A, B, C], [0, 2, 2], False, " A b c"),
        # A hard attention has passed it.
        ([A, B, C], [0, 2, 3], True, " A term b c"),
        ([A, B, C, B], [0, 1, 1, 2], True, " A b term b"),
        ([A, B, C], [0, -1, -1], True, " A b c"),
    ],
)
def test_the_last_word_that_reads_a_term_is_replaced(tokens: list[int], reads: list[int], hard: bool, expected: str):
    own = hypothesis(tokens, reads, hard=hard)
    terms = source(SourceTerm((ONE,)), owners=[NO_TERM, 0, NO_TERM, NO_TERM, NO_TERM])
    assert text(streamed(own, terms, OnlineConfig() if hard else WaitKConfig(k=LENGTH)).tokens) == expected


def test_each_occurrence_is_written_once():
    terms = source(*[SourceTerm((BOTH,))] * 2, owners=[0, NO_TERM, 1, NO_TERM, NO_TERM])
    own = hypothesis([A, B, C, A, B], [0, 1, 2, 3, 2])
    assert text(streamed(own, terms, WaitKConfig(k=LENGTH)).tokens) == " two words b two words A b"


def test_what_waits_comes_with_the_token_that_ends_that_and_what_is_not_known_is_no_term():
    own = hypothesis([A, B, C, A, EOS], [0, 1, 1, 3, 4])
    own = replace(own, delays=np.arange(1, 6))
    terms = source(SourceTerm((ONE,)), owners=[NO_TERM, 0, NO_TERM, NO_TERM, NO_TERM])
    late = streamed(own, terms, WaitKConfig(k=LENGTH))
    assert late.delays is not None and late.delays.tolist() == [1, 4, 4, 4, 5]
    assert text(streamed(own, terms, WaitKConfig(k=1)).tokens) == " A b c A"
    assert TermStream(terms).known == LENGTH


def test_half_of_an_attention_reads_no_term() -> None:
    stream = TermStream(source(SourceTerm((ONE,)), owners=[0, NO_TERM]))
    assert stream.reads(np.array([0.5, 0.5]), None, None) == [NO_TERM]
    assert stream.reads(np.array([0.625, 0.375]), None, None) == [0]
