"""A stream of sound writes what offline decoding does, however the samples are cut, and asks for no later ones."""

import random
from collections.abc import Callable, Iterator
from itertools import zip_longest

import numpy as np
import pytest

from mt.decoding.delays import timing, written_units
from mt.decoding.modes import require_extending
from mt.decoding.streaming import finish, read
from mt.decoding.streaming.extend import ExtendedSession
from mt.decoding.streaming.session import Streaming
from mt.search.config import OnlineConfig
from mt.search.hypothesis import Hypothesis
from tests.decoding.streaming.conftest import FIELD, SEARCH, decoded, noises, stream, wander
from tests.marks import exhaustive, few
from tests.refusals.sentences import require_refusal

PLAIN = [(policy, {}) for policy in ("monotonic", "absorbing", "mocha", "matcha", "milk", "wait-5")]
CHANGES = [("mocha", {"encoder": "gru"}), ("mocha", {"encoder": "ssru"}), ("wait-5", {"encoder": "ssru"})]
CHANGES += [("milk", {"convolutions": 0}), ("monotonic", {"convolutions": 1, "normalization": "running"})]
some_models = pytest.mark.parametrize(("policy", "changes"), [*PLAIN, CHANGES[1]], ids=str)
every_model = pytest.mark.parametrize(("policy", "changes"), [*PLAIN, *CHANGES], ids=str)

Hearing = Callable[..., Streaming]


def cut(sound: np.ndarray, draw: random.Random) -> Iterator[np.ndarray]:
    """Pieces of any length, some of them empty."""
    begin = 0
    while begin < len(sound):
        end = begin + draw.choice((0, 1, 7, 39, 40, 41, 200, 1500))
        yield sound[begin:end]
        begin = end


def offline(ours: Streaming, given: list[np.ndarray]) -> list[Hypothesis]:
    return decoded(ours, FIELD.encode(given, None), field=FIELD)


@every_model
def test_a_stream_is_offline_decoding_and_so_are_its_delays(policy, changes, hearing: Hearing) -> None:
    """But for what is known with the last place, which may come up to 30 ms before the end."""
    ours = hearing(policy, **changes)
    given = noises(few(3))
    early = 0
    target = ours.tokenizers.target
    network = ours.translator.network
    for sound, hypothesis in zip(given, offline(ours, given), strict=True):
        session, _ = stream(ours, cut(sound, random.Random(len(sound))))
        assert session.tokens == hypothesis.tokens
        (row,) = FIELD.encode([sound], None)
        (places,) = network.encoded_lengths([len(row)])
        result = timing(target, FIELD.describe(row, places, target, "char", None), hypothesis, network)
        characters = written_units(target, hypothesis.tokens, "char")
        assert [character.text for character in characters] == session.words
        last = 10 * int(network.needed(np.array(places)))
        for character, delay in zip(characters, session.delays, strict=True):
            offline_delay = result.source_words if character.last is None else result.words_read[character.last]
            assert delay == offline_delay or last <= delay < offline_delay == result.source_words == 10 * len(row)
        early += sum(delay < last for delay in session.delays)
    assert early > 2


@some_models
def test_together_is_as_alone(policy, changes, hearing: Hearing) -> None:
    ours = hearing(policy, **changes)
    given = noises(few(4), seconds=0.6)
    draw = random.Random(1)
    alone = [stream(ours, [sound])[0] for sound in given]
    sessions = [ExtendedSession(ours) for _ in given]
    for turn in zip_longest(*(cut(sound, draw) for sound in given)):
        now = [i for i, piece in enumerate(turn) if piece is not None]
        read([sessions[i] for i in now], [turn[i] for i in now])
    finish(sessions)
    for session, other in zip(sessions, alone, strict=True):
        assert (session.words, session.delays) == (other.words, other.delays)


def test_the_source_is_not_asked_for_what_has_not_come(hearing: Hearing) -> None:
    ours = hearing("mocha")
    (sound,) = noises(1, seconds=2.0)
    whole, _ = stream(ours, [sound])
    session = ExtendedSession(ours)
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


@pytest.mark.parametrize("name", ["mocha", *exhaustive("monotonic", "milk")])
def test_memory_does_not_grow_where_nothing_must_be_kept(name, hearing: Hearing) -> None:
    ours = hearing(name, search=OnlineConfig(max_ratio=100.0, min_length=10_000))
    wander(ours)
    session = ExtendedSession(ours)
    kept = []
    for sound in noises(60, seconds=0.2):
        session.read(sound)
        kept.append(session.stored_numbers)
    assert len(session.words) > 10 and session.delays[-1] > 5000
    assert (max(kept[30:]) > max(kept[:30]) * 1.3) == (name == "milk")


def test_little_or_nothing(hearing: Hearing) -> None:
    ours = hearing("monotonic")
    session = ExtendedSession(ours)
    assert session.read(np.zeros(0, np.int16)) == session.finish() == session.words == []
    for count in (1, 19, 39, 41, 81):
        sound = np.full(count, 1000, np.int16)
        session, _ = stream(ours, [sound])
        [result] = offline(ours, [sound])
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
def test_what_is_no_sound_is_refused_and_changes_nothing(given, sentence: str, hearing: Hearing) -> None:
    session = ExtendedSession(hearing("monotonic"))
    require_refusal(lambda: session.read(given), sentence)
    (sound,) = noises(1)
    expected, _ = stream(hearing("monotonic"), [sound])
    session.read(sound)
    session.finish()
    assert session.words == expected.words


def test_what_hears_the_whole_sound_first_is_refused(hearing: Hearing) -> None:
    sentence = "^search=online writes while it reads: it needs frontend.causal=true; train such a model, or choose"
    require_refusal(lambda: require_extending(SEARCH, hearing("mocha", causal=False).translator.model), sentence)
