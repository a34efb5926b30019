"""What the server counts, for Prometheus: numbers alone, and names of routes and runs, never a text."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The counters of one server."""

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
