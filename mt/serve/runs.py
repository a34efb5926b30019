"""The runs that are served: each with its translator, its thread, and the work that requests ask of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from mt.data.fields import AudioField, Raw
from mt.decoding.explore import can_force
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError, shown
from mt.search.config import SearchConfig, n_best_search, revised_search, width
from mt.serve.bodies import NO_WISHES, Wishes
from mt.serve.limits import Limits, Metrics, RequestError, full
from mt.serve.work import Documenting, Translating
from mt.serve.worker import Worker


class ServedRun:
    """A run by its name."""

    def __init__(self, name: str, translator: Translator, limits: Limits, metrics: Metrics) -> None:
        self.name = name
        self.translator = translator
        self.limits = limits
        self.worker = Worker(name, limits, metrics.batch_size.labels(name))
        self._metrics = metrics
        self._streams = 0
        metrics.streams.labels(name).set_function(lambda: self._streams)
        metrics.waiting.labels(name).set_function(lambda: self.worker.waiting)

    @property
    def source(self) -> str | None:
        """The language of its sources; None where they are no texts."""
        return self.translator.config.dataset.source if self.translator.field.written else None

    @property
    def target(self) -> str:
        return self.translator.config.dataset.target

    @cached_property
    def streams(self) -> bool:
        """Whether it can translate while a source arrives."""
        try:
            self.translator.stream()
        except UserError:
            return False
        return True

    def search(
        self, changes: Mapping[str, Any] | None = None, n_best: int | None = None, *, online: bool = False
    ) -> SearchConfig:
        """Returns the run's search with some options changed, whose hypotheses are no longer than this server's. Raises
        UserError where they do not go together, and RequestError where they ask for more than this server does.

        online: whether it is for a source that arrives.
        """
        # The run's own search, with the changes of the request.
        search = self.translator.streaming_search() if online else self.translator.config.search
        search = revised_search(search, changes) if changes else search
        # Bounds of this server.
        widest = max(width(search), n_best or 1)
        self.limits.require("beam_size", widest, "hypotheses of a text", "ask for fewer")
        longest = max(search.min_length + 1, (changes or {}).get("max_length") or 0)
        self.limits.require("length", longest, "tokens of a translation", "ask for fewer")
        return (search if n_best is None else n_best_search(search, n_best)).at_most(self.limits.length)

    def require_text(self, text: str) -> str:
        """Returns a text. Raises RequestError where it is too long, or the run reads no texts: it could be a path."""
        if not self.translator.field.written:
            raise RequestError(
                422,
                f"the run {self.name} reads {self.kind}, and no texts: send the bytes of a file, or name another run",
            )
        return self.require_target(text)

    def require_target(self, text: str) -> str:
        """Returns a text. Raises RequestError where it is too long."""
        self.limits.require("characters", len(text), "characters of a text", "split it into sentences")
        return text

    @property
    def kind(self) -> str:
        """The name of the kind of its sources."""
        return self.translator.config.dataset.field.name

    async def translate(self, sources: Sequence[Raw], search: SearchConfig) -> list[list[Translation]]:
        """Returns the hypotheses of each source. Raises RequestError where there are too many sources."""
        self.limits.require("lines", len(sources), "lines in a request", "send several requests")
        items = [(source, NO_WISHES) for source in sources]
        translations: list[list[Translation]] = await self.worker.do(
            Translating(self.translator, self.limits, search), *items
        )
        for best, *_ in translations:
            self.count(len(best.source_tokens), len(best.tokens))
        return translations

    async def documents(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        format: str,
        wishes: Wishes = NO_WISHES,
        placeholders: tuple[str, ...] = (),
    ) -> list[str]:
        """Returns the translations of documents, whose tags stand where links say. placeholders: the syntaxes of those
        that are kept whole; none: those of the run."""
        items = [(self.require_text(text), wishes) for text in texts]
        documenting = Documenting(self.translator, self.limits, search, format, placeholders)
        translated: list[str] = await self.worker.do(documenting, *items)
        return translated

    def count(self, source_tokens: int, target_tokens: int) -> None:
        """Counts what was translated."""
        self._metrics.source_tokens.labels(self.name).inc(source_tokens)
        self._metrics.target_tokens.labels(self.name).inc(target_tokens)

    @contextmanager
    def stream_open(self) -> Iterator[None]:
        """Counts a stream while a context lasts. Raises RequestError where there are too many."""
        if self._streams >= self.limits.streams:
            raise full(f"{self._streams} streams of this run are open")
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def _abilities(self) -> dict[str, Any]:
        """Returns what the model can do beside translating; an exported one can do nothing else."""
        try:
            network = self.translator.network.in_torch()
        except UserError:
            return {"hard": False, "forces": False, "parameters": None}
        count = sum(parameter.numel() for parameter in network.model.parameters())
        return {"hard": network.model.supports_hard, "forces": can_force(network.model), "parameters": count}

    def description(self) -> dict[str, Any]:
        """Returns what a client may want to know of the run, in plain JSON."""
        config = self.translator.config
        field = self.translator.field
        # What it reads and writes, what it can do, and what it is made of.
        return {
            "name": self.name,
            "source": config.dataset.source,
            "target": config.dataset.target,
            "field": self.kind,
            "unit": self.translator.unit,
            "streams": self.streams,
            "rate": config.dataset.field.rate if isinstance(field, AudioField) else None,
            "chunk": self.translator.network.chunk_size,
            **self._abilities(),
            "search": config.search.model_dump(mode="json"),
            **{
                name: getattr(config, name).name
                for name in ("attention", "encoder", "decoder")
                if hasattr(config, name)
            },
        }


class Runs:
    """The runs of a server by their names, the first of which is the default."""

    def __init__(self, runs: Sequence[ServedRun]) -> None:
        self.all = list(runs)
        self._by_name = {run.name: run for run in runs}

    def named(self, name: str | None) -> ServedRun:
        """Returns a run. Raises RequestError where there is none of this name."""
        if name is None:
            return self.all[0]
        if name not in self._by_name:
            raise RequestError(404, f"there is no run {shown(name)} here: choose of {', '.join(self._by_name)}")
        return self._by_name[name]

    async def warm_up(self) -> None:
        """Translates a word with each run, since a first translation compiles and allocates."""
        for run in self.all:
            if run.translator.field.written:
                await run.translate(["a"], run.search())

    def close(self, seconds: float) -> None:
        """Ends the threads when they have done what is waited for, and waits for that so many seconds."""
        until = time.monotonic() + seconds
        for run in self.all:
            run.worker.stop()
        for run in self.all:
            run.worker.join(until)
