"""The bounds of the server, the refusals that say which one was met, and what it counts."""

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import Field

from mt.common.options import Options
from mt.errors import UserError


class Limits(Options):
    """What one request may ask for, and how much of it waits."""

    window: float = Field(3.0, ge=0, le=1000)
    """Milliseconds that the first request of a batch waits for others."""
    batch_tokens: int = Field(4096, ge=1, le=1 << 20)
    """Tokens of hypotheses' sources, the beam counted, that are decoded together."""
    deadline: float = Field(30.0, gt=0, le=3600)
    """Seconds after which a request that has no answer yet is refused."""
    queue: int = Field(256, ge=1, le=1 << 20)
    """Most texts of a run that wait."""
    body: int = Field(1 << 20, ge=1 << 10, le=1 << 30)
    """Most bytes of a request."""
    characters: int = Field(5000, ge=1, le=1 << 20)
    """Most characters of a text."""
    texts: int = Field(128, ge=1, le=1 << 16)
    """Most texts of a request."""
    beam_size: int = Field(50, ge=1, le=1000)
    """Widest beam, and most samples, that a request may ask for."""
    streams: int = Field(64, ge=1, le=1 << 16)
    """Most streams of a run at once."""
    connections: int = Field(512, ge=1, le=1 << 16)
    """Most connections at once, those that do nothing counted."""
    patience: float = Field(10.0, gt=0, le=3600)
    """Seconds that a client has to send a request, or to take an answer."""
    idle: float = Field(300.0, gt=0, le=86400)
    """Seconds that a stream waits for the next part of its source."""
    drain: float = Field(30.0, ge=0, le=3600)
    """Seconds that requests have to end when the server is stopped."""


class RequestError(UserError):
    """A request that cannot be answered: a status of HTTP, and a sentence."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] = {}) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers)

    def __str__(self) -> str:
        return str(self.args[0])


def answer_to(error: UserError) -> tuple[int, dict[str, str]]:
    """Returns the status and the headers of the answer to what is refused."""
    return (error.status, error.headers) if isinstance(error, RequestError) else (422, {})


def full(what: str) -> RequestError:
    """Returns the refusal of what there is no room for at present."""
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
