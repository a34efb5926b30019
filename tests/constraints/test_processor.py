"""What is asked of the hypotheses of single sentences, against a look at every sentence of toy languages."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from mt.constraints.phrases import Form, Phrases
from mt.constraints.processor import ConstraintProcessor, TokenConstraints
from mt.constraints.spelling import Avoided, Prefix, Spelling
from mt.errors import UserError
from mt.search.beam import search
from mt.search.coverage import Coverage, Penalties
from mt.search.graph_stepper import GraphStepper
from mt.search.processor import Rules
from mt.search.torch_stepper import TorchStepper
from mt.step import EOS
from tests.marks import combined
from tests.search.searches import beam, require_found
from tests.search.test_graph_stepper import Recorder, require_equal
from tests.search.toys import make_toy

SURFACES = ["", " ⁇ ", "", "", " a", " b", "a", "ab", "c"]
"""Of the tokens 0 to 8: two begin a word, three go on with one."""
SPELLING = Spelling(SURFACES, {"a", "b", "c"})
SEPARATE = Spelling(["", " ⁇ ", "", "", " a", " b", " c", " d", " e"], {"a", "b", "c", "d", "e"})
"""Each token is a word."""


def text_of(tokens: Sequence[int], spelling: Spelling = SPELLING) -> str:
    return " ".join("".join(spelling.surfaces[token] for token in tokens).split())


def asked(phrases=(), avoid=(), prefix=None, spelling=SPELLING) -> TokenConstraints:
    return TokenConstraints(
        "text 1",
        spelling,
        Phrases([[Form(tuple(tokens)) for tokens in forms] for forms in phrases], spelling) if phrases else None,
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


LONGEST = 4


def whole_words(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a text as whole words of the letters a, b and c."""
    before = "(?<![abc])" if phrase[0] in "abc" else ""
    after = "(?![abc])" if phrase[-1] in "abc" else ""
    return re.search(before + re.escape(phrase) + after, text) is not None


def ends_avoided(tokens: Sequence[int], avoid: Sequence[str]) -> bool:
    """Whether an avoided phrase stands in what is written after some of the tokens."""
    return any(whole_words(text_of(tokens[:n]), phrase) for n in range(1, len(tokens) + 1) for phrase in avoid)


def searched(toy, sentence: TokenConstraints, longest=LONGEST, rules=(0, 0), length_penalty=0.0):
    """The best hypotheses of both sentences of a toy language of which the same is asked."""
    limits = [longest] * 2
    processors = [ConstraintProcessor([sentence] * 2, limits), Rules(2, *rules)]
    options = {"beam_size": 4000, "n_best": 10, "length_penalty": length_penalty, "processors": processors}
    return beam(toy, toy.memory(), 2, max_lengths=limits, **options)


def require_best(toy, sentence: TokenConstraints, allowed, longest=LONGEST, rules=(0, 0), length_penalty=0.0) -> None:
    """A wide beam finds the best of all sentences of the language that are allowed."""
    for b, hypotheses in enumerate(searched(toy, sentence, longest, rules, length_penalty)):
        ranked = toy.ranked(b, longest, length_penalty)
        expected = [(score, tokens) for score, tokens in ranked if allowed(tokens)][:10]
        assert expected
        require_found(hypotheses, expected)


@combined(exponent=[0.0, 1.0], seed=range(2), phrases=PHRASES.values())
def test_a_wide_beam_finds_the_best_of_all_sentences_that_hold_the_phrases(exponent, seed, phrases):
    """Seven tokens, of which four are words: 1,365 hypotheses of at most five tokens."""
    sentence = asked(phrases, spelling=SEPARATE)
    require_best(make_toy(2, 7, seed), sentence, lambda tokens: holds(tokens, phrases, SEPARATE), 5, (0, 0), exponent)


@pytest.mark.parametrize("avoid", [["a"], ["ab"], ["a b"], ["a b", "cc"], ["b a", "aab"], ["aa"]], ids=str)
def test_avoided_phrases_stand_nowhere_in_any_tokens(avoid):
    """`ab` is ` a` with what goes on with it, in no vocabulary a token: all ways to write a phrase are avoided."""
    require_best(make_toy(2, 9, seed=1), asked(avoid=avoid), lambda tokens: not ends_avoided(tokens, avoid))


@pytest.mark.parametrize(
    ("tokens", "rest"), [((4, 5), ""), ((4,), " b"), ((), " aa"), ((5,), " "), ((), " aab"), ((5,), " bc")], ids=str
)
def test_a_prefix_is_forced_and_goes_on_also_inside_a_word(tokens, rest):
    beginning = "".join(SURFACES[token] for token in tokens) + rest
    count = len(tokens)

    def allowed(hypothesis):
        text = "".join(SURFACES[token] for token in hypothesis)
        return hypothesis[:count] == tokens and text.startswith(beginning)

    require_best(make_toy(2, 9, seed=2), asked(prefix=(tokens, rest)), allowed)


@pytest.mark.parametrize(
    "sentence",
    [
        asked(prefix=((), " ab")),
        asked(avoid=["a"], prefix=((), " a")),
        asked([[[5]]], ["b"]),
        asked([[[5]]], prefix=((4, EOS), "")),
    ],
    ids=["no such prefix", "an avoided prefix", "an avoided phrase", "a phrase behind the end"],
)
def test_what_is_impossible_gives_no_hypothesis(sentence):
    assert searched(make_toy(2, 9, seed=2), sentence) == [[], []]


def test_a_token_that_goes_on_with_the_word_takes_a_phrase_back():
    phrases = [[[4]], [[5, 6]]]
    require_best(make_toy(2, 9, seed=3), asked(phrases), lambda tokens: holds(tokens, phrases, SPELLING))


def test_a_bare_form_stands_where_no_word_goes_on():
    """`ab` (7) may be written after what is no letter; after ` a` it would go on with the word."""
    spelling = Spelling(["", " ⁇ ", "", "", " a", "-", "ab", " c"], {"a", "b", "c"})
    asked_of = TokenConstraints("text 1", spelling, Phrases([[Form((6,), bare=True)]], spelling))

    def stands(tokens, i):
        begins = i == 0 or not spelling.inside[tokens[i - 1]]
        return tokens[i] == 6 and begins and (i + 1 == len(tokens) or not spelling.continues[tokens[i + 1]])

    toy = make_toy(2, 8, seed=0)
    require_best(toy, asked_of, lambda tokens: any(stands(tokens, i) for i in range(len(tokens))))


@pytest.mark.parametrize("rules", [(3, 0), (0, 1), (2, 2)], ids=str)
def test_everything_at_once(rules):
    min_length, n = rules
    phrases = [[[4], [5, 6]]]

    def allowed(tokens):
        ngrams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)] if n else []
        return (
            holds(tokens, phrases, SPELLING)
            and not ends_avoided(tokens, ["cb", "a a"])
            and "".join(SURFACES[token] for token in tokens).startswith(" b")
            and len(set(ngrams)) == len(ngrams)
            and (tokens[-1] != EOS or len(tokens) > min_length)
        )

    sentence = asked(phrases, ["cb", "a a"], ((), " b"))
    require_best(make_toy(2, 9, seed=4), sentence, allowed, rules=rules)


def test_costs_of_attention_rank_what_holds_the_phrases():
    toy = make_toy(2, 7, seed=5)
    phrases = [[[5]], [[6]]]
    limits = [LONGEST] * 2
    coverage = Coverage.before(Penalties(0.2, 0.5), [3, 3])
    options = {"max_lengths": limits, "beam_size": 1500, "n_best": 400, "coverage": coverage}
    free = beam(toy, toy.memory(), 2, **options)
    processor = ConstraintProcessor([asked(phrases, spelling=SEPARATE)] * 2, limits)
    held = beam(toy, toy.memory(), 2, processors=[processor], **options)
    for every, some in zip(free, held, strict=True):
        expected = [(h.score, h.tokens) for h in every if holds(h.tokens, phrases, SEPARATE)]
        require_found(some[: len(expected)], expected)


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_thousand_random_phrases_are_met(beam_size):
    """Phrases of one to three tokens, up to four a sentence, as tight as their tokens in a row allow."""
    draw = np.random.default_rng(beam_size)
    count = 200
    toy = make_toy(count, 40, seed=beam_size, ending=1.0)
    surfaces = ["", " ⁇ ", "", "", *(f" {chr(97 + i)}" for i in range(36))]
    spelling = Spelling(surfaces, set("".join(surfaces)) - {" "})
    sizes = [draw.integers(1, 4, draw.integers(1, 5)) for _ in range(count)]
    wanted = [[[tuple(draw.integers(4, 40, size).tolist())] for size in of_one] for of_one in sizes]
    limits = [sum(len(form) for (form,) in phrases) + int(draw.integers(0, 6)) for phrases in wanted]
    processor = ConstraintProcessor([asked(phrases, spelling=spelling) for phrases in wanted], limits)
    n_best = min(beam_size, 3)
    options = {"beam_size": beam_size, "length_penalty": 0.6, "n_best": n_best, "processors": [processor]}
    result = beam(toy, toy.memory(), count, max_lengths=limits, **options)
    for hypotheses, phrases in zip(result, wanted, strict=True):
        assert hypotheses
        assert all(holds(h.tokens, phrases, spelling) for h in hypotheses)


def test_what_nothing_is_asked_of_stays_as_it_is():
    toy = make_toy(6, 9, seed=6)
    lengths = [9, 1, 4, 9, 12, 7]
    options = {"max_lengths": lengths, "beam_size": 3, "n_best": 2, "length_penalty": 0.6}
    free = beam(toy, toy.memory(), 6, **options)
    some = [None, None, asked([[[4]]], ["b"]), None, asked(prefix=((4,), " b")), None]
    beside = beam(toy, toy.memory(), 6, processors=[ConstraintProcessor(some, lengths)], **options)
    for one, hypotheses, others in zip(some, free, beside, strict=True):
        assert (hypotheses == others) == (one is None)


def test_more_than_the_limit_is_refused():
    with pytest.raises(UserError, match=r"^text 1 asks for 3 tokens or more, and at most 2 are written: ask for less"):
        ConstraintProcessor([asked([[[4, 5, 6]]])], [2])
    with pytest.raises(UserError, match=r"^text 1 asks for 2 tokens or more, and at most 1 are written"):
        ConstraintProcessor([asked(prefix=((4,), " b"))], [1])


def test_recorded_steps_find_the_same():
    toy = make_toy(1, 9, seed=7)
    sentence = asked([[[4, 5]], [[5, 6]]], ["a a"], ((), " b"))
    start = (toy.step, toy.memory(), toy.init_state(toy.memory()), 1, torch.device("cpu"))
    steppers = (GraphStepper(TorchStepper(*start), 4, Recorder()), TorchStepper(*start))
    (actual, expected) = (
        search(stepper, [9], processors=[ConstraintProcessor([sentence], [9])], beam_size=4, n_best=3)
        for stepper in steppers
    )
    assert len(expected[0]) == 3
    require_equal(actual, expected)


def test_a_prefix_needs_as_many_tokens_as_write_it():
    surfaces = ["", " ⁇ ", "", "", " a", "b", "bc", "c", "d", " abc"]
    spelling = Spelling(surfaces, {*"abcd"})
    assert Prefix([], " abcd", spelling).fewest == 2  # " abc" and "d"
    assert Prefix([4, 5], "bcb", spelling).fewest == 4
    assert Prefix([4], "", spelling).fewest == 1
    # A token may go on beyond it.
    assert Prefix([], " ab", spelling).fewest == 1
    # Nothing leads to where no token goes on: " " and "ab" may follow, and " a" may not.
    spelling_of_dead_end = Spelling(["", " ⁇ ", "", "", " a", " ", "ab"], {*"ab"})
    assert Prefix([], " ab", spelling_of_dead_end).options(0).tolist() == [5]
    asked = TokenConstraints("text 1", spelling, None, None, Prefix([4], "bcdd", spelling))
    with pytest.raises(UserError, match=r"text 1 asks for 4 tokens or more, and at most 3 are written"):
        ConstraintProcessor([asked], [3])


def test_a_token_is_avoided_where_it_holds_the_phrase_as_whole_words():
    spelling = Spelling(["", " ⁇ ", "", "", " ab", " a", "-a b", " ba", "ba-a-a"], {"a", "b"})
    assert Avoided(["a"], spelling).forbidden(Avoided.start).tolist() == [5, 6, 8]
    # At the second of two places that overlap.
    assert Avoided(["a-a"], spelling).forbidden(Avoided.start).tolist() == [8]
    # Blanks in a row are one, whichever tokens write them.
    spelling = Spelling(["", " ⁇ ", "", "", " a", " ", " b"], {"a", "b"})
    avoided = Avoided(["a b a"], spelling)
    assert avoided.allows([4, 5, 6, 5, 6]) and not avoided.allows([4, 5, 6, 5, 4])


def test_only_the_next_token_may_not_go_on_with_the_last_word_of_a_prefix():
    prefix = Prefix([4], "", SPELLING, np.array([6, 7, 8]))
    after = TokenConstraints("text 1", SPELLING, prefix=prefix)
    require_best(make_toy(2, 9, seed=2), after, lambda tokens: tokens[0] == 4 and not {*tokens[1:2]} & {6, 7, 8})


def test_a_phrase_repeats_tokens_where_all_its_forms_do():
    def repeats(*forms, copies=1):
        return asked([forms] * copies).phrases.repeats(1)

    assert repeats([4, 4]) and repeats([4, 4], [5, 5]) and repeats([4, 5], copies=2) and not repeats([4, 4], [4, 5])
