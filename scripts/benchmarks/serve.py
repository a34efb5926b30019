"""`mt serve` under load, beside a plain FastAPI handler of the same model that translates each request by itself.

    python scripts/benchmark.py serve --run RUN --source FILE [--clients 1 8 64] [--seconds 10] [--precision int8]

Clients are connections of this process that ask again as soon as they are answered, each for the next line of the file.
`sentences_per_second` counts answers, `per_cpu_second` those for a second that a processor works for the server, which
depends little on what else the machine does; `p50_ms` and `p95_ms` are what a client waits. OMP_NUM_THREADS sets the
threads of each server.
"""

import asyncio
import contextlib
import itertools
import json
import multiprocessing
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import option_parser, percentiles, print_rows

from mt.cli.parser import whole_number
from mt.decoding.load import load
from mt.errors import UserError
from mt.search.config import PRECISIONS, Precision
from mt.text_io import file_lines


def plain(run: str, precision: Precision | None, port: int) -> None:
    """Serves a run as a first attempt might: each request is translated by itself."""
    import uvicorn
    from fastapi import FastAPI

    translator = load(run, device="cpu", precision=precision)
    app = FastAPI()

    @app.post("/translate")
    def translate(body: dict[str, str]) -> dict[str, str]:
        return {"translatedText": translator.translate(body["q"]).text}

    uvicorn.run(app, port=port, log_level="error")


@contextlib.contextmanager
def plain_server(run: Path, precision: Precision | None) -> Iterator[tuple[int, int]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=plain, args=(str(run), precision, port))
    process.start()
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        assert process.pid is not None
        yield port, process.pid
    finally:
        process.terminate()
        process.join()


@contextlib.contextmanager
def own_server(run: Path, precision: Precision | None) -> Iterator[tuple[int, int]]:
    """Yields the port and the process of `mt serve`. Raises UserError if the server does not end with status 0."""
    options = [] if precision is None else ["--precision", precision]
    command = [sys.executable, "-m", "mt", "serve", f"served={run}", "--port", "0", "--device", "cpu", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().rpartition(":")[2]), process.pid
        finally:
            process.terminate()
            status = process.wait(60)
    if status:
        raise UserError(f"the server ended with {status}")


async def client(port: int, bodies: Iterator[bytes], until: float, waits: list[tuple[float, float]]) -> None:
    """Sends requests over one connection until a time. waits: receives for each answer when it came and how long it
    took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (begin := time.perf_counter()) < until:
        await post(reader, writer, next(bodies))
        end = time.perf_counter()
        waits.append((end, end - begin))
    writer.close()


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> None:
    """Sends a request, and reads the whole answer."""
    kind = "Content-Type: application/json\r\n"
    writer.write(f"POST /translate HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {len(body)}\r\n\r\n".encode())
    writer.write(body)
    answer = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert answer.startswith(b"http/1.1 200"), answer
    await reader.readexactly(int(answer.partition(b"content-length:")[2].split()[0]))


def loaded(port: int, process: int, texts: Sequence[str], clients: int, seconds: float) -> dict[str, float]:
    """Measures the server under requests of `clients` connections. Answers in the first fifth of the time are left out
    of rates and waits."""
    bodies = itertools.cycle([json.dumps({"q": text, "source": "en", "target": "de"}).encode() for text in texts])
    waits: list[tuple[float, float]] = []
    begin = time.perf_counter()
    used = processor_seconds(process)

    async def all_clients() -> None:
        await asyncio.gather(*(client(port, bodies, begin + seconds, waits) for _ in range(clients)))

    # All clients work in this process, which is cheap beside the server.
    asyncio.run(all_clients())
    counted = [wait for end, wait in waits if end - begin > seconds / 5]
    last = max(end for end, _ in waits) - begin - seconds / 5
    return {
        "sentences_per_second": len(counted) / last,
        "per_cpu_second": len(waits) / (processor_seconds(process) - used),
        **percentiles(counted, "ms"),
    }


def processor_seconds(process: int) -> float:
    """Returns the processor seconds of all threads of a process (Linux), which depend little on other processes."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("serve", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run to serve, which translates en into de")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help="texts, one a line")
    parser.add_argument("--clients", type=whole_number(1, 10_000), nargs="+", default=[1, 8, 64], metavar="N")
    parser.add_argument("--seconds", type=whole_number(1, 3600), default=10, metavar="S", help="of each row")
    parser.add_argument("--precision", choices=PRECISIONS)
    options = parser.parse_args(arguments)
    texts = [line for line in file_lines(options.source) if line.strip()]
    rows: dict[str, dict[str, Any]] = {}
    for name, server in (("plain", plain_server), ("mt serve", own_server)):
        with server(options.run, options.precision) as where:
            loaded(*where, texts, 1, 1.0)
            for count in options.clients:
                rows[f"{name}, {count} clients"] = loaded(*where, texts, count, options.seconds)
    for count in options.clients:
        own, other = (rows[f"{name}, {count} clients"] for name in ("mt serve", "plain"))
        own["ratio"] = own["sentences_per_second"] / other["sentences_per_second"]
        own["cpu_ratio"] = own["per_cpu_second"] / other["per_cpu_second"]
    print_rows(rows, as_json=options.json, rounds=f"{options.seconds} seconds")
