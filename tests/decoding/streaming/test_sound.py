"""A stream of sound writes what offline decoding does, however the samples are cut, and before later ones exist."""

import random
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
import torch

from mt.data.fields import AudioConfig, AudioField
from mt.decoding.delays import delays
from mt.decoding.streaming import Session, StreamingModel, finish, read
from mt.evaluation.timing import written_units
from mt.search.hypothesis import Hypothesis
from tests.decoding.decoded import decode_ids

RATE = 4000
FIELD = AudioField(AudioConfig(rate=RATE))
PLAIN = [(policy, {}) for policy in ("monotonic", "absorbing", "mocha", "matcha", "milk", "wait-5")]
CHANGES = [("mocha", {"encoder": "gru"}), ("mocha", {"encoder": "lc_bilstm"}), ("wait-5", {"encoder": "lc_bilstm"})]
CHANGES += [
    ("mocha", {"encoder": "pyramid", "bias": 2.0}),
    ("milk", {"convolutions": 0}),
    ("monotonic", {"convolutions": 1, "normalization": "running"}),
]
some_models = pytest.mark.parametrize(("policy", "changes"), [*PLAIN, CHANGES[1]], ids=str)
every_model = pytest.mark.parametrize(("policy", "changes"), [*PLAIN, *CHANGES], ids=str)

Hearing = Callable[..., StreamingModel]
Noises = Callable[..., list[np.ndarray]]


def cut(sound: np.ndarray, draw: random.Random) -> Iterator[np.ndarray]:
    """Pieces of any length, some of them empty."""
    begin = 0
    while begin < len(sound):
        end = begin + draw.choice((0, 1, 7, 39, 40, 41, 200, 1500))
        yield sound[begin:end]
        begin = end


def offline(ours: StreamingModel, given: list[np.ndarray]) -> list[Hypothesis]:
    rows = FIELD.encode(given, None)
    size = len(ours.tokenizers.target)
    result = decode_ids(ours.model, rows, ours.search, vocab_size=size, precision="fp32", field=FIELD)
    return [hypotheses[0] for hypotheses in result]


def streamed(ours: StreamingModel, pieces: Any) -> tuple[Session, list[list[str]]]:
    session = Session(ours)
    return session, [*[session.read(piece) for piece in pieces], session.finish()]


@every_model
def test_a_stream_is_offline_decoding_and_so_are_its_delays(policy, changes, hearing: Hearing, noises: Noises) -> None:
    """But for what is known with the last place, which may come up to 30 ms before the end."""
    ours = hearing(policy, **changes)
    given = noises(3)
    early = 0
    target = ours.tokenizers.target
    frontend = ours.model.frontend
    for sound, hypothesis in zip(given, offline(ours, given), strict=True):
        session, _ = streamed(ours, cut(sound, random.Random(len(sound))))
        assert session.tokens == hypothesis.tokens
        (row,) = FIELD.encode([sound], None)
        places = int(ours.model.encoded_lengths(torch.tensor([len(row)])))
        result = delays(target, FIELD.describe(row, places, target, "char", None), hypothesis, frontend)
        characters = written_units(target, hypothesis.tokens, "char")
        assert [character.text for character in characters] == [word.strip() for word in session.words]
        last = 10 * int(frontend.needed(frontend.output_lengths(torch.tensor(len(row)))))
        for character, delay in zip(characters, session.delays, strict=True):
            offline_delay = result["source_words"] if character.last is None else result["words_read"][character.last]
            assert delay == offline_delay or last <= delay < offline_delay == result["source_words"] == 10 * len(row)
        early += sum(delay < last for delay in session.delays)
    assert early > 2


@pytest.mark.parametrize("policy", ["mocha", "milk", "wait-5"])
def test_any_cutting_gives_the_same(policy, hearing: Hearing, noises: Noises) -> None:
    ours = hearing(policy)
    (sound,) = noises(1, seconds=2.0)
    whole, _ = streamed(ours, [sound])
    assert whole.words
    for seed in range(3):
        session, _ = streamed(ours, cut(sound, random.Random(seed)))
        assert (session.words, session.delays, session.events) == (whole.words, whole.delays, whole.events)
        assert session.energies == whole.energies
    floats, _ = streamed(ours, [np.stack([sound, sound], 1) / 32768])
    assert (floats.words, floats.delays) == (whole.words, whole.delays)


@some_models
def test_together_is_as_alone(policy, changes, hearing: Hearing, noises: Noises) -> None:
    ours = hearing(policy, **changes)
    given = noises(4, seconds=0.6)
    draw = random.Random(1)
    alone = [streamed(ours, [sound])[0] for sound in given]
    sessions = [Session(ours) for _ in given]
    for turn in zip_longest(*(cut(sound, draw) for sound in given)):
        now = [i for i, piece in enumerate(turn) if piece is not None]
        read([sessions[i] for i in now], [turn[i] for i in now])
    finish(sessions)
    for session, other in zip(sessions, alone, strict=True):
        assert (session.words, session.delays) == (other.words, other.delays)


@some_models
def test_nothing_written_depends_on_later_samples(policy, changes, hearing: Hearing, noises: Noises) -> None:
    ours = hearing(policy, **changes)
    (sound,) = noises(1)
    early = 0
    for number, future in enumerate(noises(3, seconds=0.5, seed=1)):
        now = (number + 1) * len(sound) // 4
        session = Session(ours)
        past = session.read(sound[:now])
        other, _ = streamed(ours, [np.append(sound[:now], future)])
        assert other.words[: len(past)] == past
        assert all(delay <= 1000 * now / RATE for delay in session.delays)
        early += len(past)
    assert early > 2
