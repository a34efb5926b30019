"""What stands before every route, with applications of one line in place of the server."""

import asyncio
import logging
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mt.errors import UserError
from mt.serve.guard import Guard, refusal_of
from mt.serve.limits import Limits, Metrics, RequestError, full

GONE: Message = {"type": "http.disconnect"}


def asked(app: ASGIApp, *messages: Message, stop: bool = False, method: str = "POST") -> list[Message]:
    """What is sent of an answer to these messages of a client. stop: the server ends while the application works."""
    sent: list[Message] = []

    async def ask() -> None:
        begun = asyncio.Event()
        coming = [*messages]

        async def receive() -> Message:
            if coming:
                return coming.pop(0)
            return await asyncio.Future()

        async def send(message: Message) -> None:
            sent.append(message)

        async def noticed(scope: Scope, receive: Receive, send: Send) -> None:
            begun.set()
            await app(scope, receive, send)

        scope = {"type": "http", "method": method, "path": "/secret", "headers": []}
        guard = Guard(noticed, Limits(body=1024), Metrics(), [], local=False)
        answering = asyncio.create_task(guard(scope, receive, send))  # type: ignore[arg-type]
        if stop:
            await begun.wait()
            answering.cancel()
        await asyncio.wait([answering])

    asyncio.run(ask())
    return sent


def body(size: int) -> Message:
    return {"type": "http.request", "body": bytes(size), "more_body": False}


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads a message and one more, which can only be that the client leaves."""
    try:
        await receive()
    except RequestError as error:
        await refusal_of(error)(scope, receive, send)
    else:
        await asyncio.Future()


@pytest.mark.parametrize(
    ("local", "headers", "allowed"),
    [
        (False, {}, True),
        (False, {"host": "any.example"}, True),
        (False, {"origin": "null"}, False),
        (False, {"origin": "null", "host": ""}, False),
        (False, {"origin": "http://a.example", "host": "a.example"}, True),
        (False, {"origin": "http://a.example:80", "host": "a.example"}, False),
        (False, {"origin": "https://friend.example", "host": "a.example"}, True),
        (True, {}, False),
        (True, {"host": "localhost:80"}, True),
        (True, {"host": "[::1]"}, True),
        (True, {"host": "localhost.example"}, False),
        (True, {"host": "a.example", "origin": "https://friend.example"}, False),
    ],
)
def test_hosts_and_origins(local: bool, headers: dict[str, str], allowed: bool) -> None:
    guard = Guard(reading, Limits(), Metrics(), ["https://friend.example"], local=local)
    refusal = guard._refused(Headers(headers))
    assert (refusal is None) == allowed
    assert refusal is None or refusal.status == 403


def test_headers_of_an_answer_are_its_own_or_those_of_all() -> None:
    answer = PlainTextResponse("a", headers={"cache-control": "max-age=9"})
    start, _ = asked(answer, body(0))
    headers: Any = Headers(raw=start["headers"])
    assert headers["cache-control"] == "max-age=9"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    assert headers["content-security-policy"] == policy


def test_a_refusal_has_its_status_and_headers() -> None:
    busy = refusal_of(full("3 texts wait"))
    assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
    wrong = refusal_of(UserError("it is wrong"))
    assert (wrong.status_code, wrong.body) == (422, b'{"error":"it is wrong"}')


@pytest.mark.parametrize(("size", "status"), [(1024, 499), (1025, 413)])
def test_a_body_of_so_many_bytes_and_no_more(size: int, status: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="mt.serve"):
        sent = asked(reading, body(size), GONE)
    assert [message["status"] for message in sent[:1]] == [413] * (status == 413)
    assert caplog.messages[-1].startswith(f"POST none {status} ")


def test_a_server_that_stops_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="mt.serve"):
        start, rest = asked(reading, body(0), stop=True, method="SECRET")
    assert start["status"] == 503 and b"the server is stopping: try again" in rest["body"]
    assert caplog.messages[-1].startswith("- none 503 ")


def test_a_fault_is_logged_by_its_place_and_not_by_its_message(caplog: pytest.LogCaptureFixture) -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("secret")

    asked(failing, body(0))
    assert caplog.messages[0].startswith("ValueError at test_guard.py:") and "secret" not in caplog.text
