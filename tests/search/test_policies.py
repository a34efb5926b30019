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


def until(weights: np.ndarray, owners: list[int], f: int, share: float | None, written: int) -> int:
    """How many tokens come before the first new one that attends to the last f words. owners: the word of each
    position."""
    last = np.array(owners) > owners[-1] - f
    for token in range(written, len(weights)):
        row = weights[token]
        if last[row.argmax()] if share is None else row[last].sum() / np.sqrt((row**2).sum()) >= share:
            return token
    return len(weights)


def test_alignatt_and_edatt_hold_back_what_attends_to_the_last_words() -> None:
    """Papi et al. 2023 and 2022, section 3, in a loop: of words of several pieces, and of invisible ones, which have
    none. Tokens that are sure wait for one word less; what was written is not looked at."""
    draw = np.random.default_rng(0)
    for number in range(800):
        words = [int(draw.integers(1, 4)), *draw.integers(0, 4, draw.integers(0, 4)).tolist()]
        owners = [word for word, count in enumerate(filter(None, words)) for _ in range(count)]
        weights = draw.dirichlet(np.ones(len(owners)) * 0.3, 6).astype(np.float32)
        probabilities = draw.uniform(0.4, 1, 6)
        f, written = int(draw.integers(0, 6)), int(draw.integers(0, 4))
        share = float(draw.uniform(0.1, 1.0)) if number % 2 else None
        sure = 0.6 if number % 3 else None

        unsure = next((token for token in range(written, 6) if probabilities[token] < (sure or 0)), 6)
        one, less = (until(weights, owners, last, share, written) for last in (f, max(0, f - 1)))
        expected = one if sure is None else max(one, min(unsure, less))
        given = draft([0] * 6, len(owners), written=written, words=words, log_probs=np.log(probabilities))
        assert AlignAttConfig(f=f, share=share, sure=sure, **FREE).writes(given._replace(weights=weights)) == expected


def test_what_drafts_in_a_row_begin_with_is_agreed() -> None:
    """Local agreement (Liu et al. 2020) and hold-n (Polák et al. 2022), in a loop. The end, and a full stop (9) in
    front of it, are never written before the source ends."""
    draw = random.Random(0)
    for _ in range(2000):
        count, n, hold = draw.randint(1, 4), draw.randint(1, 3), draw.randint(0, 2)
        drafts = [draw.choices([5, 5, 5, 9], k=draw.randint(0, 5)) + [EOS] * draw.randint(0, 1) for _ in range(count)]
        last = drafts[-1]
        end = last.index(EOS) if EOS in last else len(last)
        while EOS in last and last[:end][-1:] == [9]:
            end -= 1
        alike = max(length for length in range(end + 1) if all(one[:length] == last[:length] for one in drafts[-n:]))
        given = draft([0] * len(last), 3, last, earlier=drafts[:-1], closing={9})
        assert AgreeConfig(n=n, hold=hold, **FREE).writes(given) == (max(0, alike - hold) if count >= n else 0)


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
