"""Training beside a plain PyTorch loop of the same model, in float32 with input feeding, on the same batches.

    python scripts/benchmark.py train [--corpus FOLDER] [--device cuda] [--json]

`ratio` is how many times as fast as the plain loop in the same round, the median of rounds in which all take turns;
`tokens_per_second` counts real target tokens, EOS included, in the median round; `peak_mb` is what a process of its own
that only trains holds at the most, as the kernel counts (on a GPU: what is allocated there), in MiB. All rows are
compared with the plain loop with input feeding: `bf16` and `fp32` are the model without. `gnmt` rows are
decoder=gnmt with two layers. OMP_NUM_THREADS sets the threads.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from benchmark_plain import Plain, plain_of
from benchmark_setup import arguments, built, configured, prepared, show, speedups, timed

from mt.config import Config
from mt.data.batches import Batch, batch_order, collate
from mt.data.corpus import Corpus
from mt.device import AT_ONCE, choose, keep_programs, peak_memory
from mt.training.loop import updates
from mt.training.optimizer import build_optimizer
from mt.training.progress import Progress

ROWS = {
    "input_feeding_bf16": ("input_feeding", "bf16"),
    "input_feeding_fp32": ("input_feeding", "fp32"),
    "bf16": ("parallel", "bf16"),
    "fp32": ("parallel", "fp32"),
}
MORE = {"gnmt_bf16": ("gnmt", "bf16"), "gnmt_fp32": ("gnmt", "fp32")}
PLAIN = "plain"
TURN = 3
"""Updates of a contender in a round."""
LONGEST, PEAK_UPDATES = 40.0, 60
"""Seconds and updates after which memory is taken to be known."""
Turn = Callable[[int], int]
"""Makes some updates and gives their target tokens."""


def turns_of_mt(config: Config, corpus: Corpus) -> Turn:
    keep_programs(config.decoder.programs)
    model = built(config, corpus).to(choose(config.device))
    made = updates(model, build_optimizer(config.optimizer, model), corpus.training, config, Progress())
    return lambda count: sum(next(made).tokens for _ in range(count))


def turns_of_plain(model: Plain, batches: Sequence[Batch]) -> Turn:
    optimizer, remaining = torch.optim.Adam(model.parameters(), 1e-3), iter(batches)

    def turn(count: int) -> int:
        tokens = 0
        for _ in range(count):
            batch = next(remaining)
            real = int(batch.target_mask.sum())
            optimizer.zero_grad()
            (model(batch) / real).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            tokens += real
        return tokens

    return turn


def same_batches(config: Config, corpus: Corpus, count: int) -> list[Batch]:
    """The first ones of the order in which `mt` takes them, on its device."""
    split = corpus.split("train")
    tokens = config.training.batch_tokens
    order = batch_order(*split.lengths(), max_tokens=tokens, seed=config.seed, epoch=1)
    if len(order) < count:
        raise SystemExit(f"{count} batches are needed, and an epoch of this corpus has {len(order)}: lower --rounds")
    return [collate(split.ids(indices)).to(choose(config.device)) for indices in order[:count]]


def peak(decoder: str, precision: str, size: int, device: str, folder: Path) -> float:
    """MiB of a process that trains, which must be new."""
    corpus = Corpus.open(folder)
    config = configured(decoder, precision, size, max_updates=PEAK_UPDATES).model_copy(update={"device": device})
    turn, began = turns_of_mt(config, corpus), time.perf_counter()
    for _ in range(PEAK_UPDATES):
        turn(1)
        if time.perf_counter() - began > LONGEST:
            break
    return peak_memory(torch.device(device)) / 2**20


def alone(row: tuple[str, str], size: int, device: str, folder: Path) -> float:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(peak, *row, size, device, folder).result()


def main(given: Sequence[str]) -> None:
    parser = arguments(__doc__)
    parser.add_argument("--gnmt", action="store_true", help="add the rows of decoder=gnmt")
    options = parser.parse_args(given)
    with prepared(options.corpus) as folder:
        found = measured(folder, ROWS | (MORE if options.gnmt else {}), options.size, options.device, options.rounds)
    if options.json:
        del found[PLAIN]
    else:
        print(f"{torch.get_num_threads()} threads, medians of {options.rounds} rounds of {TURN} updates")
    show(found, options.json)


def measured(
    folder: Path, rows: Mapping[str, tuple[str, str]], size: int, device: str, rounds: int
) -> dict[str, dict[str, float]]:
    """Of each row, and of the plain loop, what is printed."""
    peaks = {name: alone(row, size, device, folder) for name, row in rows.items()}
    keep_programs(AT_ONCE)  # of all contenders, which share them
    corpus = Corpus.open(folder)
    configs = {name: configured(*row, size).model_copy(update={"device": device}) for name, row in rows.items()}
    first = configs["input_feeding_fp32"]
    plain = plain_of(built(first, corpus)).to(choose(device))
    contenders = {PLAIN: turns_of_plain(plain, same_batches(first, corpus, TURN * (rounds + 1)))}
    contenders |= {name: turns_of_mt(config, corpus) for name, config in configs.items()}
    speeds = []
    for number in range(rounds + 1):
        turn = {}
        for name, run in contenders.items():
            tokens: list[int] = []
            seconds = timed(lambda run=run, tokens=tokens: tokens.append(run(TURN)), device)
            turn[name] = tokens[0] / seconds
        speeds += [turn] if number else []  # the first one warms up
    ratios = speedups(speeds, PLAIN)
    found = {
        name: {"ratio": ratios[name], "tokens_per_second": statistics.median(turn[name] for turn in speeds)}
        for name in contenders
    }
    for name, memory in peaks.items():
        found[name]["peak_mb"] = memory
    return found
