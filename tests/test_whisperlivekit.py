"""WhisperLiveKit's translation server on a run of ours: protocol v1 as it is written, and the client of WhisperLiveKit
0.2.26 itself."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from socket import create_server
from typing import Any

import pytest

pytest.importorskip("websockets", reason="the extra serve is not installed")

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import serve

import mt
from examples.streaming import Policy
from examples.whisperlivekit_protocol import MOST_WORDS, Conversation, Message
from examples.whisperlivekit_server import answering, latest, main
from tests.environments import ROOT, call, python_with

SEARCH = mt.AlignAttConfig(f=1)
INIT = {"type": "init", "protocol_version": 1, "source_lang": "en", "target_lang": "de", "overrides": {"x": 1}}
SENTENCE = "two big cats see green houses"
Connected = Callable[[], ClientConnection]


@pytest.fixture
def policy(translator: mt.Translator) -> Policy:
    return Policy(translator, SEARCH, "word")


@pytest.fixture
def address(policy: Policy) -> Iterator[str]:
    """That of a server of two sessions."""
    with serve(answering(policy, 2), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def connected(address: str) -> Iterator[Connected]:
    """Opens connections, which end with the test."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(connect(address))


def asked(socket: ClientConnection, message: dict[str, Any] | str | bytes) -> dict[str, Any]:
    socket.send(json.dumps(message) if isinstance(message, dict) else message)
    return json.loads(socket.recv(timeout=60))


def update(words: str, number: int = 0, *, tail: str = "", seq: int = 1, final: bool = False) -> dict[str, Any]:
    timed = [[word, 100.0 * place, 100.0 * place + 90] for place, word in enumerate(words.split())]
    plain = {"type": "update", "seq": seq, "utterance_id": number, "words": timed, "clock_ms": 9e3, "is_final": final}
    return plain | ({"tail": {"words": [[word, None, None] for word in tail.split()]}} if tail else {})


def closed(socket: ClientConnection) -> bool:
    with pytest.raises(ConnectionClosed):
        socket.recv(timeout=60)
    return True


def test_a_conversation(connected: Connected, translator: mt.Translator) -> None:
    socket = connected()
    hello = asked(socket, INIT)
    about = {"direction": "en-de", "preset": "alignatt", "model": "tiny"}
    assert hello == {"type": "init_ok", "protocol_version": 1} | about
    words = SENTENCE.split()
    session = translator.stream(SEARCH)
    text = ""
    for seq in range(1, len(words) + 1):
        tail = " ".join(words[seq : seq + 1])
        answer = asked(socket, update(" ".join(words[:seq]), 4, tail=tail, seq=seq))
        session.read(words[seq - 1], tail=tail)
        expected = {"type": "translation", "seq": seq, "utterance_id": 4, "final": False}
        assert answer.items() >= expected.items()
        assert text + answer["committed_delta"] == answer["committed_text"] == session.text
        assert answer["buffer_text"] == " ".join(session.draft)
        covered = answer["covered_source_units"]
        # A word that attends to the last one, or to the tail, is not written.
        assert (covered is None) == (text == answer["committed_text"] == "") and (covered or 0) <= seq
        text = answer["committed_text"]
    # The whole of an utterance, however often it is sent, and its end.
    answer = asked(socket, update(SENTENCE, 4, seq=20, final=True))
    session.finish()
    assert answer["final"] and answer["committed_text"] == session.text and answer["buffer_text"] == ""
    assert "stop_reason" not in answer and answer["forced_final"] is False
    answer = asked(socket, update("three birds", 5, seq=21, final=True))
    other = translator.stream(SEARCH)
    assert answer["committed_text"] == " ".join([*other.read("three birds"), *other.finish()])
    assert asked(socket, update("", 6, final=True))["committed_text"] == ""


def test_what_was_shown_before_is_gone_on_with(connected: Connected, translator: mt.Translator) -> None:
    session = translator.stream(SEARCH)
    session.read("two big cats see")
    assert len(session.words) > 1
    socket = connected()
    history = {"history": [["a", "b"]], "accepted_target_prefix": session.text}
    assert asked(socket, INIT | history)["type"] == "init_ok"
    answer = asked(socket, update("two", 7))
    assert answer["committed_text"] == session.text and answer["committed_delta"] == ""
    answer = asked(socket, update(SENTENCE, 7, final=True))
    same = translator.stream(SEARCH, prefix=f"{session.text} ")
    same.read(SENTENCE)
    same.finish()
    assert answer["committed_text"] == same.text and same.text.startswith(f"{session.text} ")
    # A prefix may be longer than the translation of the first word can be; the next utterance has none.
    socket = connected()
    long = "zwei großen Katzen sehen Häuser " * 5
    asked(socket, INIT | {"accepted_target_prefix": long})
    assert asked(socket, update("two", 7))["committed_text"] == long.strip()
    assert asked(socket, update("two cats", 7, final=True))["committed_text"].startswith(long.strip())
    other = translator.stream(SEARCH)
    assert asked(socket, update("three", 8))["committed_text"] == " ".join(other.read("three"))


def test_a_long_utterance_is_ended(connected: Connected, translator: mt.Translator) -> None:
    socket = connected()
    asked(socket, INIT)
    answer = asked(socket, update("cats " * (MOST_WORDS + 1), tail="see"))
    assert answer["final"] and answer["forced_final"] and answer["buffer_text"] == ""
    assert asked(socket, update("three", 1))["final"] is False
    # So long that it is translated at once.
    text = "cats " * (2 * MOST_WORDS + 1)
    answer = asked(socket, update(text, 2, final=True))
    assert answer["committed_text"] == translator.translate(text).text and answer["forced_final"] is False
    assert answer["buffer_text"] == "" and answer["covered_source_units"] is None


def test_inits_that_are_refused(connected: Connected) -> None:
    for message, code, sentence in (
        ("{", "bad_protocol", "this is no message of protocol 1 (Invalid JSON: EOF while parsing an object at line 1"),
        (b"\xff", "bad_protocol", "this is no message of protocol 1 (Invalid JSON: "),
        ({"type": "hello"}, "bad_protocol", "this is no message of protocol 1 (type: Input should be 'init' or"),
        (update("two"), "bad_protocol", "the first message is an init, and all others are updates"),
        (INIT | {"protocol_version": 2}, "bad_protocol", "protocol_version=2 is not known: expected 1"),
        (INIT | {"target_lang": "fr"}, "unsupported_direction", "this run translates en-de, not en-fr"),
        (INIT | {"accepted_target_prefix": "zwei ✗"}, "processing_failed", 'the stream asks for "zwei ✗", and the voc'),
    ):
        socket = connected()
        answer = asked(socket, message)
        assert answer["type"] == "error" and answer["code"] == code and answer["message"].startswith(sentence)
        assert ("supported" in answer) == (code == "unsupported_direction") and closed(socket)


def test_updates_that_are_refused_keep_the_session(connected: Connected, translator: mt.Translator) -> None:
    socket = connected()
    asked(socket, INIT)
    first = asked(socket, update("two big"))
    for message, code, sentence in (
        ("nonsense", "bad_protocol", "this is no message of protocol 1 (Invalid JSON: "),
        (INIT, "bad_protocol", "the first message is an init, and all others are updates"),
        (update("") | {"words": ["two"]}, "bad_protocol", "this is no message of protocol 1 (words.0: Input should be"),
        (update("two small cats"), "processing_failed", "committed words changed: send all of the utterance, and in"),
        (update("two"), "processing_failed", "committed words changed: send all of the utterance, and in the tail"),
        (
            update("two big", tail="a" * 4995),
            "processing_failed",
            "the utterance has 5001 characters, and at most 5000",
        ),
    ):
        answer = asked(socket, message)
        assert (answer["type"], answer["code"]) == ("error", code) and answer["message"].startswith(sentence)
    session = translator.stream(SEARCH)
    session.read("two big")
    session.read("cats see")
    answer = asked(socket, update("two big cats see"))
    assert answer["committed_text"] == session.text and answer["committed_text"].startswith(first["committed_text"])


def test_one_session_too_many(connected: Connected) -> None:
    sockets = [connected() for _ in range(2)]
    for socket in sockets:
        assert asked(socket, INIT)["type"] == "init_ok"
    other = connected()
    answer = json.loads(other.recv(timeout=60))
    assert (answer["code"], answer["message"]) == ("busy", "all 2 sessions are taken: come again later")
    assert closed(other)
    sockets[0].close()
    for _ in range(100):  # the place becomes free a moment later
        socket = connected()
        with suppress(ConnectionClosed):  # while it is taken, the server hangs up, perhaps before it is asked
            if asked(socket, INIT)["type"] == "init_ok":
                return
    raise AssertionError("the place stayed taken")


@pytest.mark.parametrize(
    ("flag", "value", "sentence"),
    [
        ("--port", "99999", "--port 99999 is not a whole number from 0 to 65535"),
        ("--port", None, r"nothing can listen at 127.0.0.1, port \d+ \([^()]+\): choose another --port or --host"),
        ("--max-sessions", "-1", "--max-sessions -1 is not a whole number from 1 to 1000"),
    ],
)
def test_a_server_that_cannot_begin_says_why(flag: str, value: str | None, sentence: str, policy, monkeypatch, capsys):
    monkeypatch.setattr("examples.whisperlivekit_server.opened", lambda options: policy)
    with create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr("sys.argv", ["server", "RUN", flag, value or str(taken.getsockname()[1])])
        with pytest.raises(SystemExit):
            main()
    assert re.match(f"error: {sentence}", capsys.readouterr().err)


def test_of_what_waits_the_newest_and_the_finals_are_answered(policy: Policy) -> None:
    waiting = [
        INIT | {"seq": 0}, update("a", 0, seq=1), update("a b", 0, seq=2, final=True), update("c", 1, seq=3),
        update("c d", 1, seq=4, final=True), update("e", 2, seq=5), update("e f", 2, seq=6),
    ]  # fmt: skip

    class Socket:
        def recv(self, timeout: float | None) -> str:
            if not waiting:
                raise TimeoutError
            return json.dumps(waiting.pop(0))

    socket: Any = Socket()
    messages = latest(socket)
    found = [next(messages) for _ in range(4)]
    # The first message is answered by itself: a client need not wait for that before it goes on.
    assert [isinstance(message, Message) and message.seq for message in found] == [0, 2, 4, 6]


def test_characters(translator: mt.Translator) -> None:
    conversation = Conversation(Policy(translator, SEARCH, "char"))
    conversation.answer(Message.model_validate(INIT))
    session = translator.stream(SEARCH, unit="char")
    for words in ("two", "two big", SENTENCE):
        answer = conversation.answer(Message.model_validate(update(words)))
        session.read(f"{words} "[session.source_read :])
        assert answer["committed_text"] == session.text and answer["covered_source_units"] is None
    assert " " in session.text


CLIENT = """
import json, sys, types
import importlib.util
# The package itself would import recognisers of speech.
package = types.ModuleType("whisperlivekit")
package.__path__ = importlib.util.find_spec("whisperlivekit").submodule_search_locations
sys.modules["whisperlivekit"] = package
from whisperlivekit.timed_objects import ASRToken, HypothesisTail
from whisperlivekit.translation_alignatt import AlignAttRemoteEngine
said = []
def say(what):
    validated, buffer = what
    said.append([validated.text if validated else None, buffer.text or ""])
def token(word, place):
    return ASRToken(start=0.1 * place, end=0.1 * place + 0.09, text=f" {word}")
engine = AlignAttRemoteEngine(url=sys.argv[1], source_language="en", preset=None, latency="balanced", context_text="x")
client = engine.new_session("de")
*words, last = sys.argv[2].split()
for place, word in enumerate(words):
    tail = HypothesisTail(start=None, end=None, text=f" {[*words, last][place + 1]}")
    client.insert_tokens([token(word, place), tail])
    say(client.process())
    if place == 2:  # the connection breaks, and the client goes on with another one
        client._ws.close()
        client._ws = None
client.insert_tokens([token(f"{last}.", len(words))])
say(client.process())
client.insert_tokens([token("three", 8), token("birds", 9)])
say(client.process())
say(client.validate_buffer_and_reset())  # a silence: what was shown, and its final with the next call
say(client.process())
refused = engine.new_session("fr")
refused.insert_tokens([token("two", 0)])
say(refused.process())
print(json.dumps([said, refused._ws is None and refused._down_warned]))
"""


@pytest.mark.slow
def test_the_client_of_whisperlivekit(address: str, translator: mt.Translator) -> None:
    python = python_with(ROOT / "tests/streams-requirements.txt")
    said, refused = json.loads(call(python, "-c", CLIENT, address, SENTENCE).splitlines()[-1])
    words = SENTENCE.split()
    session = translator.stream(SEARCH)
    shown = []
    for place, word in enumerate(words[:-1]):
        session.read(word, tail=words[place + 1])
        shown.append([None, session.text])
        if place == 2:
            session = translator.stream(SEARCH, prefix=f"{session.text} ")
            session.read(words[: place + 1])
    session.read(f"{words[-1]}.")
    session.finish()
    other = translator.stream(SEARCH)
    other.read("three birds")
    partial = other.text
    other.finish()
    assert len({text for _, text in shown}) > 2
    assert said == [*shown, [session.text, ""], [None, partial], [partial, ""], [other.text, ""], [None, ""]]
    assert partial and refused
