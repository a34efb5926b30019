"""A client that speaks plain HTTP to a server of the tests."""

import contextlib
import json
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks one server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Answer:
        connection = HTTPConnection("localhost", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def get(self, path: str, headers: Mapping[str, str] = {}) -> Answer:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, plain: Any, headers: Mapping[str, str] = {}) -> Answer:
        return self.ask("POST", path, json.dumps(plain).encode(), {"content-type": "application/json", **headers})
