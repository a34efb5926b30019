"""What is asked of the hypotheses of single sentences, against a look at every sentence of toy languages."""

from collections.abc import Sequence

import pytest
import torch

from mt.search.phrases import Form, Phrases
from mt.search.spelling import Avoided, Prefix, Spelling
from mt.search.steering import Steering, TokenConstraints
from tests.marks import combined
from tests.search.searches import beam

SURFACES = ["", " ⁇ ", "", "", " a", " b", "a", "ab", "c"]
"""Of the tokens 0 to 8: two begin a word, three go on with one."""
SPELLING = Spelling(SURFACES, {"a", "b", "c"})
SEPARATE = Spelling(["", " ⁇ ", "", "", " a", " b", " c", " d", " e"], {"a", "b", "c", "d", "e"})
"""Each token is a word."""


def text_of(tokens: Sequence[int], spelling: Spelling = SPELLING) -> str:
    return " ".join("".join(spelling.surfaces[token] for token in tokens).split())


def asked(
    phrases: Sequence[Sequence[Sequence[int]]] = (),
    avoid: Sequence[str] = (),
    prefix: tuple[Sequence[int], str] | None = None,
    spelling: Spelling = SPELLING,
) -> TokenConstraints:
    return TokenConstraints(
        "text 1",
        spelling,
        Phrases([[Form(tuple(tokens)) for tokens in forms] for forms in phrases], spelling.inside) if phrases else None,
        Avoided(avoid, spelling) if avoid else None,
        None if prefix is None else Prefix(*prefix, spelling),
    )


def appearances(tokens: Sequence[int], form: Sequence[int], spelling: Spelling) -> list[tuple[int, int]]:
    """Where a form stands among tokens, and does not go on with a word beside it."""
    assert spelling.surfaces[form[0]].startswith(" ")
    places = []
    for begin in range(len(tokens) - len(form) + 1):
        end = begin + len(form)
        if tuple(tokens[begin:end]) == tuple(form):
            following = spelling.surfaces[tokens[end]] if end < len(tokens) else ""
            if not following or following.startswith(" "):
                places.append((begin, end))
    return places


def holds(tokens: Sequence[int], phrases: Sequence[Sequence[Sequence[int]]], spelling: Spelling) -> bool:
    """Whether every phrase stands among tokens as often as it is asked for, without sharing tokens with itself."""
    for forms, copies in {str(sorted(map(list, forms))): (forms, 0) for forms in phrases}.values():
        copies = sum(sorted(map(list, other)) == sorted(map(list, forms)) for other in phrases)
        count = end_before = 0
        for end, begin in sorted((e, b) for form in forms for b, e in appearances(tokens, form, spelling)):
            if begin >= end_before:
                count += 1
                end_before = end
        if count < copies:
            return False
    return True


def best(toy, sentence: int, longest: int, exponent: float, allowed) -> list[tuple[float, tuple[int, ...]]]:
    return [(score, tokens) for score, tokens in toy.ranked(sentence, longest, exponent) if allowed(tokens)]


PHRASES = {
    "one": [[[5]]],
    "of two tokens": [[[4, 5]]],
    "two": [[[4]], [[5, 6]]],
    "prefix of another": [[[4]], [[4, 5]]],
    "overlapping": [[[4, 5]], [[5, 6]]],
    "twice": [[[4, 5]], [[4, 5]]],
    "twice with itself": [[[4, 4]], [[4, 4]]],
    "any of": [[[4, 5, 5], [5, 4]]],
    "any of, twice": [[[4], [4, 5]], [[4], [4, 5]]],
    "inside": [[[4, 5, 4]], [[5]]],
}


@combined(exponent=[0.0, 1.0], seed=range(2), phrases=[*PHRASES])
def test_a_wide_beam_finds_the_best_of_all_sentences_that_hold_the_phrases(make_toy, exponent, seed, phrases):
    """Seven tokens, of which four are words: 1,365 hypotheses of at most five tokens."""
    toy = make_toy(2, 7, seed)
    wanted = PHRASES[phrases]
    longest = 5
    steering = Steering([asked(wanted, spelling=SEPARATE)] * 2, [longest] * 2)
    result = beam(
        toy,
        toy.memory(),
        2,
        beam_size=1500,
        max_lengths=torch.full((2,), longest),
        length_penalty=exponent,
        n_best=10,
        steering=steering,
    )
    for b, hypotheses in enumerate(result):
        expected = best(toy, b, longest, exponent, lambda tokens: holds(tokens, wanted, SEPARATE))[:10]
        assert expected
        assert [h.tokens for h in hypotheses] == [tokens for _, tokens in expected]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-4)
