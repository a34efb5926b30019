"""Shared by the benchmarks: common options, contenders that take turns, statistics, and tables."""

import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import torch
from tabulate import tabulate

from mt.cli.parser import Parser, whole_number

Result = TypeVar("Result")
Rows = Mapping[str, Mapping[str, float]]


def option_parser(benchmark: str, description: str | None) -> Parser:
    """Returns a parser with the common option --json."""
    parser = Parser(description, prog=f"benchmark.py {benchmark}")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser


def add_number(parser: Parser, option: str, default: int, what: str, *, least: int = 1, most: int = 1_000_000) -> None:
    """Adds an option with a whole number. what: its help; the default is added to it."""
    parser.add_argument(
        option, type=whole_number(least, most), default=default, metavar="N", help=f"{what} (default: {default})"
    )


def add_rounds(parser: Parser, default: int) -> None:
    add_number(parser, "--rounds", default, "in turn", most=10_000)


def add_device_and_size(parser: Parser) -> None:
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    add_number(parser, "--size", 512, "of the hidden layers", most=100_000)


class Timed(NamedTuple, Generic[Result]):
    """The result of a call, and the seconds that it took."""

    seconds: float
    result: Result


def timed(run: Callable[[], Result], device: str) -> Timed[Result]:
    """Calls `run` once, and returns the seconds by the clock with its result."""
    # OpenMP's threads of the run before spin for some milliseconds, and would take processors from this one.
    time.sleep(0.02)
    start = time.perf_counter()
    result = run()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return Timed(time.perf_counter() - start, result)


def in_turn(
    contenders: Mapping[str, Callable[[], Result]], rounds: int, *, warm_up: bool = True
) -> list[dict[str, Result]]:
    """Calls all contenders once a round, so that other load of the machine affects all of them alike. Returns a
    dictionary of results for each round. warm_up: whether one more round is run first and left out."""
    turns = [{name: run() for name, run in contenders.items()} for _ in range(rounds + warm_up)]
    return turns[-rounds:]


def medians(turns: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns for each contender its median over rounds."""
    return {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}


def speedups(speeds: Sequence[Mapping[str, float]], base: str) -> dict[str, float]:
    """Returns for each contender the median over rounds of its speed divided by that of `base` in the same round."""
    return medians([{name: speed / turn[base] for name, speed in turn.items()} for turn in speeds])


def percentiles(seconds: Sequence[float], name: str) -> dict[str, float]:
    """Returns the median and the 95th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return {
        f"p50_{name}": 1000 * statistics.median(ordered),
        f"p95_{name}": 1000 * ordered[int(0.95 * (len(ordered) - 1))],
    }


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Fits costs = a sizes^b by least squares on logarithms, and returns b."""
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, costs)]).slope


def print_rows(rows: Rows, *, as_json: bool, rounds: str) -> None:
    """Prints a table under a line about threads and rounds, or one JSON object. rounds: their number, in words."""
    if as_json:
        print(json.dumps(rows))
        return
    print(f"{torch.get_num_threads()} threads, medians of {rounds}")
    table = [
        {"": name, **{column.replace("_", " "): value for column, value in row.items()}} for name, row in rows.items()
    ]
    print(tabulate(table, headers="keys", floatfmt=",.2f", tablefmt="plain"))
