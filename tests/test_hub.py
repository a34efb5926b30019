"""Uploads to a stand-in for the hub on this machine, and loads from the cache of `huggingface_hub`."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import mt
from mt.cli.arguments import add_run_options, load_translator
from mt.cli.parser import Parser
from mt.decoding.load import push, repository_of, require_name
from mt.errors import UserError
from mt.export.folder import export
from scripts.evaluate import main as evaluate

SOURCE = "two cats see houses"
NOWHERE = "http://localhost:1"
"""An address at which nobody answers."""


class Hub(BaseHTTPRequestHandler):
    """What of the hub's API an upload uses. All files come within the commit; large ones would go elsewhere before."""

    stored: dict[str, bytes]

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/"):
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
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
    monkeypatch.setattr(constants, "ENDPOINT", f"http://localhost:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "right")
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
    monkeypatch.setenv("HF_TOKEN", "wrong")
    with pytest.raises(UserError) as caught:
        push(folder, "me/model")
    sentence = str(caught.value)
    assert sentence.startswith(f"{folder} is complete, but could not be uploaded to {constants.ENDPOINT}/me/model (")
    assert sentence.endswith(f"then run: hf upload me/model {folder}") and "\n" not in sentence and not hub


def test_no_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    with pytest.raises(UserError, match=r"could not be uploaded to .*\(.*Connection refused\): look after"):
        push(folder, "me/model")


@pytest.mark.parametrize("name", ["model", "me/../model", "a/b/c", "me/mo del"])
def test_names_that_no_repository_has(name: str) -> None:
    with pytest.raises(UserError, match=r"is no name of a repository \(.*\): give OWNER/NAME$"):
        require_name(name)
    require_name("me/model-en-de")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of downloads, empty; and a folder to stand in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def downloaded(files: dict[str, bytes], cache: Path) -> Path:
    """Lays files out as a download does: each a link to what is stored under its hash. Returns the snapshot."""
    repository = cache / "models--me--model"
    snapshot = repository / "snapshots" / ("1" * 40)
    for folder in (snapshot, repository / "blobs", repository / "refs"):
        folder.mkdir(parents=True)
    (repository / "refs" / "main").write_text("1" * 40)
    for name, content in files.items():
        blob = repository / "blobs" / hashlib.sha1(content).hexdigest()
        blob.write_bytes(content)
        (snapshot / name).symlink_to(f"../../blobs/{blob.name}")
    return snapshot


def test_what_is_pushed_is_what_is_loaded(
    hub: dict[str, bytes], cache: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(trained, tmp_path / "export", repository="me/model")
    push(tmp_path / "export", "me/model")
    downloaded(hub, cache)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    own = mt.load(trained, device="cpu").translate(SOURCE)
    for name in ("hf://me/model", Path("hf://me/model"), "me/model", Path("me/model")):
        result = mt.load(name, device="cpu").translate(SOURCE)
        assert (result.text, result.score) == (own.text, own.score)
    assert 'load("hf://me/model").translate' in hub["README.md"].decode()


def test_commands_load_what_was_downloaded_where_there_is_no_network(
    cache: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(trained, tmp_path / "export")
    snapshot = downloaded({path.name: path.read_bytes() for path in (tmp_path / "export").iterdir()}, cache)
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    parser = Parser(None)
    add_run_options(parser)
    options = parser.parse_args(["hf://me/model", "--device", "cpu"])
    assert load_translator(options).translate(SOURCE).text == mt.load(trained, device="cpu").translate(SOURCE).text
    assert options.run == snapshot
    with pytest.raises(UserError, match=r"^--checkpoint last chooses among the checkpoints of a run, and"):
        load_translator(parser.parse_args(["me/model", "--checkpoint", "last"]))


def test_evaluations_of_a_repository_are_written_to_the_working_directory(
    cache: Path, trained: Path, corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(trained, tmp_path / "export")
    downloaded({path.name: path.read_bytes() for path in (tmp_path / "export").iterdir()}, cache)
    before = sorted(cache.rglob("*"))
    evaluate(["hf://me/model", "--device", "cpu", "--corpora", str(corpora)])
    assert capsys.readouterr().out.endswith("\n\noutputs/me/model/evaluations/test-best-beam\n")
    assert (tmp_path / "here/outputs/me/model/evaluations/test-best-beam/results.json").is_file()
    assert sorted(cache.rglob("*")) == before


def test_a_repository_that_there_is_not(hub: dict[str, bytes], cache: Path) -> None:
    with pytest.raises(UserError) as caught:
        mt.load("hf://me/none")
    sentence = str(caught.value)
    assert sentence.startswith("the repository me/none cannot be had from the Hugging Face hub (")
    assert "404" in sentence and sentence.endswith("your token (hf auth login)") and "\n" not in sentence


@pytest.mark.parametrize("offline", [True, False])
def test_a_repository_that_was_not_downloaded_without_a_network(
    offline: bool, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    with pytest.raises(UserError, match=r"^the repository me/model cannot be had .*: look after the name"):
        mt.load("hf://me/model")


def test_a_mistyped_path_asks_no_network(hub: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = Hub.do_GET
    monkeypatch.setattr(Hub, "do_GET", lambda self: (asked.append(self.path), answer(self)))
    monkeypatch.setattr(Hub, "do_HEAD", lambda self: (asked.append(self.path), answer(self)), raising=False)
    for path in ("runs/mistyped", "./runs/x", "~/runs", "runs/a/b", "../x", "/x/y"):
        with pytest.raises(UserError):
            mt.load(path)
    with pytest.raises(UserError, match=r"^there is no folder runs/x here, .* or hf://runs/x for one on the Hugging"):
        mt.load("runs/x")
    with pytest.raises(UserError, match=r"is no name of a repository"):
        mt.load("hf://runs")
    assert not asked
    with pytest.raises(UserError):
        mt.load("hf://me/none")
    assert asked


def test_a_path_is_no_name(cache: Path) -> None:
    Path("outputs").mkdir()
    assert repository_of("me/model") == repository_of("hf://me/model") == repository_of("hf:/me/model") == "me/model"
    for path in ("outputs/model", "model", "./model", "../model", "/model", "me/model/last", "me/model/", "a b/c", ""):
        assert repository_of(path) is None
    with pytest.raises(UserError, match=r"^outputs/model is not a run folder"):
        mt.load("outputs/model")
