"""Decoding beside plain PyTorch searches of the same model, on the same sentences.

    python scripts/benchmark.py decode [--corpus FOLDER] [--device cuda] [--json]

A model of the benchmarks' sizes, with input feeding, is trained for a while, so that sentences end where they end.
The plain search is in float32, and `mt` decodes in each precision that the device has. Where the extra `onnx` is
installed, its export in int8 decodes single sentences, too. `fp32_ratio`, `bf16_ratio`, `int8_ratio` and `onnx_ratio`
compare its speed with the plain search of the same round. They are medians of rounds in which all take turns. `ratio`
is that of the fastest, whose `tokens_per_second` counts target tokens, EOS included. `agree` is the share
of sentences in which it found the tokens of the plain search. OMP_NUM_THREADS sets the threads.
"""

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from benchmarks.harness import (
    add_device_and_size,
    add_number,
    add_rounds,
    in_turn,
    medians,
    option_parser,
    print_rows,
    speedups,
    timed,
)
from benchmarks.model import add_corpus, configure, prepared_corpus, start_training
from benchmarks.plain import Hypothesis, Plain, plain_of

from mt.config import Config
from mt.data.batches import collate, fixed_order
from mt.data.corpus import Corpus
from mt.data.split import Split
from mt.data.tokenizer import EOS
from mt.decoding.network import Network, decode_rows
from mt.decoding.onnx import OnnxNetwork
from mt.decoding.torch_network import TorchNetwork
from mt.export.graphs import write_graphs
from mt.models.seq2seq import Seq2Seq
from mt.search.config import PRECISIONS, BeamConfig, GreedyConfig, SearchConfig
from mt.storage import write_json

SEARCHES: dict[str, SearchConfig] = {
    "beam5": BeamConfig(beam_size=5, batch_tokens=1 << 20),
    "greedy": GreedyConfig(batch_tokens=1 << 20),
}
BATCHES = 3
"""Batches of a turn."""
SINGLES = 12
"""Single sentences of a turn."""
BATCH_SIZE = 64
PLAIN = "plain"
Item = TypeVar("Item")
Tokens = list[list[int]]
"""A sentence's tokens each."""


class Task(NamedTuple):
    """A row of the benchmark."""

    search: SearchConfig
    groups: list[list[np.ndarray]]
    """Sources; those of a group are decoded together."""


def tasks(split: Split) -> dict[str, Task]:
    lengths, _ = split.lengths()
    order = np.concatenate(fixed_order(lengths, max_tokens=1 << 20))
    sources = [*split.read(order).sources]
    batches = [sources[begin : begin + BATCH_SIZE] for begin in range(0, len(sources), BATCH_SIZE)]
    kinds = {
        "batch": evenly_spaced(batches, BATCHES),
        "single": [[source] for source in evenly_spaced(sources, SINGLES)],
    }
    return {
        f"{name}_{kind}": Task(search, groups) for name, search in SEARCHES.items() for kind, groups in kinds.items()
    }


def evenly_spaced(items: Sequence[Item], count: int) -> list[Item]:
    """Returns `count` items from the first to the last, or all if there are fewer."""
    return [items[i] for i in np.linspace(0, len(items) - 1, min(count, len(items))).astype(int)]


def decode_by_mt(network: Network, task: Task) -> Tokens:
    decoded = (decode_rows(network, group, task.search) for group in task.groups)
    return [list(hypotheses[0].tokens) for group in decoded for hypotheses in group]


def decode_plainly(model: Plain, task: Task) -> Tokens:
    device = model.gain.device
    search = task.search
    decoded: list[Hypothesis] = []
    for group in task.groups:
        batch = collate([(source, np.array([EOS])) for source in group]).to(device)
        limits = torch.tensor([search.longest(len(source)) for source in group], device=device)
        if isinstance(search, BeamConfig):
            decoded += model.beam(batch.source, batch.source_mask, limits, search.beam_size, search.length_penalty)
        else:
            decoded += model.greedy(batch.source, batch.source_mask, limits)
    return [hypothesis.tokens for hypothesis in decoded]


def export(model: Seq2Seq, config: Config) -> OnnxNetwork | None:
    """Exports the model in int8 for ONNX Runtime; None if the extra `onnx` is not installed."""
    if not all(find_spec(module) for module in ("onnx", "onnxruntime", "onnxscript")):
        return None
    with tempfile.TemporaryDirectory() as root:
        write_json(Path(root) / "config.json", config.model_dump(mode="json"))
        write_graphs(Path(root), model, config, {}, "int8")
        return OnnxNetwork(Path(root))


def decoders(model: Seq2Seq, exported: OnnxNetwork | None, task: Task, device: str) -> dict[str, Callable[[], Tokens]]:
    """Returns functions that decode a task by `mt`, by precision or engine. exported: for single sentences."""
    ways: dict[str, Callable[[], Tokens]] = {}
    for precision in PRECISIONS:
        if precision != ("fp16" if device == "cpu" else "int8"):
            network = TorchNetwork(model, vocab_size=len(model.decoder.output.weight), precision=precision)
            ways[precision] = partial(decode_by_mt, network, task)
    if exported is not None and max(map(len, task.groups)) == 1:
        ways["onnx"] = partial(decode_by_mt, exported, task)
    return ways


def measure(model: Seq2Seq, exported: OnnxNetwork | None, task: Task, rounds: int, device: str) -> Mapping[str, float]:
    """Returns the row of a task, in which all ways of decoding take turns with the plain search."""
    ways = decoders(model, exported, task, device)
    contenders = {PLAIN: partial(decode_plainly, plain_of(model).eval(), task), **ways}
    turns = in_turn({name: partial(timed, decode, device) for name, decode in contenders.items()}, rounds)
    speeds = [{name: sum(map(len, one.result)) / one.seconds for name, one in turn.items()} for turn in turns]
    ratios = speedups(speeds, PLAIN)
    fastest = max(ways, key=ratios.__getitem__)
    pairs = zip(turns[-1][fastest].result, turns[-1][PLAIN].result, strict=True)
    return {
        "ratio": ratios[fastest],
        **{f"{way}_ratio": ratios[way] for way in ways},
        "tokens_per_second": medians(speeds)[fastest],
        "plain_tokens_per_second": medians(speeds)[PLAIN],
        "agree": statistics.mean(ours == plain for ours, plain in pairs),
    }


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("decode", __doc__)
    add_corpus(parser)
    add_device_and_size(parser)
    add_rounds(parser, 5)
    add_number(parser, "--updates", 120, "with which the model is trained")
    options = parser.parse_args(arguments)
    with prepared_corpus(options.corpus) as folder:
        corpus = Corpus.open(folder)
        config = configure("input_feeding", "fp32", options.size, device=options.device, max_updates=options.updates)
        model, made = start_training(config, corpus)
        for _ in made:
            pass
        model.eval()
        exported = export(model, config) if options.device == "cpu" else None
        rows = {
            name: measure(model, exported, task, options.rounds, options.device)
            for name, task in tasks(corpus.split("test")).items()
        }
    print_rows(rows, as_json=options.json, rounds=f"{options.rounds} rounds")
