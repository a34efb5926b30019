"""How cost grows with the size of a batch, the length of sentences, and the width of a beam.

The time of training is measured over batch and length, and its memory over the length of the source. The time of
decoding is measured over beam and length.

    python scripts/benchmark.py growth [--device cuda] [--json]

Random sentences, a model of the benchmarks' sizes with input feeding in float32. Rows name what is varied, the others
stay at 2,000 tokens of 25 a sentence, and 16 sentences with a beam of 5. `tokens_per_second` counts target tokens;
`peak_mb` is the memory of a step beyond what the process held before it, in MiB. `exponent` stands in the last row of a
group. It is of the memory, or of the cost of a batch, a sentence or (over the beam) a token; 1 is linear.
OMP_NUM_THREADS sets the threads.
"""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from benchmarks.harness import add_device_and_size, add_rounds, exponent, in_turn, option_parser, print_rows, timed
from benchmarks.model import VOCABULARY, configure

from mt.data.batches import Batch, collate
from mt.data.tokenizer import EOS
from mt.decoding.network import decode_rows
from mt.decoding.torch_network import TorchNetwork
from mt.device import choose, give_back_memory, peak_memory, reset_peak_memory
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig

# What stays while something else is varied.
BATCH_TOKENS = 2_000
LENGTH = 25
BEAM = 5
SENTENCES = 16
# What is varied.
BATCHES = (500, 1_000, 2_000, 4_000)
LENGTHS = (10, 20, 40, 80, 160)
BEAMS = (1, 2, 5, 10, 20)
SOURCES = (50, 200, 800)


class Bench(NamedTuple):
    model: Seq2Seq
    device: str
    rounds: int


class Cost(NamedTuple):
    """Median seconds, and the target tokens that they were spent on."""

    seconds: float
    tokens: int


def random_sentences(count: int, length: int) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [np.append(random.integers(4, VOCABULARY, length - 1), EOS).astype(np.int32) for _ in range(count)]


def random_batch(count: int, source: int, target: int, device: str) -> Batch:
    pairs = zip(random_sentences(count, source), random_sentences(count, target), strict=True)
    return collate(list(pairs)).to(choose(device))


def train(model: Seq2Seq, batch: Batch) -> int:
    """Takes a forward and a backward pass, and returns the target tokens."""
    model.zero_grad()
    model(batch).sum.backward()
    return batch.target_out.numel()


def measure(bench: Bench, run: Callable[[], int]) -> Cost:
    """run: returns the target tokens of a pass."""
    turns = [turn["run"] for turn in in_turn({"run": partial(timed, run, bench.device)}, bench.rounds)]
    return Cost(statistics.median(turn.seconds for turn in turns), turns[-1].result)


def training_cost(bench: Bench, tokens: int, length: int) -> Cost:
    batch = random_batch(tokens // length, length, length, bench.device)
    return measure(bench, partial(train, bench.model.train(), batch))


def decoding_cost(bench: Bench, width: int, length: int) -> Cost:
    """Returns the cost of decoding. An untrained model writes no EOS, so that sentences are as long as they may be."""
    search = GreedyConfig(max_length=length) if width == 1 else BeamConfig(beam_size=width, max_length=length)
    sources = random_sentences(SENTENCES, length)
    model = bench.model.eval()

    def decode() -> int:
        decoded = decode_rows(TorchNetwork(model, vocab_size=VOCABULARY), sources, search)
        return sum(len(hypotheses[0].tokens) for hypotheses in decoded)

    return measure(bench, decode)


def training_memory(bench: Bench, source: int) -> float:
    """Returns the MiB that a training step takes of sentences of this source and 25 target tokens."""
    batch = random_batch(SENTENCES, source, LENGTH, bench.device)
    device = choose(bench.device)
    bench.model.train().zero_grad()
    give_back_memory()
    reset_peak_memory(device)
    before = peak_memory(device)
    train(bench.model, batch)
    return (peak_memory(device) - before) / 2**20


class Group(NamedTuple):
    """Rows in which one size is varied."""

    name: str
    sizes: Sequence[int]
    measure: Callable[[int], Cost]
    unit: Callable[[int], int]
    """How many tokens make what the exponent is of."""


def groups_of_speed(bench: Bench) -> list[Group]:
    return [
        Group(
            "training, tokens of a batch", BATCHES, lambda size: training_cost(bench, size, LENGTH), lambda size: size
        ),
        Group("training, length", LENGTHS, lambda size: training_cost(bench, BATCH_TOKENS, size), lambda size: size),
        Group("decoding, beam", BEAMS, lambda size: decoding_cost(bench, size, LENGTH), lambda size: 1),
        Group("decoding, length", LENGTHS, lambda size: decoding_cost(bench, BEAM, size), lambda size: size),
    ]


def measure_rows(bench: Bench) -> dict[str, dict[str, float]]:
    rows = {}
    for group in groups_of_speed(bench):
        costs = []
        for size in group.sizes:
            seconds, tokens = group.measure(size)
            costs.append(seconds / tokens * group.unit(size))
            rows[f"{group.name} {size}"] = {"tokens_per_second": tokens / seconds}
        rows[f"{group.name} {group.sizes[-1]}"]["exponent"] = exponent(group.sizes, costs)
    peaks = [training_memory(bench, source) for source in SOURCES]
    for source, peak in zip(SOURCES, peaks, strict=True):
        rows[f"memory, source {source}"] = {"peak_mb": peak}
    rows[f"memory, source {SOURCES[-1]}"]["exponent"] = exponent(SOURCES, peaks)
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("growth", __doc__)
    add_device_and_size(parser)
    add_rounds(parser, 7)
    options = parser.parse_args(arguments)
    torch.manual_seed(1)
    model = Seq2Seq(configure("input_feeding", "fp32", options.size), VOCABULARY, VOCABULARY)
    bench = Bench(model.to(choose(options.device)), options.device, options.rounds)
    print_rows(measure_rows(bench), as_json=options.json, rounds=f"{options.rounds} rounds")
