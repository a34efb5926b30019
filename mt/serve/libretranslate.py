"""LibreTranslate's routes, as its documentation and its server (1.6) have them: JSON or a form, one text or several.

Lines of a text are translated one by one. Languages are not detected: `auto` is the only source language that there is
for a target.
"""

from collections.abc import Sequence
from email import message_from_bytes
from typing import Any, Literal
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from pydantic import Field

from mt.decoding.translation import Translation
from mt.errors import shown
from mt.metrics.languages import english_name
from mt.serve.bodies import Foreign, Key, body_of, parsed
from mt.serve.limits import Limits, RequestError
from mt.serve.runs import Runs, ServedRun

AUTO = "auto"


class TranslateBody(Foreign):
    """What is to be translated."""

    q: str | list[str]
    source: str
    target: str
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=1000)
    api_key: str | None = None


def router(runs: Runs, key: Key, limits: Limits) -> APIRouter:
    """Returns the routes."""
    routes = APIRouter(tags=["LibreTranslate"])
    pairs = [(run.source, run.target) for run in runs.all if run.source is not None]

    @routes.post("/translate", openapi_extra=body_of(TranslateBody))
    async def translate(request: Request) -> dict[str, Any]:
        """Translates a text or several."""
        asked = await _body(request)
        key.check(request, asked.api_key, status=403)
        if not asked.q:
            raise RequestError(400, "q is empty: give a text to translate")
        run = run_for(runs, asked.source, asked.target)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        best, others = await _translated(run, texts, asked)
        # One text has one answer, a list of texts a list of them.
        answer: dict[str, Any] = {"translatedText": best if isinstance(asked.q, list) else best[0]}
        if asked.source == AUTO:
            detected = {"language": run.source, "confidence": 0.0}
            answer["detectedLanguage"] = [detected for _ in texts] if isinstance(asked.q, list) else detected
        if asked.alternatives:
            answer["alternatives"] = others if isinstance(asked.q, list) else others[0]
        return answer

    @routes.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """Lists the languages of the runs, and into which each can be translated."""
        codes = dict.fromkeys(code for pair in pairs for code in pair)
        return [
            _language(code) | {"targets": list(dict.fromkeys(target for source, target in pairs if source == code))}
            for code in codes
        ]

    @routes.get("/frontend/settings")
    async def settings() -> dict[str, Any]:
        """Says what a page may send."""
        return {
            "charLimit": limits.characters,
            "frontendTimeout": 500,
            **dict.fromkeys(("apiKeys", "keyRequired"), key.required),
            **dict.fromkeys(("suggestions", "filesTranslation"), False),
            "supportedFilesFormat": [],
            "language": {side: _language(pairs[0][place]) for place, side in enumerate(("source", "target")) if pairs},
        }

    return routes


def _language(code: str) -> dict[str, Any]:
    return {"code": code, "name": english_name(code)}


async def _body(request: Request) -> TranslateBody:
    kind = request.headers.get("content-type", "")
    body = await request.body()
    if kind.startswith("application/x-www-form-urlencoded"):
        return parsed(dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=20)), TranslateBody)
    if kind.startswith("multipart/form-data"):
        message = message_from_bytes(b"Content-Type: " + kind.encode("latin-1", "replace") + b"\r\n\r\n" + body)
        parts = [part for part in message.walk() if not part.is_multipart()]
        fields = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        plain = {str(name): text.decode("utf-8", "replace") for name, text in fields.items() if isinstance(text, bytes)}
        return parsed(plain, TranslateBody)
    return parsed(body, TranslateBody)


def run_for(runs: Runs, source: str, target: str) -> ServedRun:
    """Returns the first run from one language into another. Raises RequestError where there is none, or several may be
    meant by `auto`."""
    into = [run for run in runs.all if run.source is not None and run.target == target]
    fitting = [run for run in into if source in (run.source, AUTO)]
    if not fitting:
        pairs = ", ".join(f"{run.source} into {run.target}" for run in runs.all if run.source is not None)
        raise RequestError(
            400, f"{shown(source)} into {shown(target)} is not translated here: choose {pairs or 'nothing'}"
        )
    if source == AUTO and len({run.source for run in fitting}) > 1:
        codes = ", ".join(sorted({str(run.source) for run in fitting}))
        raise RequestError(400, f"the language of a text is not detected here: give source, one of {codes}")
    return fitting[0]


async def _translated(run: ServedRun, texts: Sequence[str], asked: TranslateBody) -> tuple[list[str], list[list[str]]]:
    """Returns the translation of each text, and alternatives to it, which differ from it and from one another."""
    search = run.search(n_best=asked.alternatives + 1 if asked.alternatives else None)
    if asked.format == "html":
        return [await run.document(text, search, asked.format) for text in texts], [[] for _ in texts]
    lines = [text.splitlines() or [""] for text in map(run.require_text, texts)]
    # All lines at once, which are then put together again.
    flat = [line for of_text in lines for line in of_text]
    translations = await run.translate(flat, search)
    begin = 0
    best: list[str] = []
    others: list[list[str]] = []
    for of_text in lines:
        part = translations[begin : begin + len(of_text)]
        begin += len(of_text)
        wholes = _wholes(part, asked.alternatives + 1)
        best.append(wholes[0])
        others.append([whole for whole in wholes[1:] if whole != wholes[0]])
    return best, others


def _wholes(lines: Sequence[Sequence[Translation]], count: int) -> list[str]:
    """Returns up to `count` different translations of a text, of its lines' hypotheses of the same rank."""
    ranks = range(min(count, max(len(line) for line in lines)))
    return list(dict.fromkeys("\n".join(line[min(rank, len(line) - 1)].text for line in lines) for rank in ranks))
