"""The kinds of work that a run does for requests, each for several of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mt.data.fields import Raw, Row
from mt.data.glossary import glossaries_of
from mt.decoding.documents import translate_documents
from mt.decoding.explore import Explored, explore
from mt.decoding.record import NOTHING, record, runners_up
from mt.decoding.request import Request
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.search.config import SearchConfig, width
from mt.serve.bodies import Wishes
from mt.serve.limits import Limits


class Trial(Wishes):
    """What is tried out of a translation, beside what is asked."""

    prefix_ids: tuple[int, ...] = ()
    """Tokens that the translation begins with."""
    force: tuple[tuple[int, int], ...] = ()
    """Pairs of a target step and a source position that it attends to, from 0."""
    tree: bool = False
    """Whether the hypotheses that the search has looked at are told."""

    def require_bounded(self, limits: Limits) -> None:
        super().require_bounded(limits)
        limits.require("prefix", len(self.prefix_ids), "tokens of a prefix", "give fewer")
        limits.require("forced", len(self.force), "pairs of a step and a position", "force fewer")


@dataclass(frozen=True)
class Translating:
    """Translates sources with one search: those of several requests in one batch."""

    translator: Translator
    limits: Limits
    search: SearchConfig

    def size(self, item: tuple[Raw, Wishes]) -> int:
        """Returns the positions of a source, times the hypotheses that are extended side by side."""
        size = _size(self.translator, item[0], self.limits) * width(self.search)
        self.limits.require("work", size, "positions times hypotheses", "send a shorter source, or ask for fewer")
        return size

    def do(self, items: Sequence[tuple[Raw, Any]]) -> list[Any]:
        """Returns the hypotheses of each source."""
        return self._decoded(items, self.translator.encoded([source for source, _ in items]))

    def _decoded(self, items: Sequence[tuple[Raw, Any]], rows: Sequence[Row]) -> list[list[Translation]]:
        sources = [source for source, _ in items]
        return self.translator.decode(rows, self.search, texts=sources, requests=_requests(items))


@dataclass(frozen=True)
class Recording(Translating):
    """Translates sources, and makes the records that the page draws."""

    top: int

    def do(self, items: Sequence[tuple[Raw, Trial]]) -> list[dict[str, Any]]:
        """Returns the answer to each request. Trials are computed one by one, all others in one batch."""
        alone = [body.tree or body.prefix_ids or body.force for _, body in items]
        together = [item for item, is_alone in zip(items, alone, strict=True) if not is_alone]
        rest = iter(self._translated(together) if together else ())
        return [self._explored(*item) if is_alone else next(rest) for item, is_alone in zip(items, alone, strict=True)]

    def _translated(self, items: Sequence[tuple[Raw, Trial]]) -> list[dict[str, Any]]:
        sources = [source for source, _ in items]
        rows = self.translator.encoded(sources)
        translations = self._decoded(items, rows)
        replays = [NOTHING for _ in sources]
        if self.top:
            best = [hypotheses[0].ids for hypotheses in translations]
            # A second pass along the best hypotheses finds the runners-up.
            replays = runners_up(self.translator, rows, best, self.search, self.top)
        explored = zip(sources, translations, replays, strict=True)
        return [self._answer(source, Explored(found, None, replay)) for source, found, replay in explored]

    def _explored(self, source: Raw, body: Trial) -> dict[str, Any]:
        # The forced positions of each step.
        places: dict[int, list[int]] = {}
        for step, position in body.force:
            places.setdefault(step, []).append(position)
        (request,) = _requests([(source, body)])
        request = request._replace(tokens=body.prefix_ids)
        explored = explore(self.translator, source, self.search, request=request, places=places, top=self.top)
        return self._answer(source, explored)

    def _answer(self, source: Raw, explored: Explored) -> dict[str, Any]:
        """Returns records, and the tree where there is one, whose nodes have the pieces of tokens."""
        translations, tree, replay = explored
        replays = [replay, *[NOTHING for _ in translations[1:]]]
        records = [
            record(self.translator, translation, source, replay=of_translation)
            for translation, of_translation in zip(translations, replays, strict=True)
        ]
        if tree is None:
            return {"translations": records, "tree": None}
        pieces = self.translator.tokenizers.target.pieces([max(node.token, 0) for node in tree.nodes])
        pairs = zip(tree.nodes, ["", *pieces[1:]], strict=True)
        nodes = [[node.parent, piece, node.log_prob, node.score, node.state, node.token] for node, piece in pairs]
        return {"translations": records, "tree": {"nodes": nodes}}


@dataclass(frozen=True)
class Documenting:
    """Translates documents with tags."""

    translator: Translator
    limits: Limits
    search: SearchConfig
    format: str
    placeholders: tuple[str, ...] = ()
    """The syntaxes of those that are kept whole; none: those of the run."""

    def size(self, item: tuple[str, Wishes]) -> int:
        """Estimates the tokens of a document from its length, since parsing its tags would take too long here."""
        return len(item[0]) // 4 * width(self.search)

    def do(self, items: Sequence[tuple[str, Wishes]]) -> list[str]:
        """Returns the translation of each document."""
        texts = [text for text, _ in items]
        options: Any = {"placeholders": self.placeholders or None}
        documents = translate_documents(self.translator, texts, self.format, self.search, _requests(items), **options)
        return [document.text for document in documents]


@dataclass(frozen=True)
class Aligning:
    """Aligns sources with their given translations."""

    translator: Translator
    limits: Limits
    hard: bool | None

    def size(self, pair: tuple[Raw, str]) -> int:
        """Returns the tokens of both sides."""
        source, target = pair
        written = len(self.translator.tokenizers.target.encode([target])[0])
        self.limits.require("length", written, "tokens of a translation", "split it into sentences")
        return _size(self.translator, source, self.limits) + written

    def do(self, pairs: Sequence[tuple[Raw, str]]) -> list[tuple[Translation, dict[str, Any]]]:
        """Returns each alignment with its record."""
        sources = [source for source, _ in pairs]
        aligned = self.translator.align(sources, [target for _, target in pairs], hard=self.hard)
        aligned_sources = zip(aligned, sources, strict=True)
        return [(alignment, record(self.translator, alignment, source)) for alignment, source in aligned_sources]


def _requests(items: Sequence[tuple[Raw, Wishes]]) -> list[Request]:
    """Returns what is asked of each translation."""
    glossaries = glossaries_of([body.terms for _, body in items], len(items))
    pairs = zip(items, glossaries, strict=True)
    return [Request(f"text {number}", body, terms) for number, ((_, body), terms) in enumerate(pairs, start=1)]


def _size(translator: Translator, source: Raw, limits: Limits) -> int:
    """Returns the positions of a source. Raises UserError where it cannot be read, or has too many."""
    (row,) = translator.encoded([source])
    length = translator.field.length(row)
    limits.require("positions", length, "positions of a source", "split it into sentences")
    return length
