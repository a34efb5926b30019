"""The ASGI application: routes of several protocols behind one guard."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from html import escape

from fastapi import FastAPI, HTTPException, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse, Response

from mt.common.about import VERSION
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.explorer import LISTENING, page
from mt.serve import libretranslate, own, streams
from mt.serve.bodies import Key
from mt.serve.guard import Guard, refusal_of
from mt.serve.limits import Limits, Metrics
from mt.serve.runs import Runs, ServedRun

_CLOSING = 1.0
"""Seconds that a step of a search has to end when the server stops."""


def build(
    translators: Mapping[str, Translator],
    limits: Limits,
    *,
    key: str | None = None,
    origins: Sequence[str] = (),
    local: bool = False,
) -> Guard:
    """Returns the application that serves translators by their names, the first of which is the default.

    key: what clients have to know. origins, local: see `Guard`.
    """
    metrics = Metrics()
    runs = Runs([ServedRun(name, translator, limits, metrics) for name, translator in translators.items()])

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Before the first request, and after the last one.
        await runs.warm_up()
        yield
        runs.close(_CLOSING)

    app = FastAPI(
        title="mt",
        version=VERSION,
        description="Translations of recurrent encoder-decoders, with what their attention did.",
        lifespan=lifespan,
        docs_url=None,  # its scripts would come from elsewhere
        redoc_url=None,
    )
    # Routes first, then what answers their errors.
    checked = Key(key)
    app.include_router(own.router(runs, checked, limits))
    app.include_router(streams.router(runs, checked, limits))
    app.include_router(libretranslate.router(runs, checked, limits))
    _add_pages(app, runs, checked, metrics)
    _answer_errors(app)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[*origins],
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    # The guard is outermost, so that nothing reaches a route before it was looked at.
    return Guard(app, limits, metrics, origins, local=local)


def _add_pages(app: FastAPI, runs: Runs, key: Key, metrics: Metrics) -> None:
    """Adds the routes that belong to no protocol: the explorer's page, the page of routes, health and counters."""
    explorer = page("mt", [run.description() for run in runs.all], live=True)
    # The page's own policy allows its scripts. Only a header can say that no other page may frame it.
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', explorer)
    headers = {"content-security-policy": "; ".join([*policy, "frame-ancestors 'none'"])}

    @app.get("/", include_in_schema=False)
    async def explore() -> HTMLResponse:
        return HTMLResponse(explorer, headers=headers)

    @app.get("/listen.js", include_in_schema=False)
    async def listen() -> Response:
        return Response(LISTENING, media_type="text/javascript")

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> HTMLResponse:
        return HTMLResponse(_documentation(app))

    @app.head("/health", include_in_schema=False)  # as monitors ask
    @app.get("/health", tags=["LibreTranslate"])
    async def health() -> dict[str, str]:
        """Says that the server answers."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["mt"])
    async def metrics_text(request: Request) -> Response:
        """Gives the counters for Prometheus."""
        key.check(request)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")


def _documentation(app: FastAPI) -> str:
    """Returns a page of all routes, which asks for nothing elsewhere, in place of FastAPI's."""
    parts = []
    for address, methods in app.openapi()["paths"].items():
        for method, route in methods.items():
            # Every text of the page is escaped, those of the schemas too.
            parts.append(f"<h2><code>{method.upper()} {escape(address)}</code></h2><p>{escape(route['description'])}")
            if "requestBody" in route:
                schema = route["requestBody"]["content"]["application/json"]["schema"]
                parts.append(f"<pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre>")
    more = 'For programs: <a href="openapi.json">openapi.json</a>. Streams: WebSocket at <code>/api/stream</code>.'
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>mt: routes</title></head>'
    return f"{head}<body><h1>Routes</h1><p>{more}</p>{''.join(parts)}</body></html>"


def _answer_errors(app: FastAPI) -> None:
    """Makes the application answer every error by one sentence in JSON."""

    @app.exception_handler(UserError)
    async def refuse(request: Request, error: UserError) -> JSONResponse:
        return refusal_of(error)

    @app.exception_handler(404)
    @app.exception_handler(405)
    async def refuse_address(request: Request, error: HTTPException) -> JSONResponse:
        what = "there is nothing at this address" if error.status_code == 404 else "another method is asked for here"
        # With status 405 a header says which methods there are (Allow).
        return JSONResponse({"error": f"{what}: see /docs"}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def admit(request: Request, error: Exception) -> JSONResponse:
        # It is raised again, and logged.
        return JSONResponse({"error": "the server failed at this request, which is a fault of its own"}, 500)
