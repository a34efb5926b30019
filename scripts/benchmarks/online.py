"""How the time of attention grows with length: softmax beside hard monotonic attention and MoChA, in one process.

    python scripts/benchmark.py online [--parts decoder] [--lengths 10 100 1000] [--rounds 5] [--json]

One sentence of S source and T = S target positions; the pointer moves one position a step, as in a monotone alignment.
`attention_at_once` is the attention alone, all steps in one call, as where the target is known, and as the papers
compare; `concat_at_once` is the same with the additive energies of the papers; `decoder` is the whole decoder, one step
after another, from the last token to the logits of the next, with dot products. `softmax` is the model's own; `torch`
is the fastest in PyTorch, without masks and states, `compiled` is made of the loops of hard steps. Times are processor
milliseconds of one thread, the least of rounds in which all take turns. Short sentences are taken several times, for
200 steps, or for 2,000 where all are taken in one call. The exponent is that of total time over S, fitted to the
lengths from a quarter of the longest on. Published ratios at S = T = 100, of all steps in one call, are 13.6, and of
MoChA 12.1, 9.7 and 7.3 (Chiu & Raffel 2018, figure 3).
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from benchmarks.attention_steps import BARE, CHUNKS, Contender, Measured
from benchmarks.harness import Rows, add_number, add_rounds, exponent, in_turn, option_parser, print_rows

from mt.cli.parser import whole_number

LENGTHS = (10, 20, 50, 100, 200, 500, 1000, 2000)
FITTED = 0.25
"""Exponents are fitted to lengths from this share of the longest on."""


class TimedPart(NamedTuple):
    """What is timed."""

    energy: str
    baselines: tuple[str, ...]
    """Contenders that the others are compared with."""
    run: Callable[[Contender, int], Measured]
    """Takes the steps of a sentence of some length."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("softmax", *self.baselines, *CHUNKS)))


PARTS = {
    "attention_at_once": TimedPart("general", tuple(BARE), Contender.run_at_once),
    "concat_at_once": TimedPart("concat", tuple(BARE), Contender.run_at_once),
    "decoder": TimedPart("general", ("softmax",), Contender.run),
}


def measure(part: TimedPart, lengths: Sequence[int], options: argparse.Namespace) -> Iterator[dict[str, Measured]]:
    """Yields for each length what each contender takes, after a short run that is not counted."""
    contenders = {name: Contender(name, part.energy, options.size, options.vocabulary) for name in part.names}
    for contender in contenders.values():
        part.run(contender, min(lengths))
    for length in lengths:
        runs = {name: partial(part.run, contender, length) for name, contender in contenders.items()}
        turns = in_turn(runs, options.rounds, warm_up=False)
        # What else the machine does only adds to the time of a round.
        yield {name: min(turn[name] for turn in turns) for name in contenders}


def exponent_of_longest(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """Fits an exponent to the lengths from a quarter of the longest on, and to the two longest at least."""
    count = max(2, sum(length >= FITTED * lengths[-1] for length in lengths))
    return exponent(lengths[-count:], seconds[-count:])


def rows_of(title: str, part: TimedPart, lengths: Sequence[int], measured: Sequence[Mapping[str, Measured]]) -> Rows:
    """Returns the rows of a part. Each contender has its milliseconds and their exponent, and how many energies it
    computes. Beside each baseline it has how many times as fast it is."""
    heads = [f"{length:,}" for length in lengths]
    seconds = {name: [of_length[name].seconds for of_length in measured] for name in part.names}
    rows: dict[str, dict[str, float]] = {}
    for name, own in seconds.items():
        times = dict(zip(heads, [1000 * each for each in own], strict=True))
        rows[f"{title}, {name}: ms"] = times | {"exponent": exponent_of_longest(lengths, own)}
        energies = [of_length[name].energies for of_length in measured]
        rows[f"{title}, {name}: energies"] = dict(zip(heads, energies, strict=True))
        for other in part.baselines:
            ratios = [theirs / ours for theirs, ours in zip(seconds[other], own, strict=True)]
            rows[f"{title}, {name} beside {other}"] = dict(zip(heads, ratios, strict=True))
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("online", __doc__)
    add_rounds(parser, 5)
    parser.add_argument(
        "--lengths",
        type=whole_number(1, 1_000_000),
        nargs="+",
        metavar="N",
        default=LENGTHS,
        help="of source and target",
    )
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], metavar="PART", help="what is timed")
    add_number(parser, "--size", 512, "of values, queries and the decoder's state", most=100_000)
    add_number(parser, "--vocabulary", 1000, "tokens that the decoder chooses from", least=4)
    options = parser.parse_args(arguments)
    lengths = sorted(set(options.lengths))
    if len(lengths) < 2:
        parser.error("--lengths needs two or more lengths, to which an exponent can be fitted")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rows: dict[str, Mapping[str, float]] = {}
    with torch.inference_mode():
        for title in options.parts:
            rows |= rows_of(title, PARTS[title], lengths, [*measure(PARTS[title], lengths, options)])
    print_rows(rows, as_json=options.json, rounds=f"{options.rounds} rounds, the least")
