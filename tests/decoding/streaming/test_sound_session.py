"""Sessions of sound: what they ask for, keep and tell, and what they refuse."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mt.data.fields import AudioConfig, AudioField
from mt.decoding.streaming import Session, StreamingModel, refuse_offline
from mt.errors import UserError
from mt.search.config import OnlineConfig
from tests.decoding.decoded import decode_ids

RATE = 4000
FIELD = AudioField(AudioConfig(rate=RATE))
ONLINE = OnlineConfig(max_ratio=1.2, max_extra=4)

Hearing = Callable[..., StreamingModel]
Noises = Callable[..., list[np.ndarray]]


def streamed(ours: StreamingModel, pieces: Any) -> tuple[Session, list[list[str]]]:
    session = Session(ours)
    return session, [*[session.read(piece) for piece in pieces], session.finish()]


def test_the_source_is_not_asked_for_what_has_not_come(hearing: Hearing, noises: Noises) -> None:
    ours = hearing("mocha")
    (sound,) = noises(1, seconds=2.0)
    whole, _ = streamed(ours, [sound])
    session = Session(ours)
    count = 0

    def arriving() -> Iterator[np.ndarray]:
        nonlocal count
        for count in range(1, 1 + len(sound) // 40):
            yield sound[40 * (count - 1) : 40 * count]
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        for piece in arriving():
            before = len(session.words)
            session.read(piece)
            assert all(delay == 10 * count for delay in session.delays[before:])
    assert session.words == whole.words[: len(session.words)] and len(session.words) > 1


def test_events_name_seconds_where_something_is_written(hearing: Hearing, noises: Noises) -> None:
    session, _ = streamed(hearing("mocha"), noises(1, seconds=2.0))
    now = 0.0
    delays_ = []
    for before, (kind, word) in zip([("write", ""), *session.events], session.events, strict=False):
        assert kind == "write" or before[0] == "write"
        now = float(word) if kind == "read" else now
        delays_ += [round(1000 * now)] if kind == "write" else []
    assert delays_ == session.delays


@pytest.mark.parametrize("name", ["monotonic", "mocha", "milk"])
def test_memory_does_not_grow_where_nothing_must_be_kept(name, hearing: Hearing, noises: Noises, wander) -> None:
    ours = hearing(name, search=OnlineConfig(max_ratio=100.0, min_length=10_000))
    wander(ours)
    session = Session(ours)
    kept = []
    for sound in noises(60, seconds=0.2):
        session.read(sound)
        kept.append(session.stored_numbers)
    assert len(session.words) > 10 and session.delays[-1] > 5000
    assert (max(kept[30:]) > max(kept[:30]) * 1.3) == (name == "milk")


def test_little_or_nothing(hearing: Hearing) -> None:
    ours = hearing("monotonic")
    session = Session(ours)
    assert session.read(np.zeros(0, np.int16)) == session.finish() == session.words == []
    for count in (1, 19, 39, 41, 81):
        sound = np.full(count, 1000, np.int16)
        session, _ = streamed(ours, [sound])
        [[result]] = decode_ids(
            ours.model, FIELD.encode([sound], None), ours.search, vocab_size=30, precision="fp32", field=FIELD
        )
        assert session.text == ours.tokenizers.target.decode(result.tokens)
        assert session.source_read == 10 * -(-count // 40)
        assert all(min(20, session.source_read) <= delay <= session.source_read for delay in session.delays)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("zwei", r"^a sound given as str has another form than \[samples\] or"),
        (np.zeros((2, 2, 2)), r"^a sound of shape \[2, 2, 2\] and type float64 has another form"),
        (np.array([0.0, np.nan]), r"^the sound has samples that are no finite numbers"),
    ],
)
def test_what_is_no_sound(given, sentence: str, hearing: Hearing, noises: Noises) -> None:
    session = Session(hearing("monotonic"))
    (sound,) = noises(1)
    with pytest.raises(UserError, match=sentence):
        session.read(given)
    expected, _ = streamed(hearing("monotonic"), [sound])
    session.read(sound)
    session.finish()
    assert session.words == expected.words


def test_what_hears_the_whole_sound_first_is_refused(hearing: Hearing) -> None:
    with pytest.raises(UserError) as refusal:
        refuse_offline(hearing("mocha", causal=False).model, ONLINE)
    assert str(refusal.value) == (
        "search=online cannot stream with this model, which reads the whole source first: train one with "
        "frontend.causal=true, or translate whole sentences"
    )
