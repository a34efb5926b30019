"""The bodies of requests: their types, and one sentence of what is wrong with one."""

import hmac
from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel

from mt.common.options import Options, parse, parse_json
from mt.decoding.lexical import LexicalConstraints
from mt.errors import UserError
from mt.serve.limits import RequestError

Model = TypeVar("Model", bound=BaseModel)


class Foreign(BaseModel, frozen=True):
    """A body of somebody else's protocol, in which fields that are not known here are passed over."""


class Term(Options):
    """How a term is translated: in one of several forms."""

    source: str
    target: str | tuple[str, ...]


class Wishes(LexicalConstraints):
    """What is asked of a translation, beside its search."""

    glossary: tuple[Term, ...] = ()
    """Terms, each written where the attention reads its source."""

    @property
    def terms(self) -> dict[str, list[str]]:
        return {
            term.source: [term.target] if isinstance(term.target, str) else [*term.target] for term in self.glossary
        }


NO_WISHES = Wishes()


def parsed(body: bytes | Mapping[str, Any], model: type[Model]) -> Model:
    """Returns the body of a request, which is JSON or the fields of a form. Raises RequestError where it is not what a
    model says."""
    try:
        return (parse_json if isinstance(body, bytes) else parse)(body, model, "the request")  # type: ignore[arg-type]
    except UserError as error:
        raise RequestError(400, str(error)) from None


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Returns what the OpenAPI page says of a route that takes such a body."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class Key:
    """The key that clients have to know, if any."""

    def __init__(self, key: str | None) -> None:
        self._key = None if key is None else key.encode()

    @property
    def required(self) -> bool:
        return self._key is not None

    def check(self, request: Request | None, stated: str | None = None, status: int = 401) -> None:
        """Raises RequestError where a client does not know the key, which is compared in constant time.

        request: has it in its header, as `Authorization: Bearer KEY`. stated: the key that the body of a request has.
        """
        if self._key is None:
            return
        scheme, _, token = (request.headers.get("authorization", "") if request else "").partition(" ")
        shown = token.encode("latin-1") if scheme.lower() == "bearer" else b""  # the bytes of the header
        if stated is not None:
            shown = stated.encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(shown, self._key):
            raise RequestError(
                status,
                "this server asks for a key: send it as Authorization: Bearer KEY",
                {"WWW-Authenticate": "Bearer"} if status == 401 else {},
            )
