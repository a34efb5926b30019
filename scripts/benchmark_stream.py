"""The delay of a word in a stream, and what the stream keeps after many words: neither grows where it need not.

    python scripts/benchmark.py stream [--words 10000] [--attentions monotonic mocha] [--json]

One session of an untrained model of the usual sizes, whose pointer stops at every other position by chance. Delays are
processor seconds between a word and what is written with it, medians of the first tenth of the words and of the last.
The exponent is that of the total time over the words read, fitted to the last three quarters.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from mt.models.seq2seq import ModelConfig, Seq2Seq
from mt.parsing import parse
from mt.search.config import MAX_LENGTH, OnlineConfig
from mt.streaming.progress import Progress, go_on

VOCABULARY = 8000
ATTENTIONS = ("monotonic", "mocha", "matcha", "milk")


class Wandering(nn.Module):
    """Costs what an energy costs, but is of either sign by chance: an untrained pointer would soon stay where it is."""

    def __init__(self, energy: Any) -> None:
        super().__init__()
        self.energy, self.keys = energy, energy.keys

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        energy = self.energy(queries, keys)
        return torch.rand_like(energy) - 0.5


def measured(attention: str, words: int) -> dict[str, Any]:
    """A session of one attention. Each word is one token."""
    options = {"encoder": {"name": "lstm"}, "decoder": {"name": "luong", "init_hidden": "zeros"}}
    model = Seq2Seq(parse({**options, "attention": {"name": attention}}, ModelConfig), VOCABULARY, VOCABULARY).eval()
    model.decoder.attention.energy = Wandering(model.decoder.attention.energy)
    # Without an end, as if all sentences were one.
    progress = Progress(model, OnlineConfig(max_ratio=100.0, min_length=MAX_LENGTH - 1))
    seconds, kept, written = [], [], 0
    for token in torch.randint(4, VOCABULARY, (words,)).tolist():
        began = time.process_time()
        written += len(go_on([(progress, [token])])[0])
        seconds.append(time.process_time() - began)
        kept.append(progress.kept)
    tenth, total = max(1, words // 10), [*accumulate(seconds)]
    return {
        "words": words,
        "tokens_written": written,
        "energies": progress.energies,
        "seconds": [statistics.median(seconds[:tenth]), statistics.median(seconds[-tenth:])],
        "kept": [max(kept[:tenth]), max(kept[-tenth:])],
        "exponent": exponent([*range(words // 4 + 1, words + 1)], total[words // 4 :]),
    }


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of a line through the logarithms."""
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, seconds)]).slope


def row(name: str, found: dict[str, Any]) -> str:
    (first, last), (few, many) = found["seconds"], found["kept"]
    per_token = found["energies"] / (found["words"] + found["tokens_written"])
    times = f"{1000 * first:>10.2f}{1000 * last:>10.2f}{last / first:>8.2f}"
    return f"{name:>10}{times}{few:>12,}{many:>12,}{many / few:>8.2f}{per_token:>10.2f}{found['exponent']:>10.2f}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="benchmark.py stream", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=10_000, metavar="N")
    parser.add_argument("--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS[:2], metavar="NAME")
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    results = {name: measured(name, options.words) for name in options.attentions}
    if options.json:
        print(json.dumps(results))
        return
    print(f"{options.words:,} words; milliseconds a word, and numbers kept, of the first tenth and the last")
    print(" " * 12 + "first ms   last ms   ratio  first kept   last kept   ratio energies*  exponent")
    for name, found in results.items():
        print(row(name, found))
    print("* for each token read or written")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
