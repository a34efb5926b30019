"""How soon a key changes the translation: sentences are typed key by key, as the page of `mt serve` sends them.

    python scripts/benchmark.py keys --run RUN --source FILE [--sentences 20] [--pace 150] [--precision int8]

A key comes every `--pace` milliseconds, whether the one before is answered or not. One request is under way at a time,
and the next has all that was typed meanwhile, as the page does.

`ms` is the time by the clock from a key to the first answer that knows it. `cpu_ms` is what processors worked for the
server from one key to the next. Both are given as median and 95th percentile over all keys. OMP_NUM_THREADS sets the
threads of the server; a RUN that was exported as graphs needs `--engine onnx`.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import add_number, option_parser, percentiles, print_rows
from benchmarks.serve import own_server, post, processor_seconds

from mt.decoding.load import ENGINES
from mt.search.config import PRECISIONS


class Typist:
    """Types texts, and notes when each key is answered."""

    def __init__(self, port: int, process: int, pace: float) -> None:
        self._port = port
        self._process = process
        self._pace = pace
        self._open: list[float] = []
        """When each key was pressed of which no request was made yet."""
        self._text = ""
        self.waits: list[float] = []
        self.worked: list[float] = []

    async def type(self, text: str) -> None:
        """Types a text from its first key on, and waits until its last is answered."""
        asking: asyncio.Task[None] | None = None
        for length in range(1, len(text) + 1):
            begin = time.perf_counter()
            used = processor_seconds(self._process)
            self._text = text[:length]
            self._open.append(begin)
            if asking is None or asking.done():
                asking = asyncio.create_task(self._ask())
            await asyncio.sleep(max(0.0, begin + self._pace - time.perf_counter()))
            self.worked.append(processor_seconds(self._process) - used)
        if asking is not None:
            await asking

    async def _ask(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        with contextlib.closing(writer):
            while self._open:
                keys, self._open = self._open, []
                await post(reader, writer, "/api/translate", json.dumps({"text": self._text}).encode())
                self.waits += [time.perf_counter() - key for key in keys]


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("keys", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run to serve")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help="texts to type, one a line")
    add_number(parser, "--sentences", 20, "of the file are typed")
    add_number(parser, "--pace", 150, "milliseconds from key to key", most=60_000)
    parser.add_argument("--precision", choices=PRECISIONS)
    parser.add_argument("--engine", choices=ENGINES, default="torch")
    options = parser.parse_args(arguments)
    texts = [line for line in options.source.read_text(encoding="utf-8").splitlines() if line.strip()]
    with own_server(options.run, options.precision, options.engine) as (port, process):
        typist = Typist(port, process, options.pace / 1000)
        for text in texts[: options.sentences]:
            asyncio.run(typist.type(text))
    row = {"keys": float(len(typist.waits)), **percentiles(typist.waits, "ms"), **percentiles(typist.worked, "cpu_ms")}
    print_rows({options.run.name: row}, as_json=options.json, rounds=f"{len(typist.waits)} keys")
