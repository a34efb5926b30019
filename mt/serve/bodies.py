"""The bodies of requests: their types, how they are read within bounds, and one sentence of what is wrong with one.

A body is read when the route asks for it, which is after the key was checked. The values in it are counted before it is
validated, since a validator takes long to find something wrong with each of a million.
"""

import asyncio
import hmac
import math
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException

from mt.common.options import Options, first_fault, parse
from mt.data.glossary import Glossary
from mt.decoding.request import LexicalConstraints
from mt.errors import UserError, shown
from mt.serve.limits import Limits, RequestError

Model = TypeVar("Model", bound=BaseModel)
_OBJECT = TypeAdapter(dict[str, Any])


class Term(Options):
    """How a term is translated: in one of several forms."""

    source: str
    target: str | tuple[str, ...]

    @property
    def targets(self) -> list[str]:
        return [self.target] if isinstance(self.target, str) else [*self.target]


class Wishes(LexicalConstraints):
    """The constraints on a translation: phrases, a prefix and terms."""

    glossary: tuple[Term, ...] = ()
    """Terms, each written where the attention reads its source."""

    @property
    def terms(self) -> Glossary | None:
        """The glossary; None where it is empty. Raises UserError for a blank term."""
        return Glossary((term.source, term.targets, "glossary") for term in self.glossary) if self.glossary else None

    def require_bounded(self, limits: Limits) -> None:
        """Raises RequestError where they ask for more than this server does."""
        # All forms of phrases and terms count, as any of them may be searched for.
        forms = [(phrase,) if isinstance(phrase, str) else phrase.any_of for phrase in self.constraints]
        phrases = [*self.avoid, *chain.from_iterable(forms)]
        targets = [target for term in self.glossary for target in term.targets]
        limits.require("phrases", len(phrases), "phrases that must appear or must not", "ask for fewer")
        # A term may have no target at all, so that terms are counted as well.
        limits.require("terms", max(len(targets), len(self.glossary)), "terms of a glossary", "send those of the text")
        longest = max(map(len, [*phrases, *targets, *(term.source for term in self.glossary)]), default=0)
        limits.require("phrase", longest, "characters of a phrase or a term", "ask for a part of it")
        limits.require("prefix", len(self.prefix), "characters of a prefix", "give a shorter one")


NO_WISHES = Wishes()


async def parsed_body(request: Request, model: type[Model], limits: Limits) -> Model:
    """Reads a body of JSON. Raises RequestError where it is too large or too late, or not what a model says."""
    return validated(decoded(await body_bytes(request, limits), limits), model)


async def body_bytes(request: Request, limits: Limits) -> bytes:
    """Reads a body. Raises RequestError where it is compressed or comes too late; `Guard` bounds its size."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RequestError(415, "the request is compressed: send it as it is, without Content-Encoding")
    try:
        # A client that sends a byte now and then would otherwise hold a connection for ever.
        async with asyncio.timeout(limits.patience):
            return await request.body()
    except TimeoutError:
        sentence = f"the request did not come within {limits.patience:g} seconds: send it faster"
        raise RequestError(408, sentence) from None


async def form_fields(request: Request, kind: str, limits: Limits) -> dict[str, Any]:
    """Reads the fields of a form. Those in the address come first, and of several with one name the first counts.

    kind: the value of Content-Type. Raises RequestError where the body is no form, or has too many fields.
    """
    body = await body_bytes(request, limits)
    fields: Sequence[tuple[str, Any]]
    try:
        if kind.lower().startswith("multipart/form-data"):
            # Other character sets are other decoders of Python, some of which take time by the square of a text.
            if "charset" in kind.lower().replace("charset=utf-8", ""):
                raise ValueError("its characters are not in UTF-8")
            form = await request.form(max_files=0, max_fields=limits.fields, max_part_size=limits.body)
            fields = form.multi_items()
        else:
            fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=limits.fields)
    except (ValueError, HTTPException) as error:
        reason = error.detail if isinstance(error, HTTPException) else error
        raise RequestError(400, f"the form cannot be read ({shown(str(reason))}): send its fields as JSON") from None
    # Of fields with one name the first counts.
    first: dict[str, Any] = {}
    for name, value in (*request.query_params.multi_items(), *fields):
        first.setdefault(name, value)
    return first


def decoded(body: bytes, limits: Limits) -> dict[str, Any]:
    """Returns an object of JSON as a dict. Raises RequestError where it is none, or has too many values."""
    try:
        plain = _OBJECT.validate_json(body)
    except ValidationError as error:
        reason = first_fault(error)
        raise RequestError(400, f"the request cannot be read ({shown(reason)}): send an object of JSON") from None
    _require_plain(plain, limits)
    return plain


def validated(plain: dict[str, Any], model: type[Model]) -> Model:
    """Returns plain data as a model. Raises RequestError where they are not what it says."""
    try:
        return parse(plain, model, "the request")
    except UserError as error:
        raise RequestError(400, str(error)) from None


def _require_plain(plain: Any, limits: Limits) -> None:
    """Raises RequestError where a value of JSON has too many values in it, or an infinite one."""
    # A list of what is still to be looked at, since a recursion could go too deep.
    waiting = [plain]
    count = 1
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | dict):
            count += len(value)
            if count > limits.values:
                raise RequestError(422, f"the request has more than this server's {limits.values} values: send less")
            waiting += value.values() if isinstance(value, dict) else value
        # As 1e999 and NaN are read.
        elif isinstance(value, float) and not math.isfinite(value):
            raise RequestError(400, "the request has a number beyond all bounds: give a smaller one")


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the entry of the OpenAPI page for a route that takes such a body."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    # The parts that the schema refers to stand among the components of the page.
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class Key:
    """The key that clients have to know, if any."""

    def __init__(self, key: str | None) -> None:
        self.required = key is not None
        self._key = None if key is None else key.encode()

    def known(self, request: Request) -> bool:
        """Returns whether no key is asked for, or a request has it in its header, as `Authorization: Bearer KEY`."""
        # The name of the scheme is in any case; headers arrive as Latin-1.
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self._key is None or (scheme.lower() == "bearer" and self._is(token.encode("latin-1")))

    def check(self, request: Request) -> None:
        """Raises RequestError where the header of a request has no key, or another."""
        if not self.known(request):
            raise self._refusal(401)

    def check_stated(self, stated: Any, status: int) -> None:
        """Raises RequestError, with this status, where the key that a body or an address states is wrong."""
        if self._key is not None and not (isinstance(stated, str) and self._is(stated.encode())):
            raise self._refusal(status)

    def _is(self, shown: bytes) -> bool:
        """Returns whether this is the key, in constant time."""
        # A comparison that ends at the first difference would tell how much of a guess is right.
        return self._key is not None and hmac.compare_digest(shown, self._key)

    def _refusal(self, status: int) -> RequestError:
        sentence = "this server asks for a key: send it as Authorization: Bearer KEY"
        return RequestError(status, sentence, {"WWW-Authenticate": "Bearer"} if status == 401 else {})
