"""What stands before every route: hosts and origins, the size of bodies, the headers of answers, and the log.

A log line has the method, the route's pattern, the status and the time. Texts, addresses and bodies never reach it.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from anyio import create_task_group
from anyio.lowlevel import checkpoint
from pydantic import AnyUrl
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mt.errors import UserError, shown
from mt.serve.limits import Limits, Metrics, RequestError, full

LOG = logging.getLogger("mt.serve")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""The headers of answers that do not set them themselves."""


class Guard:
    """ASGI middleware that refuses hosts and origins, bounds bodies, and logs and counts each answer."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, origins: Sequence[str], *, local: bool) -> None:
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
        # A refused request goes to an application that only refuses, so that it is logged and counted as well.
        app = self._app
        if scope["type"] != "lifespan" and (refusal := self._refused(Headers(scope=scope))):
            # It can refuse the handshake of a WebSocket, too.
            app = refusal_of(refusal)
        if scope["type"] == "http":
            await self._answer(app, scope, receive, send)
        else:
            await app(scope, receive, send)

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, and logs and counts the answer."""
        begin = time.monotonic()
        status = 499  # of a client that leaves before it is answered

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await _unless_gone(app, scope, receive, answered, self._limits.body)
        finally:
            # Unknown routes and methods have one name each, so that no client adds labels or writes into the log.
            seconds = time.monotonic() - begin
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.seconds.labels(route, str(status)).observe(seconds)
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "OPTIONS") else "-"
            LOG.info("%s %s %d %.0f ms", method, route, status, 1000 * seconds)

    def _refused(self, headers: Headers) -> RequestError | None:
        """Returns the error of a request whose host or origin is not allowed, or None."""
        host = headers.get("host", "")
        if self._local and not _is_local(host):
            return RequestError(403, "this server answers to the names of this machine alone: ask for localhost")
        # Programs send no Origin; a page of this server sends the host itself.
        origin = headers.get("origin")
        if origin is None or origin in self._origins or (host and origin.partition("://")[2] == host):
            return None
        return RequestError(403, "pages of other origins may not ask this server: start it with --origin for yours")


async def _unless_gone(app: ASGIApp, scope: Scope, receive: Receive, send: Send, most: int) -> None:
    """Answers a request, whose body may have at most `most` bytes. Its work is cancelled when the client leaves."""
    size = 0
    async with create_task_group() as tasks:

        async def received() -> Message:
            nonlocal size
            message = await receive()
            if message["type"] == "http.disconnect":
                tasks.cancel_scope.cancel()
                await checkpoint()  # raises, since the scope is cancelled
            size += len(message["body"])
            if size > most:
                sentence = f"the request has more than the {most} bytes that this server takes: send less at once"
                raise RequestError(413, sentence)
            if not message["more_body"]:
                tasks.start_soon(received)  # after the whole body only the client's leaving can come
            return message

        try:
            await app(scope, received, send)
        except asyncio.CancelledError:
            # Either the client has left, or the server waits no longer.
            if not tasks.cancel_scope.cancel_called:
                await refusal_of(full("the server is stopping"))(scope, receive, send)
            raise
        except Exception as error:
            log_fault(error)
        # The answer is out: the task that waits for the client to leave ends, too.
        tasks.cancel_scope.cancel()


def refusal_of(error: UserError) -> JSONResponse:
    """Returns the response for an error: its sentence in JSON, with its status and headers."""
    status, headers = (error.status, error.headers) if isinstance(error, RequestError) else (422, {})
    return JSONResponse({"error": str(error)}, status, headers)


def require_origin(origin: str) -> str:
    """Returns an origin as browsers write it in `Origin`. Raises UserError for what no browser writes."""
    try:
        # Addresses are written here as browsers write them.
        parts = urlsplit(str(AnyUrl(origin)))
    except ValueError:
        parts = urlsplit("")
    if not parts.netloc or "*" in origin:
        raise UserError(
            f"--origin {shown(origin)} is no origin of pages, and would never match: write it as https://example.org, "
            "each by itself"
        )
    # Browsers leave user names and passwords out of an origin.
    written = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if written != origin:
        raise UserError(f"--origin {shown(origin)} would never match, since browsers write {written}: write it so, too")
    return origin


def log_fault(error: BaseException) -> None:
    """Logs the type of an error and where it was raised, not its message, in which a text may stand."""
    # The innermost frames, the last one first.
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(frames)]
    LOG.error("%s at %s", type(error).__name__, " < ".join(places))


def _is_local(host: str) -> bool:
    """Returns whether a Host header names this machine by localhost or an address."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False
