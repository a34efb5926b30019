"""Streams over WebSocket: words or samples in, and each word of the translation as soon as its policy writes it.

Every search of `mt.search.policies` streams. Re-translation shows its drafts: what was shown may change, and its
erasure says how much did (Arivazhagan et al. 2020, "Re-translation versus streaming for simultaneous translation",
section 3.3).
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from mt.common.options import Options
from mt.data.fields import AudioField
from mt.data.fields.base import require_writable
from mt.decoding.streaming import Session, finish_each, read_each
from mt.errors import UserError
from mt.search.config import SearchConfig
from mt.serve.bodies import Key, Wishes, decoded, validated
from mt.serve.guard import log_fault
from mt.serve.limits import Limits, RequestError
from mt.serve.runs import Runs, ServedRun
from mt.serve.worker import AGAIN

SAMPLES = 320
"""About how many samples are read at once: 20 or 40 ms of sound, with which most searches draft once."""


class Hello(Wishes):
    """The first message of a client."""

    run: str | None = None
    key: str | None = None
    search: dict[str, Any] | None = None
    words: str = ""
    """The source words that have come already."""


class Part(Options):
    """A further message."""

    words: str = ""
    tail: str = ""
    """Words that follow and may still change."""
    end: bool = False


@dataclass
class Arrival:
    """What has come of a source."""

    session: Session
    parts: deque[Any]
    """What to read in turn: words, characters or some samples."""
    tail: str = ""
    written: list[str] = field(default_factory=list)
    """The words that are certain with what was read."""

    def after(self, outcome: list[str] | UserError) -> Any:
        """Returns all words that are certain, or the error for which the session cannot go on; AGAIN where there is
        more to read."""
        if isinstance(outcome, UserError):
            return outcome
        self.written += outcome
        return AGAIN if self.parts else self.written


@dataclass(frozen=True)
class Reading:
    """Lets sessions of one search read what has come, or end. They read a part at a time, so that one to which much
    comes at once does not hold up those beside it."""

    search: SearchConfig
    ends: bool

    def size(self, item: Arrival) -> int:
        """Returns how many characters, or samples, are read at once."""
        return len(item.parts[0])

    def do(self, items: Sequence[Arrival]) -> Sequence[Any]:
        """Returns the words that are certain, or why a session cannot go on. No session reads a part twice."""
        sessions = [item.session for item in items]
        try:
            if self.ends:
                return finish_each(sessions)
            # A tail follows the last part, so that it counts only when nothing else is left.
            parts = [item.parts.popleft() for item in items]
            found = read_each(sessions, parts, ["" if item.parts else item.tail for item in items])
        except Exception as error:
            # Not raised: the batch would be done again in halves, with parts that are already taken.
            return [error for _ in items]
        return [item.after(outcome) for item, outcome in zip(items, found, strict=True)]


@dataclass(frozen=True)
class Opening:
    """Makes a session, in the thread of the run: to turn a long glossary into tokens takes its time."""

    new: Callable[[], Session]

    def size(self, item: None) -> int:
        return 1

    def do(self, items: Sequence[None]) -> list[Session]:
        """Returns a session for each."""
        return [self.new() for _ in items]


class Stream:
    """A source that arrives."""

    def __init__(self, run: ServedRun, hello: Hello) -> None:
        self._run = run
        self._search = run.search(hello.search, online=True)
        wishes: Any = {name: getattr(hello, name) for name in Wishes.model_fields} | {"glossary": hello.terms}
        # What is not asked for keeps the defaults of a session.
        given = {name: value for name, value in wishes.items() if value}
        self._new = partial(run.translator.stream, self._search, **given)

    async def begin(self) -> None:
        """Begins a source. Raises UserError where the run cannot read one that arrives."""
        (self._session,) = await self._run.worker.do(Opening(self._new), None)

    async def read(self, part: str | np.ndarray, tail: str = "", *, ends: bool = False) -> dict[str, Any]:
        """Reads what has come."""
        session = self._session
        arrival = Arrival(session, deque(_parts(part, session)), tail)
        (written,) = await self._run.worker.do(Reading(self._search, ends), arrival)
        # What a reader sees, and how much of it was taken back.
        shown = session.shown
        return {
            "read": session.source_read,
            "written": written,
            "words": shown,
            "text": session.joined(shown),
            "draft": session.joined(session.draft),
            "delays": session.delays,
            "changed": session.erased,
            "erasure": session.erased / max(len(shown), 1),
        }

    def require_bounded(self, size: int) -> None:
        """Raises RequestError where a source is too long. A sound may go on for ever where no draft reads it again.

        size: how many characters, or samples, have come."""
        limits = self._run.limits
        translator = self._run.translator
        if translator.field.written and size > limits.characters:
            raise RequestError(413, f"a source has more than {limits.characters} characters: end it before")
        if not (translator.field.written or translator.network.extends(self._search)):
            # From samples to milliseconds, and from these to positions.
            positions = 1000 * size // translator.config.dataset.field.rate // translator.field.milliseconds
            limits.require("positions", positions, "positions of a sound that is drafted anew", "end it before")

    async def end(self) -> dict[str, Any]:
        """Ends the source, and begins another."""
        session = self._session
        answer = await self.read("", ends=True)
        # A further message belongs to the next source, whose session is ready then.
        await self.begin()
        return answer | {"done": True} | ({"cut": True} if session.cut else {})


def _parts(part: str | np.ndarray, session: Session) -> Sequence[Any]:
    """Splits what has come into the parts to read in turn, at least one."""
    if isinstance(part, str):
        # At least one part, also of nothing, since a tail alone must be read as well.
        return (part.split() if session.streaming.unit == "word" else part) or [""]
    # The quotient is rounded up.
    return np.array_split(part, -(-len(part) // SAMPLES) or 1)


def router(runs: Runs, key: Key, limits: Limits) -> APIRouter:
    """Returns the route /api/stream."""
    routes = APIRouter(prefix="/api")

    @routes.websocket("/stream")
    async def stream(socket: WebSocket) -> None:
        await socket.accept()
        try:
            await _converse(socket, runs, key, limits)
        except WebSocketDisconnect:
            return
        # WebSocket has codes of its own for what HTTP calls 413 and 503.
        except UserError as error:
            await _close(socket, {413: 1009, 503: 1013}.get(getattr(error, "status", 422), 1008), str(error))
        except TimeoutError:
            await _close(socket, 1008, "nothing came for too long: begin again")
        except Exception as error:
            log_fault(error)
            await _close(socket, 1011, "the server failed at this stream, which is a fault of its own")

    return routes


async def _send(socket: WebSocket, plain: Mapping[str, Any], seconds: float) -> None:
    """Sends a message. Raises WebSocketDisconnect where the client is gone, TimeoutError where it takes too long."""
    try:
        async with asyncio.timeout(seconds):
            await socket.send_json(plain)
    except (RuntimeError, ConnectionError):
        raise WebSocketDisconnect from None


async def _close(socket: WebSocket, code: int, sentence: str) -> None:
    with contextlib.suppress(WebSocketDisconnect, TimeoutError, RuntimeError):
        # In a message of its own, since WebSocket allows the reason of a close 123 bytes.
        await _send(socket, {"error": sentence}, 1.0)
        await socket.close(code)


async def _converse(socket: WebSocket, runs: Runs, key: Key, limits: Limits) -> None:
    # The first message says which run and how; the key is checked before it is validated.
    first = await _received(socket, limits.patience)
    if not isinstance(first, str):
        raise RequestError(400, 'the first message is to say what is asked, as {"run": "NAME"}')
    # Half of a surrogate pair becomes bytes that are no UTF-8, which `decoded` refuses in its own sentence.
    plain = decoded(first.encode("utf-8", "surrogatepass"), limits)
    key.check_stated(plain.get("key"), status=401)
    hello = validated(plain, Hello)
    hello.require_bounded(limits)
    run = runs.named(hello.run)
    # Then parts arrive, each of which is answered.
    with run.stream_open():
        source = Stream(run, hello)
        await source.begin()
        size = 0
        # Words of the first message are read as if they had come in a second one.
        message = Part(words=hello.words).model_dump_json() if hello.words else await _received(socket, limits.idle)
        while True:
            part, tail, ends = _part(message, run, limits)
            size += len(part)
            source.require_bounded(size + len(tail))
            # The bound is of one source, and after its end another begins.
            size = 0 if ends else size
            # An end without anything before it needs no reading of its own.
            if len(part) or tail or not ends:
                await _send(socket, await source.read(part, tail), limits.patience)
            if ends:
                await _send(socket, await source.end(), limits.patience)
            message = await _received(socket, limits.idle)


async def _received(socket: WebSocket, seconds: float) -> str | bytes:
    # Not `receive_text` or `receive_bytes`, since either kind may come.
    async with asyncio.timeout(seconds):
        message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"])
    text = message.get("text")
    return message.get("bytes") or b"" if text is None else text


def _part(message: str | bytes, run: ServedRun, limits: Limits) -> tuple[str | np.ndarray, str, bool]:
    """Returns the new part of a source, its tail, and whether the source ends. Raises RequestError where the run reads
    another kind of source."""
    # Bytes are samples, and texts are JSON.
    field = run.translator.field
    if isinstance(message, bytes):
        if not isinstance(field, AudioField):
            raise RequestError(422, f"the run {run.name} reads {run.kind}, and no samples: send words")
        if len(message) % 2:
            raise RequestError(400, "a message has half a sample: send whole ones, of 16 bits each")
        # Little-endian as they are sent. The copy has this machine's order, and can be written to, unlike bytes.
        return np.frombuffer(message, "<i2").astype(np.int16), "", False
    part = validated(decoded(message.encode("utf-8", "surrogatepass"), limits), Part)
    if (part.words or part.tail) and not field.written:
        raise RequestError(422, f"the run {run.name} reads {run.kind}, and no words: send samples")
    # Not when it is read: a batch in which one source is no text ends all its streams.
    require_writable(part.words + part.tail, "the text")
    return part.words, part.tail, part.end
