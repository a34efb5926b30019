"""What stands before every route: bounds of bodies and of time, hosts and origins, the headers of answers, the log.

A log line has the method, the route's pattern, the status and the time. Texts, addresses and bodies never reach it.
"""

import asyncio
import contextlib
import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from mt.errors import UserError, shown
from mt.serve.limits import Limits, Metrics, RequestError, full

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
FAULT = "the server failed at this request, which is a fault of its own"
_ALWAYS = "/health"
"""The address that is answered however many requests there are."""


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
        self._open = 0

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
        body = Body(scope, receive, self._limits)
        answer = _Answer(send, body, self._limits.patience)
        # The answer, or the sentence that stands for it.
        try:
            if refusal := self._refused(scope):
                raise refusal
            with self._room(scope):
                await _unless_gone(self._app(scope, body.receive, answer), body)
        except _GoneError:
            answer.status = answer.status or 499
        except asyncio.CancelledError:
            await answer.refuse(full("the server is stopping"))
        except RequestError as refusal:
            await answer.refuse(refusal)
        except TimeoutError:
            answer.status = answer.status or 408  # the client does not take the answer
        except Exception as error:
            log_fault(error)
            await answer.refuse(RequestError(500, FAULT))
        # What is counted and logged of it.
        seconds = time.monotonic() - begin
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.seconds.labels(route, str(answer.status)).observe(seconds)
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "-"
        LOG.info("%s %s %d %.0f ms", method, route, answer.status, 1000 * seconds)

    @contextlib.contextmanager
    def _room(self, scope: Scope) -> Iterator[None]:
        """Counts a request while a context lasts. Raises RequestError where there are too many."""
        if self._open >= self._limits.requests and scope["path"] != _ALWAYS:
            raise full(f"{self._open} requests are being answered")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    def _refused(self, scope: Scope) -> RequestError | None:
        """Returns why a request is refused before it is read; None where it is not."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self._local and not _is_local(host):
            return RequestError(403, "this server answers to the names of this machine alone: ask for localhost")
        origin = headers.get("origin")
        if origin is None or origin in self._origins or (host and origin.partition("://")[2] == host):
            return None
        return RequestError(403, "pages of other origins may not ask this server: start it with --origin for yours")


class _GoneError(Exception):
    """The client has left."""


class Body:
    """The body of a request, which has to come within its bounds of bytes and of time."""

    def __init__(self, scope: Scope, receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._most = limits.body
        self._until = time.monotonic() + limits.patience
        self._patience = limits.patience
        self._declared = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        self._size = 0
        self._complete = False
        self._ended = asyncio.Event()
        """Whether all has come, or the client has left."""

    async def receive(self) -> Message:
        """Returns the next part; never where there is none. Raises RequestError where there is too much, or it is too
        late."""
        if max(self._size, self._declared) > self._most:
            sentence = f"the request has more than the {self._most} bytes that this server takes: send less at once"
            raise RequestError(413, sentence)
        if self._ended.is_set():
            return await asyncio.Future()
        try:
            async with asyncio.timeout(self._until - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            sentence = f"the request did not come within {self._patience:g} seconds: send it faster"
            raise RequestError(408, sentence) from None
        self._count(message)
        # Of a client that has left, or sends too much, no part is returned.
        return await self.receive() if self._size > self._most or message["type"] != "http.request" else message

    def _count(self, message: Message) -> None:
        self._size += len(message.get("body", b""))
        if not message.get("more_body", False):
            self._complete = message["type"] == "http.request"
            self._ended.set()

    async def pass_over(self) -> bool:
        """Reads the rest of it, and throws it away, so that a client that sends before it reads comes to the answer.
        Returns whether all has come."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._until - time.monotonic()):
                while not self._ended.is_set() and max(self._size, self._declared) <= _PASSED_OVER * self._most:
                    self._count(await self._receive())
        return self._complete

    async def gone(self) -> None:
        """Returns when the client has left."""
        await self._ended.wait()
        if self._complete:
            await self._receive()  # all that can come of a request that is read is that its client leaves


async def _unless_gone(answering: Awaitable[None], body: Body) -> None:
    """Answers a request. Raises _GoneError where the client leaves before, so that what waits for it is not begun."""
    task = asyncio.ensure_future(answering)
    gone = asyncio.ensure_future(body.gone())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise _GoneError
        task.result()
    finally:
        task.cancel()
        gone.cancel()


class _Answer:
    """Sends an answer, with the headers that all have, to a client that takes it in time. After a body that has not
    come whole, it ends the connection."""

    def __init__(self, send: Send, body: Body, patience: float) -> None:
        self._send = send
        self._body = body
        self._patience = patience
        self.status = 0
        """0 until it is sent."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in present]
            if not await self._body.pass_over():
                more.append((b"connection", b"close"))
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


def require_origin(origin: str) -> str:
    """Returns an origin as browsers write it in `Origin`. Raises UserError for what none writes."""
    try:
        parts = urlsplit(origin)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError:
        host = ""
    if not host or "*" in host or any(character.isspace() for character in origin):
        raise UserError(
            f"--origin {shown(origin)} is no origin of pages, and would never match: write it as https://example.org, "
            "each by itself"
        )
    written = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
    if port not in (None, {"http": 80, "https": 443}.get(parts.scheme)):
        written += f":{port}"
    if written != origin:
        raise UserError(f"--origin {shown(origin)} would never match, since browsers write {written}: write it so, too")
    return origin


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
