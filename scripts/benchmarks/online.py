"""How the time of attention grows with length: softmax beside hard monotonic attention and MoChA, in one process.

    python scripts/benchmark.py online [--parts decoder] [--lengths 10 100 1000] [--rounds 5] [--json] [--plot FILE]

One sentence of S source and T = S target positions; the pointer moves one position a step, as in a monotone alignment.
`attention` is the attention alone, with dot products, step by step, `concat` with the additive energies of the papers;
`attention_at_once` and `concat_at_once` are all steps in one call, as where the target is known, and as the papers
compare; `decoder` is the whole step, from the last token to the logits of the next, with dot products. `softmax` is the
model's own; `torch` is the fastest in PyTorch, without masks and states, `compiled` is made of the loops of hard steps.
Times are processor seconds of one thread, every 200 steps in the least of rounds in which all take turns. Times of all
steps in one call are means of calls that make 2,000 steps or more. The exponent is that of total time over S, fitted to
the lengths from a quarter of the longest on.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from benchmarks.attention_steps import CHUNKS, Contender, Measured
from benchmarks.harness import add_number, add_rounds, exponent, in_turn, option_parser
from benchmarks.softmax import BARE

from mt.cli.parser import whole_number

LENGTHS = (10, 20, 50, 100, 200, 500, 1000, 2000)
FITTED = 0.25
"""Exponents are fitted to lengths from this share of the longest on."""
PUBLISHED = {1: 13.6, 2: 12.1, 4: 9.7, 8: 7.3}
"""Times as fast as softmax at S = T = 100, by the positions of a chunk (Chiu & Raffel 2018, figure 3)."""


class TimedPart(NamedTuple):
    """What is timed."""

    title: str
    energy: str
    baselines: tuple[str, ...]
    """Contenders that the others are compared with."""
    whole: bool = False
    """Whether a step is the decoder's, and not the attention's alone."""
    at_once: bool = False
    """Whether all steps are taken in one call."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names its contenders."""
        return ("softmax", *self.baselines, *CHUNKS) if "softmax" not in self.baselines else ("softmax", *CHUNKS)

    def run(self, contender: Contender, length: int) -> Measured:
        return contender.run_at_once(length) if self.at_once else contender.run(self.whole, length)


PARTS = {
    "attention": TimedPart("attention alone, dot products, step by step", "general", tuple(BARE)),
    "concat": TimedPart("attention alone, additive energies, step by step", "concat", tuple(BARE)),
    "attention_at_once": TimedPart("attention alone, dot products, at once", "general", tuple(BARE), at_once=True),
    "concat_at_once": TimedPart("attention alone, additive energies, at once", "concat", tuple(BARE), at_once=True),
    "decoder": TimedPart("whole decoder, dot products", "general", ("softmax",), whole=True),
}


def least(turns: Sequence[Measured]) -> Measured:
    """Takes each part from the round in which it was fastest, as what else the machine does only adds to it."""
    return Measured([*map(min, zip(*(turn.parts for turn in turns), strict=True))], turns[0].energies)


def measure(part: TimedPart, lengths: Sequence[int], options: argparse.Namespace) -> Iterator[dict[str, Measured]]:
    """Yields for each length what each contender takes, after a short run that is not counted."""
    contenders = {name: Contender(name, part.energy, options.size, options.vocabulary) for name in part.names}
    for contender in contenders.values():
        part.run(contender, min(lengths))
    for length in lengths:
        runs = {name: partial(part.run, contender, length) for name, contender in contenders.items()}
        turns = in_turn(runs, options.rounds, warm_up=False)
        yield {name: least([turn[name] for turn in turns]) for name in contenders}


def fitted(lengths: Sequence[int]) -> list[int]:
    """Returns the shortest and the longest of those that exponents are fitted to. lengths: at least two, in order."""
    *_, before, last = lengths
    return [min(before, *(length for length in lengths if length >= FITTED * last)), last]


def exponent_of_longest(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """Fits an exponent to the lengths that `fitted` chooses."""
    shortest, longest = fitted(lengths)
    chosen = [(length, s) for length, s in zip(lengths, seconds, strict=True) if shortest <= length <= longest]
    return exponent(*zip(*chosen, strict=True))


def summarize(part: TimedPart, lengths: Sequence[int], measured: Sequence[Mapping[str, Measured]]) -> dict[str, Any]:
    """Returns the JSON of a part: for each contender its exponent, and figures at each length.

    These are its seconds, its energies, and its speed as a multiple of each baseline's."""
    return {
        name: {
            "lengths": list(lengths),
            "fitted": fitted(lengths),
            "seconds": [row[name].seconds for row in measured],
            "energies": [row[name].energies for row in measured],
            "exponent": round(exponent_of_longest(lengths, [row[name].seconds for row in measured]), 3),
            "speedup": {
                other: [row[other].seconds / row[name].seconds for row in measured] for other in part.baselines
            },
        }
        for name in part.names
    }


def table(summary: dict[str, Any], lengths: Sequence[int]) -> str:
    """Returns the parts one below the other. summary: of `summarize`, by the name of each part."""
    lines = []
    for key, rows in summary.items():
        part = PARTS[key]
        lines.append(f"{part.title}: ms a sentence (times as fast as {' and as '.join(part.baselines)})")
        lines.append(row("S = T", rows))
        for i, length in enumerate(lengths):
            lines.append(row(f"{length:,}", (cell(entry, i) for entry in rows.values())))
        lines += [row("exponent", (f"{entry['exponent']:.2f}" for entry in rows.values())), ""]
    published = ", ".join(f"{ratio} (w = {width})" for width, ratio in PUBLISHED.items())
    lines += [
        f"published for attention alone at S = T = 100, all steps in one call, softmax in the same loops: {published}",
        "",
    ]
    energies = next(iter(summary.values()))
    lines.append("energies that were computed to find where to stop, or to compare with all positions")
    lines.append(row("S = T", energies))
    for i, length in enumerate(lengths):
        lines.append(row(f"{length:,}", (f"{entry['energies'][i]:,}" for entry in energies.values())))
    shortest, longest = fitted(lengths)
    return "\n".join([*lines, "", f"exponents are fitted to lengths {shortest:,} to {longest:,}"])


def row(name: str, cells: Iterable[str]) -> str:
    return "".join([f"{name:>10}", *(f"{text:>22}" for text in cells)])


def cell(entry: dict[str, Any], i: int) -> str:
    ratios = ", ".join(f"{ratios[i]:.2f}" for ratios in entry["speedup"].values())
    return f"{1e3 * entry['seconds'][i]:.2f} ({ratios})"


def plot(summary: dict[str, Any], lengths: Sequence[int], path: Path) -> None:
    from mt.plots import save  # Not above: other benchmarks measure memory, and matplotlib takes 40 MB.
    from mt.plots.curves import speedup

    panels = {
        f"{PARTS[key].title}, beside {PARTS[key].baselines[0]}": {
            name: next(iter(rows[name]["speedup"].values())) for name in CHUNKS
        }
        for key, rows in summary.items()
    }
    save(speedup(lengths, panels, "source and target length", "times as fast as softmax"), path)


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
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios: .png, .pdf or .svg")
    options = parser.parse_args(arguments)
    lengths = sorted(set(options.lengths))
    if len(lengths) < 2:
        parser.error("--lengths needs two or more lengths, to which an exponent can be fitted")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with torch.inference_mode():
        summary = {
            key: summarize(PARTS[key], lengths, [*measure(PARTS[key], lengths, options)]) for key in options.parts
        }
    if options.plot:
        plot(summary, lengths, options.plot)
    print(json.dumps(summary) if options.json else table(summary, lengths))
