"""Our own routes: everything that the page shows of a translation."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from fastapi import APIRouter, Request
from pydantic import Field, model_validator

from mt.common.about import VERSION
from mt.common.options import Options
from mt.data.fields import Raw
from mt.decoding.record import NOTHING, record, runners_up
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.metrics.alignment import alignment_error_rate, parse_pharaoh
from mt.serve.bodies import Key, body_of, parsed_json
from mt.serve.limits import Limits, RequestError
from mt.serve.runs import Runs, ServedRun, Translating


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
        """Returns the source. Raises RequestError where a run does not read such a one."""
        if self.text is not None:
            return run.require_text(self.text)
        kind = "audio" if self.audio is not None else "image"
        if kind != run.kind:
            raise RequestError(422, f"the run {run.name} reads {run.kind}, and no {kind}: name another run")
        try:
            return base64.b64decode(self.audio or self.image or "", validate=True)
        except (binascii.Error, ValueError):
            raise RequestError(400, f"the request: {kind} is no base64: encode the bytes of the file so") from None


class TranslateBody(SourceBody):
    """A source to translate, and how."""

    search: dict[str, Any] | None = None
    """Options of search that differ from the run's own."""
    n_best: int | None = Field(None, ge=1)
    top: int = Field(0, ge=0, le=20)
    """How many of the most probable tokens of each step are told."""


class AlignBody(SourceBody):
    """A source with a translation, whose links are to be found."""

    target: str
    hard: bool | None = None
    gold: str | None = None
    """Known links, in Pharaoh's format."""


@dataclass(frozen=True)
class Recording(Translating):
    """Translates sources, and makes the records that the page draws."""

    top: int

    def do(self, sources: Sequence[Raw]) -> list[list[dict[str, Any]]]:  # type: ignore[override]
        """Returns the records of the hypotheses of each source."""
        translations = super().do(sources)
        replays = [NOTHING for _ in sources]
        if self.top:
            best = [hypotheses[0].ids for hypotheses in translations]
            replays = runners_up(self.translator, self.translator.encoded(sources), best, self.search, self.top)
        return [
            [
                record(self.translator, one, source, replay=NOTHING if rank else replay)
                for rank, one in enumerate(hypotheses)
            ]
            for source, hypotheses, replay in zip(sources, translations, replays, strict=True)
        ]


@dataclass(frozen=True)
class Aligning:
    """Aligns sources with their given translations."""

    translator: Translator
    hard: bool | None

    def size(self, pair: tuple[Raw, str]) -> int:
        """Returns the tokens of both sides."""
        source, target = pair
        (row,) = self.translator.encoded([source])
        return self.translator.field.length(row) + len(self.translator.target_ids([target], [source])[0])

    def do(self, pairs: Sequence[tuple[Raw, str]]) -> list[tuple[Translation, dict[str, Any]]]:
        """Returns each alignment with its record."""
        sources = [source for source, _ in pairs]
        aligned = self.translator.align(sources, [target for _, target in pairs], hard=self.hard)
        return [(one, record(self.translator, one, source)) for one, source in zip(aligned, sources, strict=True)]


def router(runs: Runs, key: Key, limits: Limits) -> APIRouter:
    """Returns the routes below /api."""
    routes = APIRouter(prefix="/api", tags=["mt"])

    @routes.get("/runs")
    async def describe() -> dict[str, Any]:
        """Says which runs there are, and how much may be asked of them."""
        bounds = {"characters": limits.characters, "body": limits.body, "beam_size": limits.beam_size}
        descriptions = [run.description() for run in runs.all]
        return {"runs": descriptions, "limits": bounds, "key": key.required, "version": VERSION}

    @routes.post("/translate", openapi_extra=body_of(TranslateBody))
    async def translate(request: Request) -> dict[str, Any]:
        """Translates a source, and says what the attention did: docs/explorer.md explains the records."""
        key.check(request)
        asked = parsed_json(await request.body(), TranslateBody)
        run = runs.named(asked.run)
        search = run.search(asked.search, asked.n_best)
        (records,) = await run.worker.do(Recording(run.translator, search, asked.top), asked.source(run))
        run.count(len(records[0]["source_tokens"]), len(records[0]["tokens"]))
        return {"run": run.name, "translations": records, "tree": None}

    @routes.post("/align", openapi_extra=body_of(AlignBody))
    async def align(request: Request) -> dict[str, Any]:
        """Links the words of a given translation, and scores the links where gold ones are known."""
        key.check(request)
        asked = parsed_json(await request.body(), AlignBody)
        run = runs.named(asked.run)
        pair = (asked.source(run), run.require_target(asked.target))
        gold = None if asked.gold is None else parse_pharaoh([asked.gold], "gold")
        ((translation, plain),) = await run.worker.do(Aligning(run.translator, asked.hard), pair)
        score = None
        if gold is not None:
            linkable = {*translation.source_units}, {*translation.target_units}
            score = alignment_error_rate([translation.links], gold, [linkable]).score
        return {"run": run.name, "translation": plain, "aer": score}

    return routes
