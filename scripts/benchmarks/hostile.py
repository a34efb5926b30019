"""A campaign of hostile requests against `mt serve`: every answer has a right status, nothing leaks, and
meanwhile the server answers others.

    python scripts/benchmark.py hostile --run RUN [--requests 10000] [--streams 1000] [--slow 512]

The kinds are those of public reports on other servers. Numbers have many digits (CVE-2020-10735), or nest deeply
(CVE-2024-27454). Forms have empty parts (CVE-2023-25577) or no bound (CVE-2024-47874), and options of Content-Type that
take for ever (CVE-2024-24762). Chunks have no end, and beams and lengths no bound. Slow clients
send a byte every second, of a head, of a body or of a frame. Streams are dropped at every stage. Prints how many
answers had which status, how long /health took, and how long the server took to end while it computed. Memory, open
files and threads are those after a tenth of each kind, and at its end.
"""

import contextlib
import json
import logging
import random
import re
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.harness import add_number, option_parser, percentiles
from benchmarks.serve import own_server
from websockets.sync.client import connect

from mt.errors import UserError

CLIENTS = 32
REFUSED = frozenset({400, 403, 404, 405, 408, 413, 415, 422, 503, 504})
HOST = b"Host: localhost\r\n"
LAST = b"Connection: close\r\n"
UPGRADE = (
    b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
VALUES: list[Any] = [None, True, -1, 1e308, 10**400, "", "a", "\ud800", "\U0010ffff", "\ufffe\x00", "x" * 6000]
VALUES += [[], {}, [[]], [None], {"a": {}}, [[0, 99999999]], ["a"] * 100, [{"source": "a " * 5000, "target": "b"}]]
VALUES += [{"name": []}, {"name": {}}, {"name": "sample"}, {"name": "wait_k"}, {"name": "retranslate"}]
VALUES += [{"name": "beam", "beam_size": size, "max_length": 100_000} for size in (50, 1_000_000)]
FIELDS = [
    "text",
    "search",
    "n_best",
    "constraints",
    "avoid",
    "prefix",
    "glossary",
    "prefix_ids",
    "force",
    "tree",
    "top",
]
FIELDS += ["format", "run", "q", "source", "target", "alternatives", "gold", "hard", "audio"]
BODIES = [
    b"[" * 100_000,
    b'{"text":' * 50_000,
    b'{"top": ' + b"9" * 1_000_000 + b"}",
    b'{"text": "a", "constraints": [' + b"1," * 500_000 + b"1]}",
    b"{" + b",".join(b'"a%d":1' % number for number in range(60_000)) + b"}",
    b'{"text": "' + b"a" * 1_040_000 + b'"}',
    b'{"text": "' + b"a" * 4_900 + b'"}',
    b'{"text": "\\ud800"}',
    b'{"text": "a", "top": NaN}',
    b"\xff\xfe\x00",
    json.dumps({"q": ["a"] * 20_000, "source": "en", "target": "de", "format": "html"}).encode(),
    json.dumps({"text": "<b>" * 1600, "format": "html"}).encode(),
]
FORMS = [
    (b"boundary=x", b"--x\r\n\r\n\r\n" * 100_000),
    (b"boundary=x", b"--x\r\nContent-Type: message/rfc822\r\n\r\n" * 20_000),
    (
        b"boundary=x",
        b"".join(b"--x\r\nContent-Type: multipart/mixed; boundary=%d\r\n\r\n" % part for part in range(9000)),
    ),
    (b"boundary=x", b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n' + b"a" * 1_000_000),
    (b"boundary=x; charset=punycode", b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n' + b"-" * 1_000_000),
    (b"boundary=\xff", b"{}"),
    (b'a="' + b"\\" * 10_000, b"{}"),
    (b"", b"{}"),
]
HEADERS = [
    b"Origin: http://[\r\n",
    b"Origin: null\r\n",
    b"Origin: \xff\r\n",
    b"Host: evil.example\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"X: " + b"a" * 70_000 + b"\r\n",
    b"X: a\r\n" * 20_000,
    b"Upgrade: websocket\r\n",
]


def asked(port: int, data: bytes, *, then: bytes = b"", half: bool = False, seconds: float = 0.0) -> bytes:
    """Sends bytes, perhaps in two parts, perhaps half-closed, and returns what comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(data)
        if seconds:
            time.sleep(seconds)
        if then:
            connection.sendall(then)
        if half:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
        return answer


def request(draw: random.Random) -> bytes:
    """Returns a request that is wrong in some way, or asks for too much."""
    route = draw.choice([b"/api/translate", b"/api/align", b"/translate"])
    kind = b"application/json"
    more = b""
    match draw.randrange(8):
        case 0:
            return draw.randbytes(50) + b"\r\n\r\n"
        case 1:
            form, body = draw.choice(FORMS)
            kind = b"multipart/form-data; " + form
        case 2:
            body = b"&".join(b"a%d=%%ff" % number for number in range(draw.choice([1, 30, 90_000])))
            kind = b"application/x-www-form-urlencoded"
        case 3:
            body = draw.choice(BODIES)
        case 4:
            body = b"{}"
            more = draw.choice(HEADERS)
        case _:
            fields = {"text": "a b c", "q": "a", "source": "en", "target": "de"}
            body = json.dumps(fields | {name: draw.choice(VALUES) for name in draw.sample(FIELDS, 2)}).encode()
    method = draw.choice([b"POST"] * 8 + [b"GET", b"PUT", b"x" * 30])
    head = b"%b %b HTTP/1.1\r\n%b%b%bContent-Type: %b\r\n" % (method, route, HOST, LAST, more, kind)
    length = b"" if b"Content-Length" in more or b"Transfer" in more else b"Content-Length: %d\r\n" % len(body)
    return head + length + b"\r\n" + body


def hostile(port: int, draw: random.Random) -> bytes | None:
    """Makes one request, and returns the answer; None where the client ends it before, or the server in its middle."""
    data = request(draw)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        match draw.randrange(10):
            case 0:
                return asked(port, data[: draw.randrange(1, len(data))], half=True) or None
            case 1:
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(data)
            case 2:
                middle = len(data) // 2
                return asked(port, data[:middle], then=data[middle:], seconds=0.02) or None
            case _:
                return asked(port, data) or None
    return None


def dropped_stream(port: int, draw: random.Random) -> None:
    """Opens a stream, and leaves it at some stage, after frames that are none."""
    frames = [
        b"\x81\x82\0\0\0\0\xff\xfe",
        b"\x82\xff\0\0\0\0\x7f\xff\xff\xff\0\0\0\0",
        b"\x80\x80\0\0\0\0",
        b"\xff\x00",
        b"",
    ]
    with contextlib.suppress(OSError, EOFError), connect(f"ws://127.0.0.1:{port}/api/stream") as stream:
        for messages in (
            ["{}", "[", '{"run": 1}', '{"retranslate": true}'],
            ['{"words": "a b c"}', '{"end": true}', "{"],
        ):
            if draw.random() < 0.8:
                stream.send(draw.choice(messages))
        if draw.random() < 0.3:
            stream.send(b"\0" * draw.choice([1, 2, 70_000]))
        stream.socket.sendall(draw.choice(frames))
        stream.socket.shutdown(socket.SHUT_RDWR)


def slow(port: int, draw: random.Random) -> bytes | None:
    """Sends a byte a second, for longer than the server waits for a body; returns the answer, if there was one."""
    head = b"POST /translate HTTP/1.1\r\n" + HOST
    begin = draw.choice([head, head + b"Content-Length: 900\r\n\r\n", head + HEADERS[6] + b"\r\n", UPGRADE])
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
        connection.sendall(begin)
        for _ in range(15):
            with contextlib.suppress(TimeoutError):
                answer = connection.recv(1 << 16)
                while answer[9:10] in (b"4", b"5") and (part := connection.recv(1 << 16)):
                    answer += part
                if not answer.startswith(b"HTTP/1.1 101"):
                    return answer if answer.startswith(b"HTTP/1.1") else None
            connection.sendall(b"1")
    return None


@contextlib.contextmanager
def watched(port: int) -> Iterator[list[float]]:
    """Yields how long /health has taken, which is asked ten times a second while the context lasts."""
    waits: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            begin = time.perf_counter()
            if b" 200 " not in asked(port, b"GET /health HTTP/1.1\r\n" + HOST + LAST + b"\r\n"):
                raise UserError("/health is not answered")
            waits.append(time.perf_counter() - begin)

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            yield waits
        finally:
            over.set()
        watching.result()


def size_of(process: int) -> dict[str, int]:
    """Returns how much a process has (Linux)."""
    status = Path(f"/proc/{process}/status").read_text()
    number = {name: int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "Threads")}
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return {"memory_mib": number["VmRSS"] // 1024, "threads": number["Threads"], "files": files}


def wrong_answer(answer: bytes) -> str | None:
    """Returns what is wrong with an answer; None where it has a right status, and a sentence."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if status == 200:
        return None
    if status not in REFUSED or (status == 503 and b"retry-after" not in head.lower()):
        return f"status {status}"
    if b"text/plain" in head:  # uvicorn's own, of what is no HTTP
        return None if len(body) > 10 else "no sentence"
    sentence = json.loads(body).get("error") if body else None
    return None if isinstance(sentence, str) and len(sentence) > 10 else f"no sentence: {body[:100]!r}"


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("hostile", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run to serve")
    add_number(parser, "--requests", 10_000, "bad requests", least=0)
    add_number(parser, "--streams", 1_000, "streams that are dropped", least=0)
    add_number(parser, "--slow", 512, "slow clients at once", least=0)
    options = parser.parse_args(arguments)
    logging.getLogger("websockets.client").disabled = True  # it tells of connections that are left
    statuses = Counter[str]()
    sizes = []
    kinds = (
        (hostile, options.requests, CLIENTS),
        (dropped_stream, options.streams, CLIENTS),
        (slow, options.slow, 512),
    )
    with tempfile.TemporaryFile() as log:
        with own_server(options.run, log=log) as (port, process):
            with watched(port) as waits:
                for one, count, clients in kinds:
                    with ThreadPoolExecutor(clients) as pool:
                        for part in (range(count // 10), range(count // 10, count)):
                            answers = pool.map(lambda number, one=one: one(port, random.Random(number)), part)
                            for number, answer in zip(part, answers, strict=True):
                                if answer is not None and (fault := wrong_answer(answer)):
                                    raise UserError(f"{one.__name__} {number}: {fault}")
                                statuses["none" if answer is None else answer.split(b" ", 2)[1].decode()] += 1
                            time.sleep(1.0)
                            sizes.append(size_of(process))
            # It ends while it computes.
            long = json.dumps({"text": "a", "search": {"name": "beam", "beam_size": 50, "min_length": 2000}}).encode()
            head = b"POST /api/translate HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(long)
            computing = socket.create_connection(("127.0.0.1", port))
            computing.sendall(head + long)
            time.sleep(1.0)
            begin = time.perf_counter()
        ended = time.perf_counter() - begin
        log.seek(0)
        printed = log.read().decode()
    if faults := re.findall(r".*(?: 500 \d+ ms|Traceback|Error at ).*", printed):
        raise UserError(f"the server printed: {faults[0]}")
    row = {"answers": statuses, "health": percentiles(waits, "ms"), "sizes": sizes, "ended_s": round(ended, 1)}
    print(json.dumps(row | {"log_lines": printed.count("\n")}, indent=1))
