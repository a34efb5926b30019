"""Our own routes: everything that the page shows of a translation."""

import base64
import binascii
from asyncio import to_thread
from typing import Any, Literal, Self

from fastapi import APIRouter, Request
from pydantic import Field, model_validator

from mt.common.about import VERSION
from mt.common.links import parse_pharaoh
from mt.common.options import Options
from mt.data.fields import Raw
from mt.data.placeholders import SYNTAXES, placeholders_of
from mt.errors import UserError
from mt.markup.sentences import sentences_of_lines
from mt.metrics.alignment import alignment_error_rate
from mt.serve.bodies import Key, Wishes, body_of, parsed_body
from mt.serve.limits import Limits, RequestError
from mt.serve.runs import Aligning, Recording, Runs, ServedRun, Trial


class SourceBody(Options):
    """A source, which is a text, or the bytes of a file."""

    run: str | None = None
    text: str | None = None
    audio: str | None = None
    """A sound in a file, in base64."""
    image: str | None = None
    """A picture in a file, in base64."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if [self.text, self.audio, self.image].count(None) != 2:
            raise UserError("the request: a source is missing, or there are several: give one of text, audio and image")
        return self

    def source(self, run: ServedRun) -> Raw:
        """Returns the source. Raises RequestError where the run does not read this kind."""
        if self.text is not None:
            return run.require_text(self.text)
        kind = "audio" if self.audio is not None else "image"
        if kind != run.kind:
            raise RequestError(422, f"the run {run.name} reads {run.kind}, and no {kind}: name another run")
        try:
            return base64.b64decode(self.audio or self.image or "", validate=True)
        except (binascii.Error, ValueError):
            raise RequestError(400, f"the request: {kind} is no base64: encode the bytes of the file so") from None


class TranslateBody(SourceBody, Trial):
    """A source to translate, and how."""

    search: dict[str, Any] | None = None
    """Options of search that differ from the run's own."""
    n_best: int | None = Field(None, ge=1)
    format: Literal["text", "html"] = "text"
    """html: the text is a document, whose tags stand where links say."""
    placeholders: tuple[str, ...] = Field((), max_length=len(SYNTAXES))
    """The syntaxes of placeholders that are kept whole in a document; none: those of the run."""
    top: int = Field(0, ge=0)
    """How many of the most probable tokens of each step are returned."""

    def require_bounded(self, limits: Limits) -> None:
        super().require_bounded(limits)
        limits.require("top", self.top, "runners-up of a token", "ask for fewer")

    def document(self) -> str:
        """Returns the document. Raises RequestError where more is asked than it has."""
        # Only what was set counts: every field has a default.
        others = {"text", "run", "search", "format", "placeholders", *Wishes.model_fields}
        if more := [name for name in self.model_fields_set if name not in others]:
            raise RequestError(422, f"{more[0]} is asked of a sentence, and a document has several: leave it out")
        placeholders_of(self.placeholders)  # raises where there is no such syntax
        return self.text or ""


class TextBody(Options):
    """A text of any number of sentences."""

    run: str | None = None
    text: str


class AlignBody(SourceBody):
    """A source with a translation, whose links are to be found."""

    target: str
    hard: bool | None = None
    gold: str | None = None
    """Known links, in Pharaoh's format."""


def router(runs: Runs, key: Key, limits: Limits) -> APIRouter:
    """Returns the routes below /api."""
    routes = APIRouter(prefix="/api", tags=["mt"])

    @routes.get("/runs")
    async def describe() -> dict[str, Any]:
        """Says which runs there are, and how much may be asked of them."""
        bounds = limits.model_dump()
        descriptions = [run.description() for run in runs.all]
        return {"runs": descriptions, "limits": bounds, "key": key.required, "version": VERSION}

    @routes.post("/translate", openapi_extra=body_of(TranslateBody))
    async def translate(request: Request) -> dict[str, Any]:
        """Translates a source, and says what the attention did: docs/explorer.md explains the records."""
        key.check(request)
        asked = await parsed_body(request, TranslateBody, limits)
        asked.require_bounded(limits)
        run = runs.named(asked.run)
        search = run.search(asked.search, asked.n_best)
        # A document has no record.
        if asked.format != "text":
            (text,) = await run.documents([asked.document()], search, asked, asked.placeholders)
            return {"run": run.name, "translations": [{"text": text}], "tree": None}
        if asked.placeholders:
            raise RequestError(422, "placeholders are asked of a document: add format html, or leave them out")
        # A sentence, with its record.
        (answer,) = await run.worker.do(Recording(run, search, asked.top), (asked.source(run), asked))
        run.count(*(len(answer["translations"][0][side]) for side in ("source_tokens", "tokens")))
        return {"run": run.name, **answer}

    @routes.post("/align", openapi_extra=body_of(AlignBody))
    async def align(request: Request) -> dict[str, Any]:
        """Links the words of a given translation, and scores the links where gold ones are known."""
        key.check(request)
        asked = await parsed_body(request, AlignBody, limits)
        run = runs.named(asked.run)
        # All parts are checked before the run is asked to do anything.
        pair = (asked.source(run), run.require_target(asked.target))
        gold = None if asked.gold is None else parse_pharaoh([run.require_target(asked.gold)], "gold")
        ((translation, plain),) = await run.worker.do(Aligning(run, asked.hard), pair)
        # Words without pieces cannot be linked, and do not count as errors.
        score = None
        if gold is not None:
            linkable = {*translation.units.source}, {*translation.units.target}
            score = alignment_error_rate([translation.links], gold, [linkable]).score
        return {"run": run.name, "translation": plain, "aer": score}

    _add_sentences(routes, runs, key, limits)
    return routes


def _add_sentences(routes: APIRouter, runs: Runs, key: Key, limits: Limits) -> None:
    """Adds the route that cuts texts."""

    @routes.post("/sentences", openapi_extra=body_of(TextBody))
    async def cut(request: Request) -> dict[str, Any]:
        """Cuts a text into sentences by the rules of the language that a run reads: joined, they are the text."""
        key.check(request)
        asked = await parsed_body(request, TextBody, limits)
        run = runs.named(asked.run)
        limits.require("whole", len(asked.text), "characters of a whole text", "send several requests")
        return {"run": run.name, "sentences": await to_thread(sentences_of_lines, asked.text, run.source)}
