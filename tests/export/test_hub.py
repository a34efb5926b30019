"""Uploads, to a stand-in for the hub on this machine."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.hf_api import HfApi

from mt.errors import UserError
from mt.export.hub import push, require_name


class Hub(BaseHTTPRequestHandler):
    """What of the hub's API an upload uses. All files come within the commit; large ones would go elsewhere before."""

    stored: dict[str, bytes]

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = self._body()
        answer: dict[str, Any] = {}
        if self.headers.get("Authorization") == "Bearer wrong":
            self._answer({"error": "Invalid credentials in Authorization header"}, 401)
            return
        if self.path == "/api/repos/create":
            answer = {"url": f"http://{self.headers['Host']}/me/model", "name": "me/model"}
        elif "/preupload/" in self.path:
            names = [file["path"] for file in json.loads(body)["files"]]
            answer = {"files": [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]}
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.stored[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            answer = {"commitUrl": f"http://{self.headers['Host']}/me/model/commit/1", "commitOid": "1" * 40}
        self._answer(answer)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)

    def _answer(self, value: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """The files that the stand-in was given."""
    stored: dict[str, bytes] = {}
    server = ThreadingHTTPServer(("localhost", 0), type("Handler", (Hub,), {"stored": stored}))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    address = f"http://localhost:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: HfApi(endpoint=address, token="right"))
    yield stored
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "export").mkdir()
    for name, text in (("README.md", "# Card\n"), ("config.json", "{}"), ("model.safetensors", "\0" * 3)):
        (tmp_path / "export" / name).write_text(text)
    return tmp_path / "export"


def test_every_file_is_uploaded(hub: dict[str, bytes], folder: Path) -> None:
    assert push(folder, "me/model").endswith("/me/model")
    assert hub == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_refusal_says_what_to_do(hub: dict[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = huggingface_hub.HfApi().endpoint
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: HfApi(endpoint=address, token="wrong"))
    with pytest.raises(UserError) as caught:
        push(folder, "me/model")
    sentence = str(caught.value)
    assert sentence.startswith(f"{folder} is complete, but could not be uploaded to {address}/me/model (")
    assert sentence.endswith(f"then run: hf upload me/model {folder}") and "\n" not in sentence and not hub


def test_no_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*arguments: Any, **options: Any) -> None:
        raise ConnectionError("[Errno 111] Connection refused")

    monkeypatch.setattr(HfApi, "create_repo", unreachable)
    with pytest.raises(UserError, match=r"could not be uploaded to .*\(\[Errno 111\] Connection refused\): look after"):
        push(folder, "me/model")


@pytest.mark.parametrize("name", ["model", "me/../model", "a/b/c", "me/mo del"])
def test_names_that_no_repository_has(name: str) -> None:
    with pytest.raises(UserError, match=r"is no name of a repository \(.*\): give OWNER/NAME$"):
        require_name(name)
    require_name("me/model-en-de")
