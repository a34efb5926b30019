"""Runs the application by uvicorn, with uvicorn's own bounds on connections, and ends it in order."""

import logging
import os
import resource
import signal
import socket
import sys
import time

import uvicorn
from starlette.types import ASGIApp

from mt.common.terminal import say
from mt.errors import UserError
from mt.serve.guard import LOG
from mt.serve.limits import Limits


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens; port 0 is any free one. Raises UserError where it cannot."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Addresses of IPv6 have four parts, of which the first two are enough.
        listening = socket.create_server(address[:2], family=family, backlog=1024)
        # Of what is accepted, too: else the body of an answer waits 40 ms for the client to confirm its head.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except (OSError, OverflowError) as error:
        # Python adds the address to the system's reason, which the sentence has already.
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        raise UserError(
            f"nothing can listen at {host}, port {port} ({reason}): choose another --port or --host"
        ) from None


def configured(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """Returns how uvicorn runs the application."""
    return uvicorn.Config(
        app,
        # Not httptools, which takes heads of any size.
        http="h11",
        log_config=None,
        access_log=False,
        server_header=False,
        # What a client says of its address and its scheme is not believed.
        proxy_headers=False,
        lifespan="on",
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.patience),
        timeout_graceful_shutdown=int(limits.drain),
        ws_max_size=limits.message,
        # Else a message of a few bytes could become one of many.
        ws_per_message_deflate=False,
        h11_max_incomplete_event_size=limits.head,
    )


def serve(app: ASGIApp, listening: socket.socket, limits: Limits) -> None:
    """Serves the application until SIGTERM or Ctrl-C, and ends the process. Requests that have begun are answered
    before, if that takes no longer than `limits` says."""
    # Each connection is an open file.
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    # Our own lines are logged, and errors alone of libraries.
    handler = logging.StreamHandler()
    handler.addFilter(_Quiet())
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.ERROR, handlers=[handler], force=True)
    LOG.setLevel(logging.INFO)
    # uvicorn hands the signal on when it has ended: then it has done its work.
    signal.signal(signal.SIGTERM, lambda *_: None)
    host, port, *_ = listening.getsockname()
    say(f"mt serve: http://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(configured(app, limits)).run([listening])
    # Else the interpreter would wait for a step of a search that takes long, and a second to take itself apart.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(os.EX_OK)


class _Quiet(logging.Filter):
    """Lets one line a second of a library's faults through, without its traceback, so that no client fills the log."""

    _next = 0.0
    _left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == LOG.name:
            return True
        if time.monotonic() < self._next:
            self._left_out += 1
            return False
        reason = type(record.exc_info[1]).__name__ if record.exc_info else "no exception"
        # The record is changed in place: the handler formats it after this filter.
        record.msg = f"{record.getMessage().strip().splitlines()[0]} ({reason}; {self._left_out} such lines left out)"
        record.args = ()
        record.exc_info = record.exc_text = None
        self._next = time.monotonic() + 1
        self._left_out = 0
        return True
