"""A campaign of hostile requests against `mt serve`: every answer is a sentence with the right status, nothing leaks,
and no traceback is printed.

    python scripts/benchmark.py hostile --run RUN [--requests 10000] [--streams 1000]

Requests have wrong types, a megabyte of one word, deep nesting, or bytes that are no text. Others send their headers
slowly, half of a body, or end in the middle. Streams are dropped at every stage. Prints how many answers had which
status, and memory, open files and threads after a tenth of the campaign, and at its end.
"""

import contextlib
import json
import random
import re
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.harness import add_number, option_parser
from benchmarks.serve import own_server
from websockets.sync.client import connect

from mt.errors import UserError

ROUTES = ("/api/translate", "/api/align", "/translate")
CLIENTS = 32
REFUSED = frozenset({400, 403, 404, 405, 408, 413, 422, 503})


def bodies(draw: random.Random) -> bytes:
    """Returns a body that is wrong in some way."""
    values: list[Any] = [None, True, -1, 1e308, "", "a", [], {}, [[]], {"a": {}}, 10**400, "\ud800", "x" * 6000]
    keys = ["text", "q", "source", "target", "search", "n_best", "force", "prefix_ids", "inputs", "src", "run", "top"]
    kinds: list[Callable[[], bytes]] = [
        lambda: json.dumps({key: draw.choice(values) for key in draw.sample(keys, 4)}).encode(),
        lambda: json.dumps(draw.choice(values)).encode(),
        lambda: b"[" * draw.choice([10, 1000, 100_000]),
        lambda: b'{"text":' * draw.choice([10, 1000, 50_000]) + b"1",
        lambda: draw.randbytes(draw.choice([1, 100, 10_000])),
        lambda: json.dumps({"text": "a" * (1 << 20)}).encode(),
        lambda: b'{"text": "a", "search": {"beam_size": 1000000}}',
        lambda: b'{"text": "a", "search": {"name": "sample", "samples": 40, "max_length": 100001}}',
        lambda: b'{"text": "\\u0000\\u202e\x00"}',
        lambda: b'{"text": "a", "force": [[0, 99999999]], "tree": true}',
    ]
    return draw.choice(kinds)()


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


def hostile(port: int, draw: random.Random) -> bytes | None:
    """Makes one request, and returns the answer; None where the client ends it before."""
    route = draw.choice(ROUTES)
    body = bodies(draw)
    method = draw.choice(["POST"] * 8 + ["GET", "PUT", "x" * 30])
    fields = f"Host: localhost\r\nConnection: close\r\nContent-Length: {len(body)}"
    head = f"{method} {route} HTTP/1.1\r\n{fields}\r\n\r\n".encode()
    match draw.randrange(20):
        case 0:
            return asked(port, draw.randbytes(50) + b"\r\n\r\n")
        case 1:
            return asked(port, head[: draw.randrange(1, len(head))], half=True) or None
        case 2:
            return asked(port, head + body[: len(body) // 2], half=True) or None
        case 3:
            with socket.create_connection(("127.0.0.1", port)) as connection, contextlib.suppress(OSError):
                connection.sendall(head + body)
            return None
        case 4:
            return asked(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000 + b"\r\n\r\n")
        case 5:
            middle = len(head) // 2
            return asked(port, head[:middle], then=head[middle:] + body, seconds=0.02)
        case _:
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                return asked(port, head + body)
            return None


def dropped_stream(port: int, draw: random.Random) -> None:
    """Opens a stream, and leaves it at some stage."""
    stage = draw.randrange(5)
    if stage == 0:
        asked(port, b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n")
        return
    with contextlib.suppress(OSError, EOFError), connect(f"ws://127.0.0.1:{port}/api/stream") as stream:
        if stage > 1:
            stream.send(draw.choice(["{}", "[", '{"run": 1}', '{"retranslate": true}']))
        if stage > 2:
            stream.send(draw.choice(['{"words": "a b c"}', '{"end": true}', "{", b"\0\0\0".hex()]))
        if stage > 3:
            stream.send(b"\0" * draw.choice([1, 2, 70_000]))
        stream.socket.close()


def size_of(process: int) -> dict[str, int]:
    """Returns how much a process has (Linux)."""
    status = Path(f"/proc/{process}/status").read_text()
    number = {name: int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "Threads")}
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return {"memory_mib": number["VmRSS"] // 1024, "threads": number["Threads"], "files": files}


def wrong_answer(answer: bytes) -> str | None:
    """Returns what is wrong with an answer; None where it is a status with a sentence."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if status == 200:
        return None
    if status not in REFUSED or (status == 503 and b"retry-after" not in head.lower()):
        return f"status {status}"
    sentence = json.loads(body).get("error") if body else None
    return None if isinstance(sentence, str) and len(sentence) > 10 else f"no sentence: {body[:100]!r}"


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("hostile", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run to serve")
    add_number(parser, "--requests", 10_000, "bad requests", least=0)
    add_number(parser, "--streams", 1_000, "streams that are dropped", least=0)
    options = parser.parse_args(arguments)
    statuses = Counter[str]()
    sizes = []
    with tempfile.TemporaryFile() as log:
        with own_server(options.run, log=log) as (port, process), ThreadPoolExecutor(CLIENTS) as clients:
            for name, count, one in (
                ("requests", options.requests, hostile),
                ("streams", options.streams, dropped_stream),
            ):
                for part in (range(count // 10), range(count // 10, count)):
                    answers = clients.map(lambda number, one=one: one(port, random.Random(number)), part)
                    for number, answer in zip(part, answers, strict=True):
                        if answer is not None and (fault := wrong_answer(answer)):
                            raise UserError(f"{name} {number}: {fault}")
                        statuses["none" if answer is None else answer.split(b" ", 2)[1].decode()] += 1
                    time.sleep(1.0)
                    sizes.append(size_of(process))
        log.seek(0)
        printed = log.read().decode()
    if "Traceback" in printed or "ERROR" in printed:
        raise UserError(f"the server printed: {printed[-2000:]}")
    print(json.dumps({"answers": statuses, "sizes": sizes, "log_lines": printed.count("\n")}, indent=1))
