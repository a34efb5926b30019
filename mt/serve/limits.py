"""The bounds of the server, the refusals that say which one was met, and what it counts."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import Field

from mt.common.options import Options
from mt.errors import UserError


class Limits(Options):
    """What one client may ask for, and how much may wait: every bound of the server stands here."""

    # The bytes of requests, and what they are parsed into.
    body: int = Field(1 << 20, ge=1 << 10, le=1 << 30)
    """Most bytes of the body of a request."""
    head: int = Field(1 << 14, ge=1 << 10, le=1 << 20)
    """Most bytes of the head of a request."""
    message: int = Field(1 << 16, ge=1 << 10, le=1 << 24)
    """Most bytes of a message of a stream."""
    values: int = Field(4096, ge=16, le=1 << 20)
    """Most values in the JSON of a request or a message: texts, numbers, lists and objects."""
    fields: int = Field(20, ge=8, le=1000)
    """Most fields of a form."""

    # What is asked of translations.
    texts: int = Field(128, ge=1, le=1 << 16)
    """Most texts of a request."""
    lines: int = Field(256, ge=1, le=1 << 16)
    """Most sentences of the texts of a request, each of which is translated by itself; the end of a line ends one."""
    characters: int = Field(5000, ge=1, le=1 << 20)
    """Most characters of a text, of a given translation, or of a stream's source."""
    whole: int = Field(50_000, ge=1, le=1 << 24)
    """Most characters of a text that is cut into sentences, each of which is a text then."""
    positions: int = Field(4096, ge=16, le=1 << 20)
    """Most positions of a source: tokens of a text, frames of a sound."""
    length: int = Field(2048, ge=16, le=1 << 20)
    """Most tokens of a hypothesis; one that reaches it ends there."""
    beam_size: int = Field(50, ge=1, le=1000)
    """Widest beam, and most samples, that a request may ask for."""
    work: int = Field(20480, ge=1, le=1 << 24)
    """Most positions of a source times the hypotheses that are extended side by side."""
    phrases: int = Field(64, ge=0, le=1 << 16)
    """Most phrases that must appear, and that must not, with all their forms."""
    terms: int = Field(500, ge=0, le=1 << 16)
    """Most terms of a glossary, with all the forms of their translations."""
    phrase: int = Field(200, ge=1, le=1 << 16)
    """Most characters of a phrase or a term."""
    prefix: int = Field(1000, ge=0, le=1 << 16)
    """Most characters, or tokens, that a translation is told to begin with."""
    forced: int = Field(256, ge=0, le=1 << 16)
    """Most pairs of a step and a position that is forced."""
    top: int = Field(20, ge=0, le=1000)
    """Most runners-up of each token."""

    # How much is done, and waits.
    window: float = Field(3.0, ge=0, le=1000)
    """Milliseconds that the first request of a batch waits for others."""
    batch_tokens: int = Field(4096, ge=1, le=1 << 20)
    """Tokens of hypotheses' sources, the beam counted, that are decoded together."""
    queue: int = Field(512, ge=1, le=1 << 20)
    """Most texts of a run that wait."""
    streams: int = Field(64, ge=1, le=1 << 16)
    """Most streams of a run at once."""
    connections: int = Field(1024, ge=1, le=1 << 16)
    """Most connections at once, those that do nothing counted; uvicorn answers others with 503."""

    # Seconds.
    deadline: float = Field(30.0, gt=0, le=3600)
    """Seconds after which a request that has no answer yet is refused, and no more computed."""
    patience: float = Field(10.0, gt=0, le=3600)
    """Seconds that a client has to send the whole of a request, and that a connection without one stays open."""
    idle: float = Field(300.0, gt=0, le=86400)
    """Seconds that a stream waits for the next part of its source."""
    drain: float = Field(5.0, ge=0, le=3600)
    """Seconds that requests have to end when the server is stopped."""

    def require(self, name: str, count: int, what: str, remedy: str) -> None:
        """Raises RequestError where a request has more of something than the bound of this name.

        >>> Limits(texts=2).require("texts", 3, "texts in a request", "send several requests")
        Traceback (most recent call last):
        mt.serve.limits.RequestError: 3 texts in a request are more than this server's 2: send several requests
        """
        most = getattr(self, name)
        if count > most:
            raise RequestError(422, f"{count} {what} are more than this server's {most}: {remedy}")


class RequestError(UserError):
    """A request that cannot be answered: a status of HTTP, and a sentence."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] = {}) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers)


def full(what: str) -> RequestError:
    """Returns a refusal with status 503, for a time when the server has no room."""
    return RequestError(503, f"{what}: try again in a second", {"Retry-After": "1"})


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The counters of one server, for Prometheus: numbers alone, and names of routes and runs, never a text."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        # Of requests, then of each run.
        self.seconds = Histogram(
            "mt_request_seconds",
            "Seconds from a request to its answer",
            ["route", "status"],
            registry=self._registry,
            buckets=_SECONDS,
        )
        of_runs: Any = {"labelnames": ["run"], "registry": self._registry}
        self.batch_size = Histogram("mt_batch_size", "Texts computed together", buckets=_TEXTS, **of_runs)
        self.waiting = Gauge("mt_waiting", "Texts that wait for a run", **of_runs)
        self.streams = Gauge("mt_streams", "Streams that are open", **of_runs)
        self.source_tokens = Counter("mt_source_tokens", "Tokens of the sources that were translated", **of_runs)
        self.target_tokens = Counter("mt_target_tokens", "Tokens of their translations", **of_runs)

    def text(self) -> bytes:
        """Returns all counters in Prometheus' format."""
        return generate_latest(self._registry)
