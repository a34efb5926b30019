"""The benchmarks of `scripts/benchmark.py`, a module each. `BENCHMARKS` are its choices; each parses its arguments."""

from collections.abc import Callable, Sequence

from benchmarks import decode, online, serve, stream, train

BENCHMARKS: dict[str, Callable[[Sequence[str]], None]] = {
    "train": train.main,
    "decode": decode.main,
    "online": online.main,
    "stream": stream.main,
    "serve": serve.main,
}
