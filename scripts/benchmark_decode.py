"""Decoding beside plain PyTorch searches of the same model, on the same sentences.

    python scripts/benchmark.py decode [--corpus FOLDER] [--device cuda] [--json]

A model of the benchmarks' sizes, with input feeding, is trained for a while, so that sentences end where they end.
The plain search is in float32, `mt` decodes in each precision that the device has, and single sentences by its export
to ONNX in int8, too, where the extra `onnx` is installed. `fp32_ratio`, `bf16_ratio`, `int8_ratio` and `onnx_ratio` are
how many times as fast it is as the plain search in the same round, medians of rounds in which all take turns; `ratio`
is that of the fastest, whose `tokens_per_second` counts target tokens, EOS included. `agree` (not in JSON) is the share
of sentences in which it found the tokens of the plain search. OMP_NUM_THREADS sets the threads.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from benchmark_plain import Found, Plain, plain_of
from benchmark_setup import arguments, built, configured, prepared, show, speedups, timed
from torch import Tensor

from mt.command_line import whole_number
from mt.config import Config
from mt.data.batches import collate, fixed_order
from mt.data.corpus import Corpus
from mt.data.split import Split
from mt.data.tokenizer import EOS
from mt.decoding.batches import decode_ids
from mt.decoding.onnx import decode_ids as decode_by_onnx
from mt.device import choose
from mt.export.graphs import write_graphs
from mt.models.seq2seq import Seq2Seq
from mt.onnx.networks import Networks
from mt.search.config import PRECISIONS, BeamConfig, GreedyConfig, Precision, SearchConfig
from mt.storage import write_json
from mt.training.loop import updates
from mt.training.optimizer import build_optimizer
from mt.training.progress import Progress

SEARCHES: dict[str, SearchConfig] = {
    "beam5": BeamConfig(beam_size=5, batch_tokens=1 << 20),
    "greedy": GreedyConfig(batch_tokens=1 << 20),
}
BATCHES, SINGLES, BATCH = 4, 12, 64
"""Batches and single sentences of a turn, and the sentences of a batch."""
Tokens = list[list[int]]


class Row(NamedTuple):
    search: SearchConfig
    groups: list[list[np.ndarray]]
    """What is decoded together."""


def rows(split: Split) -> dict[str, Row]:
    lengths, _ = split.lengths()
    order = np.concatenate(fixed_order(lengths, max_tokens=1 << 20))
    sources = [source for source, _ in split.ids(order)]
    whole = [sources[begin : begin + BATCH] for begin in range(0, len(sources), BATCH)]
    batches = [whole[i] for i in np.linspace(0, len(whole) - 1, min(BATCHES, len(whole))).astype(int)]
    singles = [[sources[i]] for i in np.linspace(0, len(sources) - 1, min(SINGLES, len(sources))).astype(int)]
    return {
        f"{name}_{kind}": Row(search, groups)
        for name, search in SEARCHES.items()
        for kind, groups in (("batch", batches), ("single", singles))
    }


def by_mt(model: Seq2Seq, row: Row, vocabulary: int, precision: Precision) -> Tokens:
    found = (decode_ids(model, group, row.search, vocab_size=vocabulary, precision=precision) for group in row.groups)
    return [list(best[0].tokens) for group in found for best in group]


def by_plain(model: Plain, row: Row) -> Tokens:
    device, search = model.gain.device, row.search
    found: list[Found] = []
    for group in row.groups:
        batch = collate([(source, np.array([EOS])) for source in group]).to(device)
        limits: Tensor = search.max_lengths(batch.source_mask.sum(1))
        if isinstance(search, BeamConfig):
            found += model.beam(batch.source, batch.source_mask, limits, search.beam_size, search.length_penalty)
        else:
            found += model.greedy(batch.source, batch.source_mask, limits)
    return [each.tokens for each in found]


def exported(model: Seq2Seq, config: Config) -> Networks | None:
    """The model in int8 in ONNX Runtime; None where the extra `onnx` is not installed."""
    if not all(find_spec(module) for module in ("onnx", "onnxruntime", "onnxscript")):
        return None
    with tempfile.TemporaryDirectory() as root:
        write_json(Path(root) / "config.json", {})
        write_graphs(Path(root), model, config, {}, "int8")
        return Networks(Path(root))


def by_onnx(networks: Networks, row: Row) -> Tokens:
    return [list(decode_by_onnx(networks, ids, row.search)[0].tokens) for group in row.groups for ids in group]


def compared(model: Seq2Seq, row: Row, rounds: int, device: str, networks: Networks | None) -> dict[str, float]:
    """What is printed of a row. networks: of the model, which decode single sentences; None: nothing by ONNX."""
    plain, vocabulary = plain_of(model).eval(), len(model.decoder.output.weight)
    contenders: dict[str, Callable[[], Tokens]] = {"plain": lambda: by_plain(plain, row)}
    for precision in PRECISIONS:
        if precision == ("fp16" if device == "cpu" else "int8"):
            continue
        contenders[precision] = lambda precision=precision: by_mt(model, row, vocabulary, precision)  # type: ignore[misc]
    if networks is not None and max(map(len, row.groups)) == 1:
        contenders["onnx"] = lambda: by_onnx(networks, row)
    turns, found = [], dict[str, Tokens]()
    for number in range(rounds + 1):
        turn = {}
        for name, run in contenders.items():
            seconds = timed(lambda name=name, run=run: found.update({name: run()}), device)
            turn[name] = sum(map(len, found[name])) / seconds
        turns += [turn] if number else []  # the first one warms up
    medians = {name: statistics.median(turn[name] for turn in turns) for name in contenders}
    ratios = {name: ratio for name, ratio in speedups(turns, "plain").items() if name != "plain"}
    fastest = max(ratios, key=lambda name: ratios[name])
    agree = statistics.mean(ours == theirs for ours, theirs in zip(found[fastest], found["plain"], strict=True))
    return {
        "ratio": ratios[fastest],
        **{f"{name}_ratio": ratio for name, ratio in ratios.items()},
        "tokens_per_second": medians[fastest],
        "plain_tokens_per_second": medians["plain"],
        "agree": agree,
    }


def main(given: Sequence[str]) -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--updates",
        type=whole_number(1, 1_000_000),
        default=120,
        metavar="N",
        help="with which the model is trained (default: 120)",
    )
    options = parser.parse_args(given)
    with prepared(options.corpus) as folder:
        corpus = Corpus.open(folder)
        config = configured("input_feeding", "fp32", options.size, max_updates=options.updates)
        config = config.model_copy(update={"device": options.device})
        model = trained(config, corpus)
        networks = exported(model, config) if options.device == "cpu" else None
        found = {
            name: compared(model, row, options.rounds, options.device, networks)
            for name, row in rows(corpus.split("test")).items()
        }
    if options.json:
        hidden = ("plain_tokens_per_second", "agree")
        found = {name: {key: row[key] for key in row if key not in hidden} for name, row in found.items()}
    else:
        print(f"{torch.get_num_threads()} threads, medians of {options.rounds} rounds")
    show(found, options.json)


def trained(config: Config, corpus: Corpus) -> Seq2Seq:
    model = built(config, corpus).to(choose(config.device))
    for _ in updates(model, build_optimizer(config.optimizer, model), corpus.training, config, Progress()):
        pass
    return model.eval()
