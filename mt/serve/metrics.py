"""What the server counts, for Prometheus: numbers alone, and names of routes and runs, never a text."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self.seconds = Histogram(
            "mt_request_seconds",
            "Seconds from a request to its answer",
            ["route", "status"],
            registry=registry,
            buckets=_SECONDS,
        )
        self.batch_size = Histogram(
            "mt_batch_size",
            "Texts computed together",
            ["run"],
            registry=registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
        )
        self.waiting = Gauge("mt_waiting", "Texts that wait for a run", ["run"], registry=registry)
        self.streams = Gauge("mt_streams", "Streams that are open", ["run"], registry=registry)
        self.source_tokens = Counter(
            "mt_source_tokens", "Tokens of the sources that were translated", ["run"], registry=registry
        )
        self.target_tokens = Counter("mt_target_tokens", "Tokens of their translations", ["run"], registry=registry)

    def text(self) -> bytes:
        """Returns all counters in Prometheus' format."""
        return generate_latest(self._registry)
