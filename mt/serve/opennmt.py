"""OpenNMT-py's routes (`onmt_server`, 3.x): a list of sources in, for each rank of the n best a list of targets out."""

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import RootModel

from mt.errors import UserError
from mt.metrics.alignment import to_pharaoh
from mt.serve.bodies import Foreign, Key, body_of, parsed
from mt.serve.limits import RequestError, answer_to
from mt.serve.runs import Runs, ServedRun


class Source(Foreign):
    """A text; the id of the first says which run translates all: its number, or its name."""

    src: str
    id: int | str = 0


class Sources(RootModel[list[Source]], frozen=True):
    """The texts of a request."""


def router(runs: Runs, key: Key) -> APIRouter:
    """Returns the routes below /translator, where OpenNMT-py has them."""
    routes = APIRouter(prefix="/translator", tags=["OpenNMT-py"])

    @routes.post("/translate", openapi_extra=body_of(Sources), response_model=None)
    async def translate(request: Request) -> list[list[dict[str, Any]]] | JSONResponse:
        """Translates texts, each with word links in Pharaoh's format."""
        try:
            key.check(request)
            sources = parsed(await request.body(), Sources).root
            if not sources:
                raise RequestError(400, "there is no source: give a list of objects with src and id")
            return await _translated(_run(runs, sources[0].id), sources)
        # Refusals have a form of their own here.
        except UserError as error:
            return JSONResponse({"error": str(error), "status": "error"}, *answer_to(error))

    @routes.get("/models")
    async def models() -> list[dict[str, Any]]:
        """Lists the runs."""
        return [
            {
                "model_id": number,
                "models": [run.name],
                "opt": {"n_best": _n_best(run), "beam_size": getattr(run.search(), "beam_size", 1)},
                "loaded": True,
                "timeout": -1,
            }
            for number, run in enumerate(runs.all)
        ]

    @routes.get("/health")
    async def health() -> dict[str, str]:
        """Says that the server answers."""
        return {"status": "ok"}

    return routes


def _run(runs: Runs, number: int | str) -> ServedRun:
    name = str(number)
    if name.isdecimal() and int(name) < len(runs.all):
        return runs.all[int(name)]
    return runs.named(name)


def _n_best(run: ServedRun) -> int:
    return getattr(run.search(), "n_best", 1)


async def _translated(run: ServedRun, sources: list[Source]) -> list[list[dict[str, Any]]]:
    texts = [run.require_text(source.src) for source in sources]
    translations = await run.translate(texts, run.search())
    n_best = _n_best(run)
    answer: list[list[dict[str, Any]]] = [[] for _ in range(n_best)]
    for text, hypotheses in zip(texts, translations, strict=True):
        # The white space around a source stands around its target, too.
        blank = re.fullmatch(r"(\s*).*?(\s*)", text, re.DOTALL)
        before, after = blank.groups() if blank and text.strip() else ("", "")
        for rank in range(n_best):
            hypothesis = hypotheses[min(rank, len(hypotheses) - 1)]
            answer[rank].append(
                {
                    "src": text,
                    "tgt": f"{before}{hypothesis.text}{after}",
                    "n_best": n_best,
                    "pred_score": hypothesis.score,
                    "align": [to_pharaoh(hypothesis.links)],
                }
            )
    return answer
