"""Runs the application by uvicorn: connections that are slow or too many, and an orderly end."""

import asyncio
import json
import logging
import resource
import signal
import socket
import sys
from typing import ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, h11

from mt.common.terminal import say
from mt.errors import UserError
from mt.serve.guard import LOG, Application
from mt.serve.limits import Limits

HEAD = 1 << 14
"""Most bytes of the head of a request."""
FRAME = 1 << 16
"""Most bytes of a message of a stream."""
_LINGER = 0.5
"""Seconds that a client has to read that it is refused."""


class Punctual(H11Protocol):
    """A connection that answers what is no HTTP, what is late, and what is too much with a sentence, and closes."""

    limits: ClassVar[Limits] = Limits()
    _timer: asyncio.TimerHandle | None = None
    _refused: bool = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "too many clients are connected: try again in a second", (b"retry-after", b"1"))
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        if not self._refused:
            super().data_received(data)
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is no request of HTTP/1.1 that could be read")

    def _watch(self) -> None:
        """Waits for the head of a request, unless one has come."""
        if self.conn.their_state is not h11.IDLE:
            self._unwatch()
        elif self._timer is None:
            sentence = "the request did not come in time: send it faster"
            self._timer = self.loop.call_later(self.limits.patience, self._refuse, 408, sentence)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> None:
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._unwatch()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": sentence}).encode()
            length = (b"content-length", str(len(body)).encode())
            head = [(b"content-type", b"application/json"), length, (b"connection", b"close"), *headers]
            for event in (h11.Response(status_code=status, headers=head), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            if self.transport.can_write_eof():
                self.transport.write_eof()
        # Closed at once, what the client is still sending would end the connection before it has read the answer.
        self.loop.call_later(_LINGER, self.transport.close)


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens; port 0 is any free one. Raises UserError where it cannot."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=1024)
        # Of what is accepted, too: else the body of an answer waits 40 ms for the client to confirm its head.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"nothing can listen at {host}, port {port} ({reason}): choose another --port or --host"
        ) from None


def configured(app: Application, limits: Limits) -> uvicorn.Config:
    """Returns how uvicorn runs the application."""
    return uvicorn.Config(
        app,
        http=type("Protocol", (Punctual,), {"limits": limits}),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=int(limits.patience),
        timeout_graceful_shutdown=int(limits.drain),
        ws_max_size=FRAME,
        h11_max_incomplete_event_size=HEAD,
    )


def serve(app: Application, listening: socket.socket, limits: Limits) -> None:
    """Serves the application until SIGTERM or Ctrl-C, and ends when the requests that have begun are answered."""
    _allow_connections(limits.connections)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    loggers = {LOG: logging.INFO, logging.getLogger("uvicorn"): logging.ERROR}
    for logger, level in loggers.items():
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False
    # uvicorn hands the signal on when it has ended: then it has done its work.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        host, port, *_ = listening.getsockname()
        say(f"mt serve: http://{f'[{host}]' if ':' in host else host}:{port}")
        uvicorn.Server(configured(app, limits)).run([listening])
    finally:
        signal.signal(signal.SIGTERM, before)
        for logger in loggers:
            logger.removeHandler(handler)


def _allow_connections(count: int) -> None:
    """Raises how many files this process may open to as many as the connections need, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count + 256
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
