"""Our own routes: everything that the page shows of a translation."""

from typing import Any

from fastapi import APIRouter, Request

from mt.common.about import VERSION
from mt.serve.bodies import Key, Translate, body_of, parsed_json
from mt.serve.limits import Limits
from mt.serve.runs import Runs


def router(runs: Runs, key: Key, limits: Limits) -> APIRouter:
    """Returns the routes below /api."""
    routes = APIRouter(prefix="/api", tags=["mt"])

    @routes.get("/runs")
    async def describe() -> dict[str, Any]:
        """Says which runs there are, and how much may be asked of them."""
        bounds = {"characters": limits.characters, "body": limits.body, "beam_size": limits.beam_size}
        descriptions = [run.description() for run in runs.all]
        return {"runs": descriptions, "limits": bounds, "key": key.required, "version": VERSION}

    @routes.post("/translate", openapi_extra=body_of(Translate))
    async def translate(request: Request) -> dict[str, Any]:
        """Translates a text, and says what the attention did."""
        key.check(request)
        asked = parsed_json(await request.body(), Translate)
        run = runs.named(asked.run)
        search = run.search(asked.search, asked.n_best)
        (translations,) = await run.translate([run.require_text(asked.text)], search)
        return {"run": run.name, "translations": [{"text": one.text, "score": one.score} for one in translations]}

    return routes
