"""Training beside a plain PyTorch loop of the same model, in float32 with input feeding, on the same batches.

    python scripts/benchmark.py train [--corpus FOLDER] [--ssru] [--device cuda] [--batch-tokens N] [--json]

`ratio` is how many times as fast as the plain loop in the same round, the median of rounds in which all take turns;
`tokens_per_second` counts real target tokens, EOS included, in the median round. `peak_mb` is the largest memory of a
process that only trains, in MiB: as the kernel counts it, or on a GPU as allocated there. All rows are compared with
the plain loop with input feeding: `bf16` and `fp32` are the model without. `ssru` rows are encoder=bissru
with decoder=ssru. OMP_NUM_THREADS sets the threads.

On a GPU all contenders first train for two epochs, after which `mt` has recorded the shapes of its batches.
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch
from benchmarks.harness import (
    add_device_and_size,
    add_rounds,
    in_turn,
    medians,
    option_parser,
    print_rows,
    speedups,
    timed,
)
from benchmarks.model import add_corpus, build, configure, prepared_corpus, start_training
from benchmarks.plain import Plain, plain_of

from mt.common.memory import keep_freed
from mt.config import Config
from mt.data.batches import Batch, batch_order, collate
from mt.data.corpus import Corpus
from mt.device import choose, peak_memory
from mt.errors import UserError
from mt.kernels.threads import keep_programs

Setting = tuple[str, str]
"""A decoder and a precision."""
SETTINGS: dict[str, Setting] = {
    "input_feeding_bf16": ("input_feeding", "bf16"),
    "input_feeding_fp32": ("input_feeding", "fp32"),
    "bf16": ("parallel", "bf16"),
    "fp32": ("parallel", "fp32"),
}
SSRU: dict[str, Setting] = {"ssru_bf16": ("ssru", "bf16"), "ssru_fp32": ("ssru", "fp32")}
PLAIN = "plain"
UPDATES = {"cpu": 3, "cuda": 30}
"""Updates of a contender in a round, by the kind of device."""
PEAK_SECONDS = 40.0
PEAK_UPDATES = 60
"""Memory has reached its peak after so many seconds or updates."""
Train = Callable[[int], int]
"""A function that makes a number of updates, and returns their target tokens."""


def train_by_mt(config: Config, corpus: Corpus) -> Train:
    keep_programs()
    _, made = start_training(config, corpus)
    return lambda count: sum(next(made).tokens for _ in range(count))


def train_plainly(model: Plain, batches: Sequence[Batch]) -> Train:
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    remaining = itertools.cycle(batches)

    def train(count: int) -> int:
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

    return train


def first_batches(config: Config, corpus: Corpus, count: int | None) -> list[Batch]:
    """Returns the first `count` batches of `mt`'s first epoch on its device; None: all of them."""
    split = corpus.split("train")
    tokens = config.training.batch_tokens
    order = batch_order(*split.lengths(), max_tokens=tokens, seed=config.seed, epoch=1)
    if count is not None and len(order) < count:
        raise UserError(f"{count} batches are needed, and an epoch of this corpus has {len(order)}: lower --rounds")
    return [collate(split.read(indices).pairs).to(choose(config.device)) for indices in order[:count]]


def peak(setting: Setting, size: int, device: str, folder: Path, batch_tokens: int | None) -> float:
    """Trains, and returns the peak memory of this process in MiB. The process must be new."""
    keep_freed()  # as commands do
    config = configure(*setting, size, device=device, max_updates=PEAK_UPDATES, batch_tokens=batch_tokens)
    train = train_by_mt(config, Corpus.open(folder))
    start = time.perf_counter()
    for _ in range(PEAK_UPDATES):
        train(1)
        if time.perf_counter() - start > PEAK_SECONDS:
            break
    return peak_memory(torch.device(device)) / 2**20


def peak_of_new_process(setting: Setting, size: int, device: str, folder: Path, batch_tokens: int | None) -> float:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(peak, setting, size, device, folder, batch_tokens).result()


def tokens_per_second(train: Train, device: str) -> float:
    seconds, tokens = timed(lambda: train(UPDATES[torch.device(device).type]), device)
    return tokens / seconds


def measure(
    folder: Path, settings: Mapping[str, Setting], size: int, device: str, rounds: int, batch_tokens: int | None
) -> dict[str, dict[str, float]]:
    """Returns a row for the plain loop, then one for each setting."""
    # Memory is measured in new processes, speed in this one.
    peaks = {
        name: peak_of_new_process(setting, size, device, folder, batch_tokens) for name, setting in settings.items()
    }
    corpus = Corpus.open(folder)
    configs = {
        name: configure(*setting, size, device=device, batch_tokens=batch_tokens) for name, setting in settings.items()
    }
    first = configs["input_feeding_fp32"]
    plain = plain_of(build(first, corpus)).to(choose(device))
    on_gpu = torch.device(device).type == "cuda"
    batches = first_batches(first, corpus, None if on_gpu else UPDATES["cpu"] * (rounds + 1))
    contenders = {PLAIN: train_plainly(plain, batches)}
    contenders |= {name: train_by_mt(config, corpus) for name, config in configs.items()}
    # On a GPU the graphs of all batch shapes are recorded first.
    for train in contenders.values() if on_gpu else ():
        train(2 * len(batches))
    speeds = in_turn({name: partial(tokens_per_second, train, device) for name, train in contenders.items()}, rounds)
    ratios = speedups(speeds, PLAIN)
    rows = {name: {"ratio": ratios[name], "tokens_per_second": speed} for name, speed in medians(speeds).items()}
    for name, memory in peaks.items():
        rows[name]["peak_mb"] = memory
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("train", __doc__)
    add_corpus(parser)
    add_device_and_size(parser)
    add_rounds(parser, 7)
    parser.add_argument("--batch-tokens", type=int, help="tokens of a batch; default: those of a run")
    parser.add_argument("--ssru", action="store_true", help="add the rows of decoder=ssru")
    options = parser.parse_args(arguments)
    settings = SETTINGS | (SSRU if options.ssru else {})
    with prepared_corpus(options.corpus) as folder:
        rows = measure(folder, settings, options.size, options.device, options.rounds, options.batch_tokens)
    if options.json:
        del rows[PLAIN]
    print_rows(rows, as_json=options.json, rounds=f"{options.rounds} rounds")
