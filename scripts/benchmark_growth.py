"""How cost grows: training over the size of a batch and the length of its sentences, decoding over the width of a beam
and the length, memory of a training step over the length of the source.

    python scripts/benchmark.py growth [--device cuda] [--json]

Random sentences, a model of the benchmarks' sizes with input feeding in float32. Rows name what is varied, the others
stay at 2,000 tokens of 25 a sentence, and 16 sentences with a beam of 5. `tokens_per_second` counts target tokens; what
a step takes beyond what the process held before it is `peak_mb`, in MiB. `exponent`, in the last row of a group: of the
cost of a batch, a sentence or (over the beam) a token, or of the memory, over what is varied; 1 is linear.
OMP_NUM_THREADS sets the threads.
"""

import statistics
from collections.abc import Callable, Sequence

import numpy as np
import torch
from benchmark_setup import VOCABULARY, arguments, configured, exponent, show, timed

from mt.data.batches import Batch, collate
from mt.data.tokenizer import EOS
from mt.decoding.batches import decode_ids
from mt.device import choose, give_back_memory, peak_memory, reset_peak_memory
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig

TOKENS, LENGTH, BEAM, SENTENCES = 2_000, 25, 5, 16
BATCHES, LENGTHS, WIDTHS, SOURCES = (500, 1_000, 2_000, 4_000), (10, 20, 40, 80, 160), (1, 2, 5, 10, 20), (50, 200, 800)
Row = dict[str, float]


def sentences(count: int, length: int) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [np.append(random.integers(4, VOCABULARY, length - 1), EOS).astype(np.int32) for _ in range(count)]


def batch(count: int, source: int, target: int, device: str) -> Batch:
    pairs = zip(sentences(count, source), sentences(count, target), strict=True)
    return collate(list(pairs)).to(choose(device))


def train(model: Seq2Seq, given: Batch) -> None:
    """A forward and a backward pass."""
    model.zero_grad()
    model(given).sum.backward()


def median(run: Callable[[], object], rounds: int, device: str) -> float:
    run()
    return statistics.median(timed(run, device) for _ in range(rounds))


def trained(model: Seq2Seq, tokens: int, length: int, rounds: int, device: str) -> float:
    """Seconds for a target token."""
    given = batch(tokens // length, length, length, device)
    return median(lambda: train(model, given), rounds, device) / (tokens // length * length)


def decoded(model: Seq2Seq, width: int, length: int, rounds: int, device: str) -> float:
    """Seconds for a target token. An untrained model writes no EOS, so that sentences are as long as they may be."""
    search = GreedyConfig(max_length=length) if width == 1 else BeamConfig(beam_size=width, max_length=length)
    sources, written = sentences(SENTENCES, length), []

    def run() -> None:
        found = decode_ids(model, sources, search, vocab_size=VOCABULARY, precision="fp32")
        written.append(sum(len(best[0].tokens) for best in found))

    return median(run, rounds, device) / written[-1]


def memory(model: Seq2Seq, source: int, device: str) -> float:
    """MiB that a training step takes of sentences of this source and 25 target tokens."""
    given = batch(SENTENCES, source, LENGTH, device)
    place = choose(device)
    model.zero_grad()
    give_back_memory()
    reset_peak_memory(place)
    before = peak_memory(place)
    train(model, given)
    return (peak_memory(place) - before) / 2**20


def main(given: Sequence[str]) -> None:
    options = arguments(__doc__).parse_args(given)
    device, rounds = options.device, options.rounds
    torch.manual_seed(1)
    model = Seq2Seq(configured("input_feeding", "fp32", options.size), VOCABULARY, VOCABULARY).to(choose(device))
    groups: dict[str, tuple[Sequence[int], Callable[[int], tuple[float, float]]]] = {
        # what is varied: its values, and of each the seconds for a token and how many tokens make the unit of the cost
        "training, tokens of a batch": (BATCHES, lambda n: (trained(model, n, LENGTH, rounds, device), n)),
        "training, length": (LENGTHS, lambda n: (trained(model, TOKENS, n, rounds, device), n)),
        "decoding, beam": (WIDTHS, lambda n: (decoded(model.eval(), n, LENGTH, rounds, device), 1)),
        "decoding, length": (LENGTHS, lambda n: (decoded(model.eval(), BEAM, n, rounds, device), n)),
    }
    found: dict[str, Row] = {}
    for name, (sizes, cost) in groups.items():
        model.train()
        costs: list[float] = []
        for size in sizes:
            seconds, tokens = cost(size)
            costs.append(seconds * tokens)
            found[f"{name} {size}"] = {"tokens_per_second": 1 / seconds}
        found[f"{name} {sizes[-1]}"]["exponent"] = exponent(sizes, costs)
    model.train()
    peaks = [memory(model, size, device) for size in SOURCES]
    for size, peak in zip(SOURCES, peaks, strict=True):
        found[f"memory, source {size}"] = {"peak_mb": peak}
    found[f"memory, source {SOURCES[-1]}"]["exponent"] = exponent(SOURCES, peaks)
    if not options.json:
        print(f"{torch.get_num_threads()} threads, medians of {rounds} rounds")
    show(found, options.json)
