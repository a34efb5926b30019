"""What all routes have in common: pages, the key, origins and hosts, bounds, headers, counters, the log."""

import base64
import contextlib
import json
import logging
import re
import socket
import time

import pytest

from mt import Translator
from mt.cli.serve import require_key
from mt.serve.guard import require_origin
from mt.serve.limits import Limits
from mt.serve.server import listen
from tests.refusals.sentences import require_refusal
from tests.serve.clients import Client


def test_every_answer_has_the_headers_that_keep_a_browser_safe(client: Client):
    for path in ("/", "/docs", "/health", "/api/runs", "/nowhere", "/metrics"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_pages_ask_for_nothing_elsewhere_and_name_every_route(client: Client):
    for path in ("/", "/docs"):
        answer = client.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert re.findall(rb"(?:src|href)=[\"']?(?:https?:)?//", answer.body) == []
    paths = client.get("/openapi.json").json["paths"]
    assert {"/translate", "/api/translate", "/metrics"} <= paths.keys()
    assert all(f" {path}</code>".encode() in answer.body for path in paths)


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/translate", 405)])
def test_an_address_and_a_method_that_there_are_not(client: Client, path: str, status: int):
    answer = client.get(path)
    assert (answer.status, answer.json["error"][-11:]) == (status, ": see /docs")


def test_a_body_is_bounded_whether_it_says_its_length_or_not(serving, translator: Translator):
    with serving({"tiny": translator}, Limits(body=2048)) as client:
        body = json.dumps({"text": "a" * 3000}).encode()
        assert client.ask("POST", "/api/translate", body).status == 413
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        assert client.ask("POST", "/translate", 20_000 * b"a").status == 413
        assert b" 413 " in raw(
            client, chunked + b"800\r\n" + b"a" * 2048 + b"\r\n800\r\n" + b"a" * 2048 + b"\r\n0\r\n\r\n"
        )
        assert client.post("/api/translate", {"text": "two"}).status == 200


def raw(client: Client, data: bytes, seconds: float = 10.0) -> bytes:
    """Sends bytes, and returns what comes until the server closes."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=seconds) as connection:
        connection.sendall(data)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
        return answer


def test_what_is_slow_or_no_http_is_answered_and_closed(serving, translator: Translator):
    with serving({"tiny": translator}, Limits(patience=0.3)) as client:
        for head in (b"POST /translate HTTP/1.1", b"POST /nowhere HTTP/1.1", b"POST /health HTTP/1.1"):
            answer = raw(client, head + b"\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            assert (b" 408 " in answer) is (b"translate" in head)
        for strange in (b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9\r\n\r\n", b"x" * 100_000):
            assert raw(client, strange).startswith(b"HTTP/1.1 400 ")


def test_what_a_client_has_given_up_is_not_translated(serving, translator: Translator):
    with serving({"tiny": translator}, Limits(window=150)) as client:
        body = json.dumps({"text": "two cats"}).encode()
        head = f"POST /api/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(head + body)
            time.sleep(0.05)
        time.sleep(0.3)
        metrics = client.get("/metrics").body.decode()
        assert 'mt_batch_size_count{run="tiny"} 1.0' in metrics  # the word that warms it up
        assert re.search(r'mt_request_seconds_count\{route="/api/translate",status="499"\} 1', metrics)


def test_answers_are_sent_at_once() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_more_connections_than_the_server_takes_are_told_so(serving, translator: Translator):
    with serving({"tiny": translator}, Limits(connections=2)) as client, contextlib.ExitStack() as stack:
        stack.enter_context(socket.create_connection(("127.0.0.1", client.port))).sendall(b"POST /translate")
        assert client.get("/health").status == 503
        stack.close()
        until = time.monotonic() + 5
        while (answer := client.get("/health")).status != 200 and time.monotonic() < until:
            time.sleep(0.01)
        assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/translate", {"text": "two"}, 401),
        ("/api/align", {"text": "two", "target": "zwei"}, 401),
        ("/translate", {"q": "two", "source": "en", "target": "de"}, 403),
    ],
)
def test_a_key_is_asked_for(serving, translator: Translator, path: str, body, status: int):
    with serving({"tiny": translator}, key="sésame") as client:
        key = {"authorization": "Bearer sésame".encode()}
        assert client.post(path, body).status == status
        assert client.post(path, body, {"authorization": "Bearer other"}).status == status
        assert client.post(path, body, key).status in (200, 400)  # type: ignore[arg-type]
        assert client.get("/metrics").status == 401
        assert client.get("/health").status == 200
        if path == "/translate":
            assert client.post(path, body | {"api_key": "sésame"}).status == 200
            assert client.post(path, body | {"api_key": "sesame"}).status == 403


def test_pages_of_other_origins_are_refused_unless_named(serving, translator: Translator):
    with serving({"tiny": translator}, origins=["https://friend.example"]) as client:
        for origin, status in (
            ("https://evil.example", 403),
            ("null", 403),
            ("http://[", 403),
            ("://", 403),
            ("\x80", 403),
            (f"http://localhost:{client.port}.evil.example", 403),
            (f"http://localhost:{client.port}", 200),
            ("https://friend.example", 200),
        ):
            answer = client.post("/api/translate", {"text": "two"}, {"origin": origin})
            assert answer.status == status, origin
            allowed = answer.headers.get("access-control-allow-origin")
            assert allowed == ("https://friend.example" if "friend" in origin else None)


WRITTEN = {
    "https://example.org/": "https://example.org",
    "https://Example.org": "https://example.org",
    "HTTP://example.org:80/page": "http://example.org",
    "https://example.org:443": "https://example.org",
    "https://user@example.org:8443": "https://example.org:8443",
    "http://bücher.example": "http://xn--bcher-kva.example",
    "https://[::1]:99/": "https://[::1]:99",
}
NONE = ["", "*", "null", "example.org", "https://*.example.org", "http://[", "http://a:b", "http://a b"]


@pytest.mark.parametrize("origin", [*WRITTEN, *NONE])
def test_an_origin_that_no_browser_writes_is_refused(origin: str):
    sentence = "is no origin of pages, and would never match: write it as"
    if written := WRITTEN.get(origin):
        assert require_origin(written) == written
        sentence = f"since browsers write {re.escape(written)}: write it so"
    require_refusal(lambda: require_origin(origin), "--origin ", sentence)


@pytest.mark.parametrize("key", ["", " ", "a ", "a\n", "\x00"])
def test_a_key_that_nobody_can_send_is_refused(key: str):
    sentence = "MT_SERVE_KEY is set, and is no key that a client could send: give it one of"
    require_refusal(lambda: require_key(key), sentence)
    assert (require_key("sésame"), require_key(None)) == ("sésame", None)


def test_a_server_of_this_machine_answers_to_its_names_alone(client: Client):
    """A page elsewhere, whose name was made to point here, is of its own origin."""
    assert client.get("/health", {"host": f"evil.example:{client.port}"}).status == 403
    for host in (f"localhost:{client.port}", "127.0.0.1", "[::1]:80"):
        assert client.get("/health", {"host": host}).status == 200


def test_no_text_is_logged_or_counted(client: Client, caplog: pytest.LogCaptureFixture):
    secret = "sEcReT"
    with caplog.at_level(logging.DEBUG, logger="mt.serve"):
        client.post("/api/translate", {"text": secret, "search": {secret: 1}})
        client.post("/translate", {"q": secret, "source": secret, "target": "de"})
        client.post("/translate", {"q": secret, "source": "en", "target": "de"})
        client.post("/api/align", {"text": secret, "target": secret})
        client.get(f"/{secret}?q={secret}")
        client.ask("POST", "/api/translate", base64.b64encode(secret.encode()))
        client.ask(secret.upper(), "/translate")
        until = time.monotonic() + 5
        last = re.compile(r"- /translate 405 \d+ ms")
        # A line comes after its answer, and those of earlier tests may come as late.
        while not any(last.fullmatch(line) for line in caplog.messages) and time.monotonic() < until:
            time.sleep(0.01)
    lines = caplog.messages
    assert len(lines) >= 7
    assert secret.lower() not in " ".join(lines).lower()
    assert any(re.fullmatch(r"GET none 404 \d+ ms", line) for line in lines)
    metrics = client.get("/metrics").body.decode()
    assert secret.lower() not in metrics.lower()
    assert re.search(r'mt_request_seconds_count\{route="/translate",status="200"\} [1-9]', metrics)
    assert re.search(r'mt_target_tokens_total\{run="tiny"\} [1-9]', metrics)
