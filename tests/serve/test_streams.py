"""Streams over WebSocket, by another implementation's client."""

import contextlib
import json
import re
from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from mt import Translator
from mt.decoding.streaming import Session
from mt.errors import UserError
from mt.search.policies import RetranslateConfig
from mt.serve.limits import Limits
from mt.serve.streams import SAMPLES, Arrival, Reading, _parts
from mt.serve.worker import AGAIN
from tests.serve.clients import Client

TEXT = "the big cats find two streets"


@pytest.fixture(scope="module")
def streaming(serving, hard: Translator, translator: Translator) -> Iterator[Client]:
    with serving({"hard": hard, "soft": translator}, Limits(streams=3, characters=200)) as client:
        yield client


@contextlib.contextmanager
def opened(client: Client, hello: object = {}) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{client.port}/api/stream") as connection:
        connection.send(json.dumps(hello))
        yield connection


def asked(connection: ClientConnection, message: object) -> dict:
    connection.send(json.dumps(message))
    return json.loads(connection.recv(timeout=20))


def read(session: Session, text: str) -> Session:
    session.read(text)
    session.finish()
    return session


def test_words_are_those_of_a_session_and_never_change(streaming: Client, hard: Translator):
    session = hard.stream()
    with opened(streaming) as connection:
        shown: list[str] = []
        for word in TEXT.split():
            answer = asked(connection, {"words": word})
            assert answer["written"] == session.read(word)
            assert answer["words"][: len(shown)] == shown
            shown = answer["words"]
            assert (answer["read"], answer["changed"]) == (session.source_read, 0)
        session.finish()
        answer = asked(connection, {"end": True})
        assert answer["done"]
        assert (answer["text"], answer["delays"]) == (session.text, session.delays)
        # The next words begin another source, several at once.
        assert asked(connection, {"words": "two cats"})["read"] == 2


def test_every_message_is_answered_and_a_tail_can_go(streaming: Client, translator: Translator):
    session = translator.stream()
    with opened(streaming, {"run": "soft"}) as connection:
        for words, tail in (("", ""), ("the big", "cats"), ("", "cats"), ("", ""), ("cats", ""), ("", " ")):
            session.read(words, tail)
            answer = asked(connection, {"words": words, "tail": tail})
            assert (answer["text"], answer["draft"]) == (session.text, " ".join(session.draft))
        assert asked(connection, {"end": True})["done"]


def test_several_streams_at_once_do_not_know_of_one_another(streaming: Client, hard: Translator):
    sources = [TEXT, "two dogs leave houses", "three green birds see bridges"]
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(opened(streaming)) for _ in sources]
        for connection, text in zip(connections, sources, strict=True):
            connection.send(json.dumps({"words": text, "end": True}))
        for connection, text in zip(connections, sources, strict=True):
            session = read(hard.stream(), text)
            connection.recv(timeout=20)
            assert json.loads(connection.recv(timeout=20))["text"] == session.text


def test_a_stream_avoids_begins_and_writes_terms(streaming: Client, hard: Translator):
    unwanted = read(hard.stream(), TEXT).words[1]
    term = {"source": "streets", "target": "Häuser"}
    hello = {"avoid": [unwanted], "prefix": "drei", "glossary": [term]}
    session = read(hard.stream(avoid=[unwanted], prefix="drei", glossary={"streets": "Häuser"}), TEXT)
    with opened(streaming, hello) as connection:
        for _ in range(2):  # it holds for each source
            asked(connection, {"words": TEXT})
            answer = asked(connection, {"end": True})
            assert answer["text"] == session.text and answer["text"].startswith("drei")
            assert unwanted not in answer["words"]
    with opened(streaming, {"run": "soft", "search": {"name": "retranslate"}, **hello}) as connection:
        text = asked(connection, {"words": TEXT})["draft"]
        assert text.startswith("drei") and unwanted not in text.split()
    with opened(streaming, {"constraints": ["Katzen"]}) as connection:
        assert "a prefix or phrases to avoid" in json.loads(connection.recv(timeout=20))["error"]


def test_re_translation_says_how_much_it_took_back(streaming: Client, translator: Translator):
    shown: list[str] = []
    erased = 0
    masking = {"name": "retranslate", "mask_k": 1}
    with opened(streaming, {"run": "soft", "search": masking}) as connection:
        first = asked(connection, {"words": TEXT})
        last = asked(connection, {"end": True})
        assert first["words"] == last["words"][:-1] and last["text"].split() == last["words"]
        assert first["draft"] == last["text"]
    with opened(streaming, {"run": "soft", "search": {"name": "retranslate"}}) as connection:
        words = TEXT.split()
        for count in range(1, len(words) + 1):
            answer = asked(connection, {"words": words[count - 1]})
            now = translator.translate(" ".join(words[:count])).text.split()
            kept = max(length for length in range(len(shown) + 1) if shown[:length] == now[:length])
            erased += len(shown) - kept
            shown = now
            assert (answer["words"], answer["changed"]) == (shown, erased)
        answer = asked(connection, {"end": True})
        assert answer["done"]
        assert answer["erasure"] == erased / len(shown)


@pytest.mark.parametrize(
    ("hello", "message", "code", "sentence"),
    [
        ({"run": "other"}, {}, 1008, "there is no run other here: choose of hard, soft"),
        ({"run": "soft", "search": {"name": "online"}}, {}, 1008, "search=online writes up to where the attention"),
        ({"rnu": "soft"}, {}, 1008, "the request: unknown option rnu: did you mean run?"),
        ({}, {"word": "a"}, 1008, "the request: unknown option word: did you mean words?"),
        ({}, {"words": 201 * "a"}, 1009, "a source has more than 200 characters"),
        ({}, {"words": 201 * "a", "end": True}, 1009, "a source has more than 200 characters"),
        ({}, {"words": 100 * "a", "tail": 101 * "a"}, 1009, "a source has more than 200 characters"),
        ({"search": {"max_length": 3000}}, {}, 1008, "3000 tokens of a translation are more than this server's 2048"),
        ({"avoid": ["a"] * 65}, {}, 1008, "65 phrases that must appear or must not are more than this server's 64"),
        ({"prefix": "\U0010ffff"}, {}, 1008, "the stream asks for "),
        ({"words": ["a"]}, {}, 1008, "the request: words="),
        ({}, {"words": "two", "tail": "ca\0ts"}, 1008, "the text holds a NUL character: remove it"),
        ({}, b"\0\0", 1008, "the run hard reads text, and no samples: send words"),
        ([[]] * 5000, {}, 1008, "the request cannot be read (input should be"),
    ],
)
def test_what_is_wrong_closes_with_a_sentence(streaming: Client, hello, message, code, sentence):
    with opened(streaming, hello) as connection:
        if message:  # else it is the first message that closes
            connection.send(message if isinstance(message, bytes) else json.dumps(message))
        assert json.loads(connection.recv(timeout=20))["error"].startswith(sentence)
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == code


def test_frames_that_are_none_end_the_stream_alone(streaming: Client):
    """No text of UTF-8, a message beyond the bound in one frame and in several, and a frame that continues nothing."""
    part = b"\x82\xfe\xff\xff\0\0\0\0" + bytes(0xFFFF)
    frames = {
        b"\x81\x82\0\0\0\0\xff\xfe": 1007,
        b"\x82\xff\0\0\0\0\x7f\xff\xff\xff\0\0\0\0": 1009,
        b"\x02" + part[1:] + b"\x80" + part[1:]: 1009,
        b"\x80\x81\0\0\0\0a": 1002,
    }
    for frame, code in frames.items():
        with opened(streaming) as connection:
            asked(connection, {"words": "two"})
            connection.socket.sendall(frame)
            with pytest.raises(ConnectionClosed) as closed:
                connection.recv(timeout=20)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == code, frame[:9]
    with opened(streaming) as connection:
        assert asked(connection, {"words": "two"})["read"] == 1


def test_what_is_impossible_ends_its_own_stream_alone(hard: Translator, translator: Translator, monkeypatch):
    """A source that is too long for the model, by its words or with its tail, among others in one batch."""
    for run, words, tail in ((hard, f"{TEXT} {TEXT}", ""), (translator, "two cats", f"{TEXT} {TEXT}")):
        for bounded in (run.model, run.network):
            monkeypatch.setattr(bounded, "max_source_length", 9)
        alone, long, *beside = [run.stream() for _ in range(4)]
        expected = [*alone.read("two"), *alone.read("cats")]
        arrivals = [Arrival(session, deque(["two", "cats"])) for session in beside]
        arrivals.insert(1, Arrival(long, deque(words.split()), tail))
        answers = {}
        while len(answers) < 3:
            going = [arrival for arrival in arrivals if id(arrival) not in answers]
            for arrival, answer in zip(going, Reading(alone.streaming.search, ends=False).do(going), strict=True):
                answers |= {} if answer is AGAIN else {id(arrival): answer}
        first, refused, last = (answers[id(arrival)] for arrival in arrivals)
        assert isinstance(refused, UserError), refused
        assert re.search("is longer than the 9 |reads at most 9:", str(refused))
        assert first == last == expected
        ended = Reading(alone.streaming.search, ends=True).do([Arrival(session, deque()) for session in beside])
        assert ended == [alone.finish()] * 2


def test_what_is_no_text_is_refused_before_it_shares_a_batch(streaming: Client, monkeypatch: pytest.MonkeyPatch):
    """A batch in which one source is no text would end all its streams."""
    monkeypatch.setattr(Reading, "do", lambda _, items: [UserError("it was read")] * len(items))
    for hello, message in (({"words": "two\0"}, None), ({}, {"words": "two\0"}), ({}, {"tail": "two\0"})):
        with opened(streaming, hello) as connection:
            if message:
                connection.send(json.dumps(message))
            assert json.loads(connection.recv(timeout=20)) == {"error": "the text holds a NUL character: remove it"}


def test_much_at_once_is_read_a_part_at_a_time(hard: Translator):
    whole, arrival = hard.stream(), Arrival(hard.stream(), deque(TEXT.split()))
    reading = Reading(hard.streaming_search(), ends=False)
    answers = [reading.do([arrival])[0] for _ in TEXT.split()]
    assert answers == [*[AGAIN] * (len(TEXT.split()) - 1), whole.read(TEXT)]
    assert arrival.session.delays == whole.delays


def test_a_tail_comes_with_the_last_part(translator: Translator):
    search = RetranslateConfig()
    arriving, other = (translator.stream(search) for _ in range(2))
    arrival = Arrival(arriving, deque(["two", "cats"]), "find big streets")
    for part, tail in (("two", ""), ("cats", "find big streets")):
        Reading(search, ends=False).do([arrival])
        other.read(part, tail)
        assert (arriving.draft, arriving.erased) == (other.draft, other.erased)


def test_samples_are_read_a_few_at_a_time(hard: Translator):
    parts = [_parts(np.zeros(count), hard.stream()) for count in (0, SAMPLES, SAMPLES + 1, 2 * SAMPLES + 1)]
    assert [len(each) for each in parts] == [1, 1, 2, 3]


def test_a_sound_that_is_drafted_anew_has_an_end(serving, sounds: Translator):
    """Each draft reads all of it again. A sound that is read once may go on for ever."""
    samples = bytes(2 * 80 * 17)
    with serving({"sounds": sounds}, Limits(positions=16)) as client:
        with opened(client) as connection:
            for _ in range(3):
                connection.send(samples)
                assert "read" in json.loads(connection.recv(timeout=20))
        with opened(client, {"search": {"name": "agree"}}) as connection:
            connection.send(samples)
            sentence = json.loads(connection.recv(timeout=20))["error"]
    assert sentence == "17 positions of a sound that is drafted anew are more than this server's 16: end it before"


def test_there_are_as_many_streams_as_the_server_takes(streaming: Client):
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            asked(stack.enter_context(opened(streaming)), {"words": "two"})
        with opened(streaming) as connection:
            sentence = json.loads(connection.recv(timeout=20))["error"]
            with pytest.raises(ConnectionClosed) as closed:
                connection.recv(timeout=20)
    assert sentence.startswith("3 streams of this run are open: try again")
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1013


def test_the_bound_is_of_one_source(streaming: Client):
    long = "two " * 40
    with opened(streaming, {"run": "soft"}) as connection:
        for _ in range(2):
            assert asked(connection, {"words": long})["read"] == 40
            assert asked(connection, {"end": True})["done"]


def test_a_translation_that_is_cut_says_so(streaming: Client):
    for more, cut in (({"max_length": 1}, True), ({}, None)):
        with opened(streaming, {"run": "soft", "search": {"name": "retranslate"} | more}) as connection:
            asked(connection, {"words": TEXT})
            assert asked(connection, {"end": True}).get("cut") == cut


def test_what_is_no_sound_closes_a_stream_of_sounds(serving, sounds: Translator):
    with serving({"sounds": sounds}) as client:
        for message, sentence in (
            (b"\0\0\0", "a message has half a sample: send whole ones, of 16 bits each"),
            ('{"words": "a"}', "the run sounds reads audio, and no words: send samples"),
            ('{"tail": "a"}', "the run sounds reads audio, and no words: send samples"),
        ):
            with opened(client) as connection:
                connection.send(message)
                assert json.loads(connection.recv(timeout=20)) == {"error": sentence}
        with connect(f"ws://127.0.0.1:{client.port}/api/stream") as connection:
            connection.send(b"\0\0")
            assert json.loads(connection.recv(timeout=20))["error"].startswith("the first message is to say what is")


def test_a_stream_to_which_nothing_comes_is_closed(serving, translator: Translator):
    with serving({"soft": translator}, Limits(idle=0.05)) as client, opened(client) as connection:
        assert json.loads(connection.recv(timeout=20)) == {"error": "nothing came for too long: begin again"}


def test_a_page_of_another_origin_opens_none(streaming: Client):
    url = f"ws://127.0.0.1:{streaming.port}/api/stream"
    with pytest.raises(InvalidStatus) as refused, connect(url, origin="http://evil.example"):  # type: ignore[arg-type]
        raise AssertionError("it was opened")
    assert refused.value.response.status_code == 403
