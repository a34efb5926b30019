"""How the time of attention grows with length: softmax beside hard monotonic attention and MoChA, in one process.

    python scripts/benchmark.py online [--lengths 10 100 1000] [--rounds 5] [--json] [--plot FILE]

One sentence of S source and T = S target positions, step by step; the pointer moves one position a step, as in a
monotone alignment. `attention` is the attention alone; `decoder` is the whole step, from the last token to the logits
of the next. Times are processor seconds of one thread, every 200 steps in the least of rounds in which all take turns.
The exponent is that of total time over S, fitted to the lengths from a quarter of the longest on.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from benchmarks.harness import add_number, add_rounds, exponent, in_turn, option_parser
from torch import Tensor

from mt.cli.parser import whole_number
from mt.models.attention import build_attention
from mt.models.attention.global_ import GeneralAttentionConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.attention.monotonic import MonotonicConfig
from mt.models.decoders import Decoder, DecoderMemory, DecoderParts
from mt.models.decoders.luong import Luong, LuongConfig
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig
from mt.plots import save
from mt.plots.speedup import speedup

LENGTHS = (10, 20, 50, 100, 200, 500, 1000, 2000)
FITTED = 0.25
"""Exponents are fitted to lengths from this share of the longest on."""
STEPS = 200
"""That are timed at once: short sentences are taken several times, and long ones in parts."""
ATTENTIONS = {
    "softmax": GeneralAttentionConfig(),
    "monotonic": MonotonicConfig(),
    **{f"mocha_{width}": MoChAConfig(chunk_size=width) for width in (2, 4, 8)},
}
PREFIXES = {"attention": "", "decoder": "decoder_"}
"""What is timed, and how its results begin in the JSON object."""
TITLES = {"attention": "attention alone", "decoder": "whole decoder"}


class Measured(NamedTuple):
    """One sentence of one length."""

    parts: list[float]
    """Seconds of its parts, in order."""
    energies: int

    @property
    def seconds(self) -> float:
        return sum(self.parts)


def least(turns: Sequence[Measured]) -> Measured:
    """Takes each part from the round in which it was fastest, as what else the machine does only adds to it."""
    return Measured([*map(min, zip(*(turn.parts for turn in turns), strict=True))], turns[0].energies)


class Contender:
    """A decoder with an attention, soft or hard. name: a key of ATTENTIONS."""

    def __init__(self, name: str, size: int, vocabulary: int) -> None:
        config = LuongConfig(hidden_size=size, init_hidden="zeros")
        attention: Any = build_attention(ATTENTIONS[name], size, size)
        embedding = Embedding(EmbeddingConfig(), vocabulary)
        self.size = size
        self.hard = name != "softmax"
        self.decoder: Decoder = Luong(config, DecoderParts(embedding, attention, size, size, tied=False)).eval()
        if self.hard:
            # The first unit of a query and the first two of a value decide where the pointer stops.
            attention.energy.bias.zero_()
            attention.energy.gain.fill_(1.0)
            attention.energy.energy.project.weight.copy_(torch.eye(size))

    def memory(self, length: int) -> DecoderMemory:
        values = torch.randn(1, length, self.size, generator=torch.Generator().manual_seed(length))
        values[0, :, 0] = torch.arange(length) + 0.5
        values[0, :, 1] = -1.0
        mask = torch.ones(1, length, dtype=torch.bool)
        return self.decoder.init_memory(Encoded(values, values, mask, torch.zeros(1, self.size)))

    def queries(self, length: int) -> Tensor:
        """Returns queries of which each has its first energy that is not negative at the position of its step."""
        queries = torch.zeros(length, 1, self.size)
        queries[:, 0, 0] = 1.0
        queries[:, 0, 1] = torch.arange(length)
        return queries

    def run(self, part: str, length: int) -> Measured:
        memory = self.memory(length)
        queries = self.queries(length)
        sentences = math.ceil(STEPS / length)
        steps = {"attention": self._attention, "decoder": self._decoder}[part]
        parts = []
        energies = 0
        start = time.thread_time()
        for number, computed in enumerate(chain.from_iterable(steps(memory, queries) for _ in range(sentences)), 1):
            energies += length if computed is None else int(computed)
            if number % STEPS == 0 or number == sentences * length:
                now = time.thread_time()
                parts.append((now - start) / sentences)
                start = now
        return Measured(parts, energies // sentences)

    def _attention(self, memory: DecoderMemory, queries: Tensor) -> Iterator[Tensor | None]:
        """Yields how many energies each step computes, None where it compares with all positions."""
        attention = self.decoder.attention
        state = attention.init_state(memory.attention, hard=self.hard)
        for query in queries:
            step = attention.step(query, memory.attention, state, hard=self.hard)
            state = step.state
            yield step.energies

    def _decoder(self, memory: DecoderMemory, queries: Tensor) -> Iterator[Tensor | None]:
        attention = self.decoder.attention
        state = self.decoder.init_state(memory, hard=self.hard)
        token = torch.tensor([2])
        for vector in queries:
            query = self.decoder.make_query(token, state)
            step = attention.step(vector, memory.attention, query.attention_state, hard=self.hard)
            prediction = self.decoder.read_out(query, step)
            state = prediction.state
            token = prediction.logits.argmax(-1)
            yield step.energies


def measure(
    contenders: Mapping[str, Contender], lengths: Sequence[int], rounds: int
) -> Iterator[tuple[str, int, dict[str, Measured]]]:
    """Yields for each part and length what each contender takes, after a short run that is not counted."""
    for part in PREFIXES:
        for contender in contenders.values():
            contender.run(part, min(lengths))
        for length in lengths:
            runs = {name: partial(contender.run, part, length) for name, contender in contenders.items()}
            turns = in_turn(runs, rounds, warm_up=False)
            yield part, length, {name: least([turn[name] for turn in turns]) for name in contenders}


def fitted(lengths: Sequence[int]) -> list[int]:
    """Returns the shortest and the longest of those that exponents are fitted to. lengths: at least two, in order."""
    *_, before, last = lengths
    return [min(before, *(length for length in lengths if length >= FITTED * last)), last]


def exponent_of_longest(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """Fits an exponent to the lengths that `fitted` chooses."""
    shortest, longest = fitted(lengths)
    chosen = [(length, s) for length, s in zip(lengths, seconds, strict=True) if shortest <= length <= longest]
    return exponent(*zip(*chosen, strict=True))


def summarize(contenders: Mapping[str, Contender], lengths: Sequence[int], rounds: int) -> dict[str, Any]:
    """Returns what is written with --json: for each contender its exponents, and at each length its seconds, how many
    times as fast as softmax it is, and its energies."""
    measured = {(part, length): row for part, length, row in measure(contenders, lengths, rounds)}
    summary: dict[str, Any] = {}
    for name in contenders:
        entry: dict[str, Any] = {}
        for part, prefix in PREFIXES.items():
            rows = [measured[part, length] for length in lengths]
            seconds = [row[name].seconds for row in rows]
            entry[f"{prefix}exponent"] = round(exponent_of_longest(lengths, seconds), 3)
            entry[f"{prefix}seconds"] = seconds
            entry[f"{prefix}speedup"] = [row["softmax"].seconds / row[name].seconds for row in rows]
        entry["energies"] = [measured["attention", length][name].energies for length in lengths]
        summary[name] = {**entry, "lengths": list(lengths), "fitted": fitted(lengths)}
    return summary


def table(summary: dict[str, Any], lengths: Sequence[int]) -> str:
    lines = []
    for part, prefix in PREFIXES.items():
        lines.append(f"{TITLES[part]}: ms a sentence (times as fast as softmax)")
        lines.append("".join([f"{'S = T':>10}", *(f"{name:>18}" for name in summary)]))
        for i, length in enumerate(lengths):
            cells = (
                f"{1e3 * entry[f'{prefix}seconds'][i]:.2f} ({entry[f'{prefix}speedup'][i]:.2f})"
                for entry in summary.values()
            )
            lines.append("".join([f"{length:>10,}", *(f"{cell:>18}" for cell in cells)]))
        exponents = (f"{entry[f'{prefix}exponent']:>18.2f}" for entry in summary.values())
        lines.append("".join([f"{'exponent':>10}", *exponents]))
        lines.append("")
    lines.append("energies that were computed to find where to stop, or to compare with all positions")
    lines += [
        "".join([f"{length:>10,}", *(f"{entry['energies'][i]:>18,}" for entry in summary.values())])
        for i, length in enumerate(lengths)
    ]
    shortest, longest = fitted(lengths)
    return "\n".join([*lines, "", f"exponents are fitted to lengths {shortest:,} to {longest:,}"])


def plot(summary: dict[str, Any], lengths: Sequence[int], path: Path) -> None:
    panels = {
        TITLES[part]: {name: entry[f"{prefix}speedup"] for name, entry in summary.items() if name != "softmax"}
        for part, prefix in PREFIXES.items()
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
        contenders = {name: Contender(name, options.size, options.vocabulary) for name in ATTENTIONS}
        summary = summarize(contenders, lengths, options.rounds)
    if options.plot:
        plot(summary, lengths, options.plot)
    print(json.dumps(summary) if options.json else table(summary, lengths))
