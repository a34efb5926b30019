"""Policies on drafts that are written by hand, against definitions of the papers and plain loops."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mt.search.options import MAX_LENGTH
from mt.search.policies import AgreeConfig, AlignAttConfig, Draft, OnlineConfig, RetranslateConfig, WaitKConfig
from mt.step import EOS

FREE: dict[str, Any] = {"max_length": MAX_LENGTH}


def draft(peaks: Sequence[int], width: int, tokens: Sequence[int] | None = None, **changes: Any) -> Draft:
    """A draft of which each token attends to one position."""
    weights = np.zeros((len(peaks), width), np.float32)
    weights[np.arange(len(peaks)), [*peaks]] = 1
    options = {"log_probs": [-1.0] * len(peaks), "stops": None, "written": 0, "read": width, "complete": False}
    return Draft([*range(10, 10 + len(peaks))] if tokens is None else tokens, weights, **options | changes)


# Of AlignAtt (Papi et al. 2023, section 3) and of EDAtt (Papi et al. 2022, section 3).


@pytest.mark.parametrize(
    ("peaks", "f", "written", "expected"),
    [
        ([0, 1, 2, 3], 0, 0, 4),
        ([0, 1, 2, 3], 1, 0, 3),
        ([0, 1, 2, 3], 2, 0, 2),
        ([0, 1, 3, 1], 2, 0, 2),  # a token behind one that is held is held, too
        ([0, 3, 1, 3], 1, 2, 3),  # what was written is not looked at
        ([3, 3, 3, 3], 2, 3, 3),
        ([0, 1, 2, 3], 9, 0, 0),
    ],
)
def test_alignatt_stops_at_the_first_token_that_attends_to_the_last_words(peaks, f, written, expected) -> None:
    assert AlignAttConfig(f=f, **FREE).writes(draft(peaks, 4, written=written)) == expected


def test_alignatt_counts_words_and_not_their_pieces() -> None:
    # Words of 2, 1 and 3 pieces, and an invisible one.
    options: dict[str, Any] = {"words": [2, 0, 1, 3]}
    given = draft([0, 1, 2, 3, 5], 6, **options)
    for f, expected in enumerate([5, 3, 2, 0, 0]):
        assert AlignAttConfig(f=f, **FREE).writes(given) == expected


@pytest.mark.parametrize(
    ("probabilities", "f", "written", "expected"),
    [
        ([0.9, 0.9, 0.9, 0.9], 2, 0, 3),
        ([0.9, 0.9, 0.6, 0.9], 2, 0, 2),
        ([0.6, 0.9, 0.9, 0.9], 2, 0, 2),  # all new tokens must be sure
        ([0.6, 0.9, 0.9, 0.9], 2, 1, 3),
        ([0.9, 0.9, 0.9, 0.9], 1, 0, 4),
        ([0.9, 0.9, 0.9, 0.9], 0, 0, 4),
        ([0.9, 0.9, 0.9, 0.9], 9, 0, 0),
    ],
)
def test_alignatt_lets_tokens_that_are_sure_wait_for_one_word_less(probabilities, f, written, expected) -> None:
    given = draft([0, 1, 2, 3], 4, written=written, log_probs=np.log(probabilities))
    assert AlignAttConfig(f=f, sure=0.7, **FREE).writes(given) == expected


def test_edatt_adds_up_what_the_last_words_have() -> None:
    draw = np.random.default_rng(0)
    for _ in range(200):
        weights = draw.dirichlet(np.ones(5) * 0.3, 6).astype(np.float32)
        f, share, written = int(draw.integers(1, 4)), float(draw.uniform(0.1, 1.0)), int(draw.integers(0, 3))
        given = draft([0] * 6, 5, written=written)._replace(weights=weights)
        rows = weights / np.sqrt((weights**2).sum(1, keepdims=True))
        count = written
        while count < 6 and rows[count, 5 - f :].sum() < share:
            count += 1
        assert AlignAttConfig(f=f, share=share, **FREE).writes(given) == count


# Of local agreement (Liu et al. 2020) and of hold-n (Polák et al. 2022).


@pytest.mark.parametrize(
    ("drafts", "n", "hold", "expected"),
    [
        ([[5, 6, 7], [5, 6, 8]], 2, 0, 2),
        ([[5, 6], [5, 6, 7, 8]], 2, 0, 2),  # one begins the other: all of it is agreed on
        ([[5, 6, EOS], [5, 6, 7, EOS]], 2, 0, 2),
        ([[5, 6, EOS], [5, 6, EOS]], 2, 0, 2),  # the end is never written before the source ends
        ([[9, 6, 7], [5, 6, 7], [5, 6, 8]], 2, 0, 2),
        ([[9, 6, 7], [5, 6, 7], [5, 6, 8]], 3, 0, 0),
        ([[5, 6, 7]], 2, 0, 0),
        ([[], [5, 6]], 2, 0, 0),
        ([[5, 6, 7, EOS]], 1, 0, 3),
        ([[5, 6, 7, EOS]], 1, 2, 1),
        ([[5, 6, 7, EOS]], 1, 9, 0),
    ],
)
def test_what_drafts_in_a_row_have_in_common_is_agreed(drafts, n, hold, expected) -> None:
    *earlier, last = drafts
    given = draft([0] * len(last), 3, last, earlier=earlier)
    assert AgreeConfig(n=n, hold=hold, **FREE).writes(given) == expected


def test_a_full_stop_is_part_of_the_end_where_there_is_an_end() -> None:
    everything = AgreeConfig(n=1, **FREE)
    for tokens, expected in (([5, 9, EOS], 1), ([5, 9, 9, EOS], 1), ([9, EOS], 0), ([5, 9], 2), ([9, 5, EOS], 2)):
        assert everything.writes(draft([0] * len(tokens), 3, tokens, closing={9})) == expected


# Of searches that extend, where they draft.


def test_a_token_waits_for_the_position_where_its_attention_stops() -> None:
    given = draft([0] * 4, 3, stops=np.array([0, 2, 1, 2]))
    assert OnlineConfig(**FREE).writes(given) == 4
    assert OnlineConfig(**FREE).writes(given._replace(read=2)) == 1
    assert OnlineConfig(**FREE).writes(given._replace(stops=np.array([0, 1, 3, 3]))) == 2  # at the end, or nowhere
    assert OnlineConfig(**FREE).writes(given._replace(stops=np.array([0, -1, 0, 0]))) == 1


@pytest.mark.parametrize("k", [1, 3, 9])
def test_wait_k_counts_tokens(k: int) -> None:
    for read in range(8):
        given = draft([0] * 12, 8, read=8)._replace(weights=np.ones((12, read), np.float32), read=read)
        assert WaitKConfig(k=k, **FREE).writes(given) == max(0, read - k + 1)


# Of all policies.

POLICIES = [
    OnlineConfig(**FREE),
    WaitKConfig(k=2, **FREE),
    AlignAttConfig(f=1, **FREE),
    AlignAttConfig(f=2, sure=0.3, **FREE),
    AlignAttConfig(f=2, share=0.4, **FREE),
    AgreeConfig(**FREE),
    AgreeConfig(n=1, hold=1, **FREE),
    RetranslateConfig(**FREE),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_what_every_policy_promises(policy: Any) -> None:
    draw = random.Random(0)
    for _ in range(300):
        width = draw.randint(1, 6)
        peaks = [draw.randrange(width) for _ in range(draw.randint(0, 6))]
        tokens = [draw.choice([7, 8, 9]) for _ in peaks]
        if tokens and draw.random() < 0.5:
            tokens[-1] = EOS
        options = {"stops": np.array(peaks, np.int64), "written": draw.randint(0, max(0, len(tokens) - 1))}
        given = draft(peaks, width, tokens, read=draw.randint(0, width), earlier=[tokens[:-1]], closing={9}, **options)
        count = policy.writes(given)
        # What is written stays; the end, with its full stop, waits for that of the source; then all is written.
        end = tokens.index(EOS) if EOS in tokens else len(tokens)
        if EOS in tokens and end and tokens[end - 1] == 9:
            end -= 1
        assert given.written <= count <= max(given.written, end)
        assert policy.writes(given._replace(complete=True)) == len(tokens)
        # Nothing depends on what may change.
        assert all(peak < given.read for peak in peaks[given.written : count])


def test_no_draft_is_longer_than_what_has_come_allows() -> None:
    policy = AlignAttConfig(f=0, max_ratio=1.0, max_extra=1)
    assert policy.writes(draft([0] * 9, 3)) == 4


def test_re_translation_shows_its_draft_without_the_last_words() -> None:
    assert RetranslateConfig(mask_k=1).shown([], ["a", "b", "c"]) == ["a", "b"]
    assert RetranslateConfig(mask_k=4).shown([], ["a", "b", "c"]) == []
    assert AlignAttConfig().shown(["a"], ["a", "b", "c"]) == ["a"]
