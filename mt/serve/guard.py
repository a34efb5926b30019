"""What stands before every route: bounds of bodies and of time, hosts and origins, the headers of answers, the log.

A log line has the method, the route's pattern, the status and the time. Texts, addresses and bodies never reach it.
"""

import asyncio
import contextlib
import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from mt.serve.limits import Limits, Metrics, RequestError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application of ASGI 3."""
LOG = logging.getLogger("mt.serve")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""The headers of answers that do not have them themselves."""
_PASSED_OVER = 16
"""How many times as much as is allowed is read of a body, and thrown away, before it is refused."""


class Guard:
    """An application behind its bounds."""

    def __init__(
        self, app: Application, limits: Limits, metrics: Metrics, origins: Sequence[str], *, local: bool
    ) -> None:
        """
        Args:
            origins: whose pages may ask, beside the server's own, such as https://example.org.
            local: whether it listens on this machine alone, so that a page elsewhere whose name was made to point here
                (DNS rebinding) is refused.
        """
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._origins = frozenset(origins)
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket" and (refusal := self._refused(scope)):
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": str(refusal)[:120]})
        else:
            try:
                await self._app(scope, receive, send)
            except Exception as error:
                if scope["type"] == "lifespan":
                    raise
                log_fault(error)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = time.monotonic()
        answer = _Answer(send, self._limits.patience)
        # The answer, or the sentence that stands for it.
        try:
            if refusal := self._refused(scope):
                raise refusal
            async with asyncio.timeout(self._limits.patience):
                body = await self._body(scope, receive)
            await _unless_gone(self._app(scope, _replayed(body), answer), receive)
        except (_GoneError, asyncio.CancelledError):
            answer.status = answer.status or 499
        except RequestError as refusal:
            await answer.refuse(refusal)
        except TimeoutError:
            await answer.refuse(RequestError(408, "the request did not come in time: send it faster"))
        except Exception as error:
            log_fault(error)
            await answer.refuse(RequestError(500, "the server failed at this request, which is a fault of its own"))
        # What is counted and logged of it.
        seconds = time.monotonic() - begin
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.seconds.labels(route, str(answer.status)).observe(seconds)
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "-"
        LOG.info("%s %s %d %.0f ms", method, route, answer.status, 1000 * seconds)

    def _refused(self, scope: Scope) -> RequestError | None:
        """Returns why a request is refused before it is read; None where it is not."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self._local and not _is_local(host):
            return RequestError(403, "this server answers to the names of this machine alone: ask for localhost")
        origin = headers.get("origin")
        if origin is None or origin in self._origins or urlsplit(origin).netloc == host:
            return None
        return RequestError(403, "pages of other origins may not ask this server: start it with --origin for yours")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Returns the body of a request. Raises RequestError where it is too large, which a client reads when it has
        sent all; it may send some times too much."""
        most = self._limits.body
        declared = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        parts = []
        size = 0
        more = declared <= _PASSED_OVER * most
        # What is too much is read for a while, and thrown away.
        while more and size <= _PASSED_OVER * most:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            size += len(message.get("body", b""))
            if max(size, declared) <= most:
                parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        if max(size, declared) > most:
            sentence = f"the request has more than the {most} bytes that this server takes: send less at once"
            raise RequestError(413, sentence, {"Connection": "close"})
        return b"".join(parts)


class _GoneError(Exception):
    """The client has left."""


async def _unless_gone(answering: Awaitable[None], receive: Receive) -> None:
    """Answers a request that has been read. Raises _GoneError where the client leaves before, so that what waits for it
    is not begun."""
    task = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(receive())  # all that can come of a request that is read is that its client leaves
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise _GoneError
        task.result()
    finally:
        task.cancel()
        gone.cancel()


def _replayed(body: bytes) -> Receive:
    """Returns what gives a request whose body has been read, after which nothing comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await asyncio.Future()

    return receive


class _Answer:
    """Sends an answer, with the headers that all have, to a client that takes it in time."""

    def __init__(self, send: Send, patience: float) -> None:
        self._send = send
        self._patience = patience
        self.status = 0
        """0 until it is sent."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in present]
            message = {**message, "headers": [*message["headers"], *more]}
        async with asyncio.timeout(self._patience):
            await self._send(message)

    async def refuse(self, refusal: RequestError) -> None:
        """Sends a sentence, unless another answer has begun."""
        if self.status:
            return
        body = json.dumps({"error": str(refusal)}, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
        encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        with contextlib.suppress(TimeoutError):
            await self({"type": "http.response.start", "status": refusal.status, "headers": encoded})
            await self({"type": "http.response.body", "body": body})


def log_fault(error: BaseException) -> None:
    """Logs the type of an error and where it was raised, not its message, in which a text may stand."""
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
    ]
    LOG.error("%s at %s", type(error).__name__, " < ".join(reversed(places[-4:])))


def _is_local(host: str) -> bool:
    """Returns whether a Host header names this machine by localhost or an address."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False
