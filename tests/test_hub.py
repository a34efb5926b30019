"""Exported folders on the hub, of which there is a stand-in on this machine, and in the cache of `huggingface_hub`."""

import hashlib
import io
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import mt
from mt.cli.decode import evaluate, translate
from mt.decoding.load import repository_of
from mt.export.folder import export
from tests.refusals.sentences import refusal_of, require_refusal

SOURCE = "two cats see houses"
NOWHERE = "http://localhost:1"
"""An address at which nobody answers."""


class Hub(BaseHTTPRequestHandler):
    """A hub that has no repository."""

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/"):
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("localhost", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://localhost:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "right")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of downloads, empty; and a folder to stand in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def snapshot(cache: Path, trained: Path, tmp_path: Path) -> Path:
    """An exported run as a download lays it out: each file a link to what is stored under its hash."""
    export(trained, tmp_path / "export")
    repository = cache / "models--me--model"
    snapshot = repository / "snapshots" / ("1" * 40)
    for folder in (snapshot, repository / "blobs", repository / "refs"):
        folder.mkdir(parents=True)
    (repository / "refs" / "main").write_text("1" * 40)
    for path in (tmp_path / "export").iterdir():
        content = path.read_bytes()
        blob = repository / "blobs" / hashlib.sha1(content).hexdigest()
        blob.write_bytes(content)
        (snapshot / path.name).symlink_to(f"../../blobs/{blob.name}")
    return snapshot


@pytest.mark.usefixtures("snapshot")
def test_what_was_downloaded_is_loaded(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    own = mt.load(trained, device="cpu").translate(SOURCE)
    for name in ("hf://me/model", Path("hf://me/model"), "me/model", Path("me/model")):
        result = mt.load(name, device="cpu").translate(SOURCE)
        assert (result.text, result.score) == (own.text, own.score)


@pytest.mark.usefixtures("snapshot")
def test_the_last_of_several_runs_may_be_a_repository(trained: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SOURCE.encode())))
    translate([str(trained), "hf://me/model", "--device", "cpu"])
    assert capsys.readouterr().out == f"{mt.load([trained, trained], device='cpu').translate(SOURCE).text}\n"


@pytest.mark.usefixtures("snapshot")
def test_evaluations_of_a_repository_are_written_to_the_working_directory(cache, corpora, tmp_path, capsys):
    before = sorted(cache.rglob("*"))
    evaluate(["hf://me/model", "--device", "cpu", "--corpora", str(corpora)])
    assert capsys.readouterr().out.endswith("\n\noutputs/me/model/evaluations/test-best-beam\n")
    assert (tmp_path / "here/outputs/me/model/evaluations/test-best-beam/results.json").is_file()
    assert sorted(cache.rglob("*")) == before


@pytest.mark.usefixtures("hub")
def test_a_repository_that_there_is_not(cache: Path) -> None:
    facts = r"^the repository me/none cannot be had from the Hugging Face hub \(.*404.*your token \(hf auth login\)$"
    require_refusal(lambda: mt.load("hf://me/none"), facts)


@pytest.mark.parametrize("offline", [True, False])
def test_a_repository_that_was_not_downloaded_without_a_network(offline, cache, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(constants, "ENDPOINT", NOWHERE)
    require_refusal(lambda: mt.load("hf://me/model"), r"^the repository me/model cannot be had .*: look after the name")


@pytest.mark.usefixtures("hub")
def test_a_mistyped_path_asks_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = Hub.do_GET
    monkeypatch.setattr(Hub, "do_GET", lambda self: (asked.append(self.path), answer(self)))
    monkeypatch.setattr(Hub, "do_HEAD", lambda self: (asked.append(self.path), answer(self)), raising=False)
    for path in ("runs/mistyped", "./runs/x", "~/runs", "runs/a/b", "../x", "/x/y", "hf://runs"):
        refusal_of(partial(mt.load, path))
    require_refusal(
        lambda: mt.load("runs/x"), "^there is no folder runs/x here, .* or hf://runs/x for one on the Hugging"
    )
    assert not asked
    refusal_of(lambda: mt.load("hf://me/none"))
    assert asked


def test_a_path_is_no_name(cache: Path) -> None:
    Path("outputs").mkdir()
    assert repository_of("me/model") == repository_of("hf://me/model") == repository_of("hf:/me/model") == "me/model"
    for path in ("outputs/model", "model", "./model", "../model", "/model", "me/model/last", "me/model/", "a b/c", ""):
        assert repository_of(path) is None
    for name in ("model", "me/../model", "a/b/c", "me/mo del"):
        require_refusal(partial(repository_of, f"hf://{name}"), r"is no name of a repository \(.*\): give OWNER/NAME$")
    require_refusal(lambda: mt.load("outputs/model"), r"^outputs/model is not a run folder")
