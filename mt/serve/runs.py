"""The runs that are served, and the kinds of work that they do for requests."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mt.data.fields import AudioField, Raw
from mt.decoding.documents import translate_documents
from mt.decoding.explore import Explored, can_force, explore
from mt.decoding.record import record, runners_up
from mt.decoding.request import Request, names_of
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError, shown
from mt.search.config import SearchConfig, n_best_search, revised_search, width
from mt.search.stepper import Replayed
from mt.serve.bodies import NO_WISHES, Wishes
from mt.serve.limits import Limits, Metrics, RequestError, full
from mt.serve.worker import Worker

# The kinds of work, each done for several requests at once.


class Trial(Wishes):
    """The experiments of the explorer with a translation: a beginning in tokens, and forced attention."""

    prefix_ids: tuple[int, ...] = ()
    """Tokens that the translation begins with."""
    force: tuple[tuple[int, int], ...] = ()
    """Pairs of a target step and a source position that it attends to, from 0."""
    tree: bool = False
    """Whether the answer has the tree of the hypotheses that the search looked at."""

    def require_bounded(self, limits: Limits) -> None:
        super().require_bounded(limits)
        limits.require("prefix", len(self.prefix_ids), "tokens of a prefix", "give fewer")
        limits.require("forced", len(self.force), "pairs of a step and a position", "force fewer")


@dataclass(frozen=True)
class Translating:
    """Translates sources with one search; sources of several requests make one batch."""

    run: "ServedRun"
    search: SearchConfig

    def size(self, item: tuple[Raw, Wishes]) -> int:
        """Returns the positions of a source, times the hypotheses that are extended side by side."""
        size = _size(self.run, item[0]) * width(self.search)
        self.run.limits.require("work", size, "positions times hypotheses", "send a shorter source, or ask for fewer")
        return size

    def do(self, items: Sequence[tuple[Raw, Any]]) -> list[Any]:
        """Returns the hypotheses of each source."""
        sources = [source for source, _ in items]
        rows = self.run.translator.encoded(sources)
        return self.run.translator.decode(rows, self.search, texts=sources, requests=_requests(items))


@dataclass(frozen=True)
class Recording(Translating):
    """Translates sources, and makes the records that the page draws."""

    top: int

    def do(self, items: Sequence[tuple[Raw, Trial]]) -> list[dict[str, Any]]:
        """Returns the answer to each request. Trials are computed one by one, all others in one batch."""
        # A trial changes the search itself, so that it cannot share a batch.
        alone = [body.tree or body.prefix_ids or body.force for _, body in items]
        together = [item for item, is_alone in zip(items, alone, strict=True) if not is_alone]
        rest = iter(self._translated(together) if together else ())
        return [self._explored(*item) if is_alone else next(rest) for item, is_alone in zip(items, alone, strict=True)]

    def _translated(self, items: Sequence[tuple[Raw, Trial]]) -> list[dict[str, Any]]:
        sources = [source for source, _ in items]
        rows = self.run.translator.encoded(sources)
        translations = self.run.translator.decode(rows, self.search, texts=sources, requests=_requests(items))
        replays: list[Replayed | None] = [None for _ in sources]
        if self.top:
            # A second pass along the best hypotheses finds the runners-up.
            best = [hypotheses[0].ids for hypotheses in translations]
            replays = runners_up(self.run.translator, rows, best, self.search, self.top)
        explored = zip(sources, translations, replays, strict=True)
        return [self._answer(source, Explored(found, None, replay)) for source, found, replay in explored]

    def _explored(self, source: Raw, body: Trial) -> dict[str, Any]:
        # The forced positions of each step.
        places: dict[int, list[int]] = {}
        for step, position in body.force:
            places.setdefault(step, []).append(position)
        (request,) = _requests([(source, body)])
        request = request._replace(tokens=body.prefix_ids)
        explored = explore(self.run.translator, source, self.search, request=request, places=places, top=self.top)
        return self._answer(source, explored)

    def _answer(self, source: Raw, explored: Explored) -> dict[str, Any]:
        """Returns the records, and the tree where there is one, with the piece of each node's token."""
        translations, tree, replay = explored
        records = [
            record(self.run.translator, translation, source, replay=None if rank else replay)
            for rank, translation in enumerate(translations)
        ]
        if tree is None:
            return {"translations": records, "tree": None}
        # The root of the tree has no token: it gets some piece, which is replaced by none.
        pieces = self.run.translator.tokenizers.target.pieces([max(node.token, 0) for node in tree.nodes])
        pairs = zip(tree.nodes, ["", *pieces[1:]], strict=True)
        nodes = [[node.parent, piece, node.log_prob, node.score, node.state, node.token] for node, piece in pairs]
        return {"translations": records, "tree": {"nodes": nodes}}


@dataclass(frozen=True)
class Documenting:
    """Translates documents of HTML."""

    run: "ServedRun"
    search: SearchConfig
    placeholders: tuple[str, ...]
    """The syntaxes of placeholders that are kept whole; none: those of the run."""

    def size(self, item: tuple[str, Wishes]) -> int:
        """Estimates the tokens of a document from its length, since parsing its tags would take too long here."""
        return len(item[0]) // 4 * width(self.search)

    def do(self, items: Sequence[tuple[str, Wishes]]) -> list[str]:
        """Returns the translation of each document."""
        texts = [text for text, _ in items]
        placeholders = self.placeholders or None
        documents = translate_documents(
            self.run.translator, texts, "html", self.search, _requests(items), placeholders=placeholders
        )
        return [document.text for document in documents]


@dataclass(frozen=True)
class Aligning:
    """Aligns sources with their given translations."""

    run: "ServedRun"
    hard: bool | None

    def size(self, pair: tuple[Raw, str]) -> int:
        """Returns the tokens of both sides."""
        source, target = pair
        written = len(self.run.translator.tokenizers.target.encode([target])[0])
        self.run.limits.require("length", written, "tokens of a translation", "split it into sentences")
        return _size(self.run, source) + written

    def do(self, pairs: Sequence[tuple[Raw, str]]) -> list[tuple[Translation, dict[str, Any]]]:
        """Returns each alignment with its record."""
        sources = [source for source, _ in pairs]
        aligned = self.run.translator.align(sources, [target for _, target in pairs], hard=self.hard)
        aligned_sources = zip(aligned, sources, strict=True)
        return [(alignment, record(self.run.translator, alignment, source)) for alignment, source in aligned_sources]


def _requests(items: Sequence[tuple[Raw, Wishes]]) -> list[Request]:
    """Returns the request for each text, with its constraints."""
    bodies = [body for _, body in items]
    return [Request(name, body, body.terms) for name, body in zip(names_of(bodies), bodies, strict=True)]


def _size(run: "ServedRun", source: Raw) -> int:
    """Returns the positions of a source. Raises UserError where it cannot be read, or has too many."""
    (row,) = run.translator.encoded([source])
    length = run.translator.field.length(row)
    run.limits.require("positions", length, "positions of a source", "split it into sentences")
    return length


# The runs.


class ServedRun:
    """A run by its name."""

    def __init__(self, name: str, translator: Translator, limits: Limits, metrics: Metrics) -> None:
        self.name = name
        self.translator = translator
        self.limits = limits
        self.worker = Worker(name, limits, metrics.batch_size.labels(name))
        dataset = translator.config.dataset
        self.kind: str = dataset.field.name
        """The name of the kind of its sources."""
        self.source: str | None = dataset.source if translator.field.written else None
        """The language of its sources; None where they are no texts."""
        self.target: str = dataset.target
        self._metrics = metrics
        self._streams = 0
        # These two are computed when Prometheus reads them, and need no updates.
        metrics.streams.labels(name).set_function(lambda: self._streams)
        metrics.waiting.labels(name).set_function(lambda: self.worker.waiting)

    @cached_property
    def streams(self) -> bool:
        """Whether it can translate while a source arrives."""
        try:
            # Only trying tells: it depends on the model, its attention and its search.
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
        # The run's own `max_length` is cut below; one that the request asks for is refused, so that it knows. So is
        # a `min_length` that leaves no room for EOS.
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

    async def translate(self, sources: Sequence[Raw], search: SearchConfig) -> list[list[Translation]]:
        """Returns the hypotheses of each source. Raises RequestError where there are too many sources."""
        self.limits.require("lines", len(sources), "sentences in a request", "send several requests")
        items = [(source, NO_WISHES) for source in sources]
        translations: list[list[Translation]] = await self.worker.do(Translating(self, search), *items)
        # Alternatives are not counted.
        for best, *_ in translations:
            self.count(len(best.source_tokens), len(best.tokens))
        return translations

    async def documents(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        wishes: Wishes = NO_WISHES,
        placeholders: tuple[str, ...] = (),
    ) -> list[str]:
        """Returns the translations of documents of HTML, whose tags stand where links say. placeholders: see
        `Documenting`."""
        items = [(self.require_text(text), wishes) for text in texts]
        translated: list[str] = await self.worker.do(Documenting(self, search, placeholders), *items)
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
        """Returns what the model can do beside translation, and its size. An exported model can do nothing else, and
        its size is not known."""
        try:
            network = self.translator.network.in_torch()
        except UserError:
            return {"hard": False, "forces": False, "parameters": None}
        count = sum(parameter.numel() for parameter in network.model.parameters())
        return {"hard": network.model.supports_hard, "forces": can_force(network.model), "parameters": count}

    def description(self) -> dict[str, Any]:
        """Returns the facts about the run that a client may need, in plain JSON."""
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
        """Ends each thread once it has done what somebody waits for. Waits for all of them, at most so many seconds."""
        # All are told to stop before the first is waited for, so that they end side by side.
        until = time.monotonic() + seconds
        for run in self.all:
            run.worker.stop()
        for run in self.all:
            run.worker.join(until)
