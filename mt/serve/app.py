"""The ASGI application: routes of several protocols behind one guard."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse, Response

from mt.common.about import VERSION
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.serve import inference, libretranslate, opennmt, own
from mt.serve.bodies import Key
from mt.serve.guard import Application, Guard
from mt.serve.limits import Limits, RequestError
from mt.serve.metrics import Metrics
from mt.serve.runs import Runs, ServedRun


def build(
    translators: Mapping[str, Translator],
    limits: Limits,
    *,
    key: str | None = None,
    origins: Sequence[str] = (),
    local: bool = False,
) -> Application:
    """Returns the application that serves translators by their names, the first of which is the default.

    key: what clients have to know. origins, local: see `Guard`.
    """
    metrics = Metrics()
    runs = Runs([ServedRun(name, translator, limits, metrics) for name, translator in translators.items()])

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        runs.close()

    app = FastAPI(
        title="mt",
        version=VERSION,
        description="Translations of recurrent encoder-decoders, with what their attention did.",
        lifespan=lifespan,
        docs_url=None,  # its scripts would come from elsewhere
        redoc_url=None,
    )
    checked = Key(key)
    app.include_router(own.router(runs, checked, limits))
    app.include_router(libretranslate.router(runs, checked, limits))
    app.include_router(opennmt.router(runs, checked))
    app.include_router(inference.router(runs, checked))

    _add_pages(app, checked, metrics)
    _answer_errors(app)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[*origins],
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return Guard(app, limits, metrics, origins, local=local)


def _add_pages(app: FastAPI, key: Key, metrics: Metrics) -> None:
    """Adds what is neither of one protocol nor of another."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>mt</title><p>The page comes soon.")

    @app.get("/health", tags=["LibreTranslate"])
    async def health() -> dict[str, str]:
        """Says that the server answers."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["mt"])
    async def metrics_text(request: Request) -> Response:
        """Gives the counters for Prometheus."""
        key.check(request)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")


def _answer_errors(app: FastAPI) -> None:
    """Makes a sentence of every error that is expected."""

    @app.exception_handler(RequestError)
    async def refuse(request: Request, refusal: RequestError) -> JSONResponse:
        return JSONResponse({"error": str(refusal)}, refusal.status, refusal.headers)

    @app.exception_handler(UserError)
    async def refuse_user(request: Request, error: UserError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(404)
    async def refuse_address(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": "there is nothing at this address: see /docs"}, 404)

    @app.exception_handler(405)
    async def refuse_method(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": "another method is asked for here: see /docs"}, 405, error.headers)
