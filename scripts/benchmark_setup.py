"""What the benchmarks of training and decoding share: the model's sizes, the text, and the form of their tables."""

import contextlib
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from mt.command_line import Parser, whole_number
from mt.config import Config
from mt.data.corpus import Corpus
from mt.models.seq2seq import Seq2Seq
from mt.parsing import parse

VOCABULARY = 8000
SIZES: dict[str, Any] = {
    "embedding": {"embedding_dim": 256, "dropout": 0.2, "tie_output": False},
    "encoder": {"name": "bilstm", "hidden_size": 512, "dropout": 0.2},
    "attention": {"name": "general"},
    "optimizer": {"name": "adam", "lr": 1e-3},
}
DECODERS: dict[str, dict[str, Any]] = {
    "input_feeding": {"name": "luong", "input_feeding": True},
    "parallel": {"name": "luong"},
    "gnmt": {"name": "gnmt", "num_layers": 2},
}


def arguments(description: str | None) -> Parser:
    """The options that both have."""
    parser = Parser(description)
    parser.add_argument("--corpus", type=Path, help="folder of a prepared corpus of text; default: the phrasebook")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument(
        "--rounds", type=whole_number(1, 10_000), default=7, metavar="N", help="of which medians are taken (default: 7)"
    )
    parser.add_argument(
        "--size", type=whole_number(1, 100_000), default=512, metavar="N", help="of the hidden layers (default: 512)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


@contextlib.contextmanager
def prepared(folder: Path | None) -> Iterator[Path]:
    """The folder itself; None: the phrasebook's, which is made and does not stay."""
    if folder is not None:
        yield folder
        return
    from data_prep.prepare import prepare
    from mt.data.dataset import PHRASEBOOK

    with tempfile.TemporaryDirectory() as root:
        yield prepare(PHRASEBOOK, Path(root), progress=False)


def configured(decoder: str, precision: str, size: int, **training: Any) -> Config:
    """decoder: a key of DECODERS."""
    plain = SIZES | {"decoder": DECODERS[decoder] | {"hidden_size": size, "readout_size": size, "dropout": 0.2}}
    plain |= {"encoder": SIZES["encoder"] | {"hidden_size": size}, "precision": precision}
    return parse(plain | {"training": {"label_smoothing": 0.0, **training}}, Config)


def built(config: Config, corpus: Corpus) -> Seq2Seq:
    """At least as many words as the benchmarks' vocabulary has, since the output layer is half of the work."""
    torch.manual_seed(1)
    return Seq2Seq(config, *(max(VOCABULARY, size) for size in corpus.tokenizers.sizes[:2]))


def timed(run: Callable[[], Any], device: str) -> float:
    """Seconds that it took, begun when the threads of what ran before no longer wait spinning: OpenMP's do so for some
    milliseconds, and would take the processors from other libraries' threads."""
    time.sleep(0.02)
    began = time.perf_counter()
    run()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - began


def speedups(turns: Sequence[Mapping[str, float]], base: str) -> dict[str, float]:
    """Of each contender the median over rounds of how many times as fast it was as `base`, by their tokens a second in
    the same round."""
    return {name: statistics.median(turn[name] / turn[base] for turn in turns) for name in turns[0]}


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """b of costs = a sizes^b: the slope of a line through the logarithms, by least squares."""
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, costs)]).slope


def show(rows: Mapping[str, Mapping[str, float]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows))
        return
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    width = max(map(len, rows))
    print(f"{'':{width}}" + "".join(f"{column.replace('_', ' '):>20}" for column in columns))
    for name, row in rows.items():
        cells = ("" if column not in row else f"{row[column]:,.2f}" for column in columns)
        print(f"{name:{width}}" + "".join(f"{cell:>20}" for cell in cells))
