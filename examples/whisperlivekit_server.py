"""The translation server that WhisperLiveKit asks (`alignatt-mt-server`), on a run that reads text.

    python -m examples.whisperlivekit_server RUN --search alignatt --port 8765
    whisperlivekit-server --lan en --target-language de --translation-backend alignatt --alignatt-url ws://localhost:8765

What is said stands in `whisperlivekit_protocol`. Each connection has a thread; the model answers them in turn.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import BoundedSemaphore, Lock

from pydantic import ValidationError
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from examples.streaming import Policy, opened, parser_of
from examples.whisperlivekit_protocol import Conversation, Message, error
from mt.cli.arguments import reported_in_flags
from mt.cli.parser import whole_number
from mt.serve.server import listen

PATIENCE = 10
"""Seconds that a connection may take until it says what it wants."""


def latest(socket: ServerConnection) -> Iterator[Message | ValidationError]:
    """Yields the first message, and then what comes; of several messages that wait, the finals in their order, faults,
    and the last one."""
    yield _received(socket, PATIENCE)
    while True:
        waiting = [_received(socket)]
        with suppress(TimeoutError):
            while True:
                waiting.append(_received(socket, 0))
        yield from (message for message in waiting[:-1] if getattr(message, "is_final", True))
        yield waiting[-1]


def _received(socket: ServerConnection, seconds: float | None = None) -> Message | ValidationError:
    try:
        return Message.model_validate_json(socket.recv(seconds))
    except ValidationError as fault:
        return fault


def answering(policy: Policy, sessions: int) -> Callable[[ServerConnection], None]:
    """Returns the function that answers a connection in a thread of its own; the model answers them in turn.

    sessions: how many connections there may be at once.
    """
    places, computing = BoundedSemaphore(sessions), Lock()

    def answer(socket: ServerConnection) -> None:
        if not places.acquire(blocking=False):
            with suppress(ConnectionClosed):
                socket.send(json.dumps(error("busy", f"all {sessions} sessions are taken: come again later")))
            return
        try:
            conversation = Conversation(policy)
            for message in latest(socket):
                with computing:
                    answer = conversation.answer(message)
                socket.send(json.dumps(answer, ensure_ascii=False))
                if not conversation.open:
                    return
        except (ConnectionClosed, TimeoutError):
            return
        finally:
            places.release()

    return answer


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=whole_number(0, 65535), default=8765)
    parser.add_argument("--max-sessions", type=whole_number(1, 1000), default=4)
    options = parser.parse_args()
    with (
        reported_in_flags(),
        serve(answering(opened(options), options.max_sessions), sock=listen(options.host, options.port)) as server,
    ):
        print(f"listening on ws://{options.host}:{server.socket.getsockname()[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
