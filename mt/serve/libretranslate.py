"""LibreTranslate's routes, as its documentation and its server (1.6) have them: JSON or a form, one text or several.

Sentences of a text are translated one by one, and the white space around them stays as it came; the end of a line ends
one, too. Languages are not detected: `auto` is the only source language that there is for a target.
"""

from asyncio import to_thread
from collections.abc import Sequence
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from mt.decoding.translation import Translation
from mt.errors import shown
from mt.markup.sentences import gap_between, sentences_of_lines
from mt.metrics.languages import english_name
from mt.serve.bodies import Key, body_bytes, body_of, decoded, form_fields, validated
from mt.serve.limits import Limits, RequestError
from mt.serve.runs import Runs, ServedRun

AUTO = "auto"
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class TranslateBody(BaseModel, frozen=True):
    """A request for translation. Unknown fields are ignored."""

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
        asked = await _asked(request, key, limits)
        if not asked.q:
            raise RequestError(400, "q is empty: give a text to translate")
        run = run_for(runs, asked.source, asked.target)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        best, others = await _translated(run, texts, asked)
        # One text has one answer, a list of texts a list of them.
        answer: dict[str, Any] = {"translatedText": best if isinstance(asked.q, list) else best[0]}
        if asked.source == AUTO:
            # No confidence, since nothing was detected: it is the only language that there is.
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
            # In milliseconds.
            "frontendTimeout": 500,
            **dict.fromkeys(("apiKeys", "keyRequired"), key.required),
            **dict.fromkeys(("suggestions", "filesTranslation"), False),
            "supportedFilesFormat": [],
            "language": {side: _language(pairs[0][place]) for place, side in enumerate(("source", "target")) if pairs},
        }

    return routes


def _language(code: str) -> dict[str, Any]:
    return {"code": code, "name": english_name(code)}


async def _asked(request: Request, key: Key, limits: Limits) -> TranslateBody:
    """Reads a request from JSON, a form or the query of the address. Raises RequestError where it cannot be read or
    lacks a field, and before that where its key is wrong."""
    # A form, fields of the address, or JSON.
    kind = request.headers.get("content-type", "")
    is_form = kind.lower().startswith(_FORMS)
    if is_form or "q" in request.query_params:
        plain = await form_fields(request, kind, limits)
        if isinstance(plain.get("q"), str):
            plain["q"] = plain["q"].replace("\r\n", "\n")  # as a browser writes the ends of lines in a form
    else:
        plain = decoded(await body_bytes(request, limits), limits)
    # A header with the key is enough; else the body has it.
    if not key.known(request):
        key.check_stated(plain.get("api_key"), status=403)
    # What is null, or empty in a form, is not asked for.
    plain = {name: value for name, value in plain.items() if name == "q" or value not in (None, "")}
    asked = validated(plain, TranslateBody)
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    limits.require("texts", len(texts), "texts in a request", "send several requests")
    return asked


def run_for(runs: Runs, source: str, target: str) -> ServedRun:
    """Returns the first run from one language into another. Raises RequestError where there is none, or where
    `auto` may mean several languages."""
    into = [run for run in runs.all if run.source is not None and run.target == target]
    fitting = [run for run in into if source in (run.source, AUTO)]
    if not fitting:
        # Several runs may have the same languages.
        pairs = dict.fromkeys(f"{run.source} into {run.target}" for run in runs.all if run.source is not None)
        raise RequestError(
            400, f"{shown(source)} into {shown(target)} is not translated here: choose {', '.join(pairs) or 'nothing'}"
        )
    # `auto` is enough where all of them read one language.
    if source == AUTO and len({run.source for run in fitting}) > 1:
        codes = ", ".join(sorted({str(run.source) for run in fitting}))
        raise RequestError(400, f"the language of a text is not detected here: give source, one of {codes}")
    return fitting[0]


async def _translated(run: ServedRun, texts: Sequence[str], asked: TranslateBody) -> tuple[list[str], list[list[str]]]:
    """Returns the translation of each text, and alternatives to it, which differ from it and from one another."""
    search = run.search(n_best=asked.alternatives + 1 if asked.alternatives else None)
    if asked.format == "html":
        return await run.documents(texts, search), [[] for _ in texts]
    # All sentences of all texts are translated at once, and then put together again.
    cut = [await to_thread(sentences_of_lines, run.require_text(text), run.source) for text in texts]
    translations = iter(await run.translate([part.strip() for parts in cut for part in parts if part.strip()], search))
    best: list[str] = []
    others: list[list[str]] = []
    for parts in cut:
        hypotheses = [next(translations) if part.strip() else [] for part in parts]
        first, *rest = _wholes(parts, hypotheses, asked.alternatives + 1)
        best.append(first)
        others.append(rest)
    return best, others


def _wholes(parts: Sequence[str], hypotheses: Sequence[Sequence[Translation]], count: int) -> list[str]:
    """Returns up to `count` different translations of a text. Each joins the hypotheses of one rank of its sentences.

    parts: the sentences with the white space around them. hypotheses: those of each part; a blank part has none.
    """
    # Rank by rank: a sentence with fewer hypotheses repeats its last one.
    wholes = []
    # Where all parts are blank, there is one whole, of their white space.
    for rank in range(min(count, max(map(len, hypotheses), default=1) or 1)):
        whole = ""
        for place, (part, found) in enumerate(zip(parts, hypotheses, strict=True), start=1):
            text = part.strip()
            # The text is in its part once, so these are what stands before and behind it.
            lead, gap = part.split(text) if text else (part, "")
            translated = found[min(rank, len(found) - 1)].text if found else ""
            whole += lead + translated + (gap_between(text, gap, translated) if place < len(parts) else gap)
        wholes.append(whole)
    # Different hypotheses may write the same text.
    return list(dict.fromkeys(wholes))
