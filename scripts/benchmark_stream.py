"""The delay of a word in a stream, and what the stream keeps after many words: neither grows where it need not.
Or the real-time factor of a run that reads sound.

    python scripts/benchmark.py stream [--words 10000] [--attentions monotonic mocha] [--json]
    python scripts/benchmark.py stream --run RUN --audio FILE [--json]

One session of an untrained model of the usual sizes, whose pointer stops at every other position by chance. Delays are
processor seconds between a word and what is written with it, medians over the last tenth of the words, and over those
of a second session that begins then: the two take turns, since a processor is not equally fast at all times. The
exponent is that of the first session's total time over the words read, fitted to the last three quarters.

With --run and --audio, a trained model hears a sound 10 ms at a time. The real-time factor is the processor seconds of
one thread, reading the file, features and search included, per second of sound; a piece takes at the most what is said.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import torch
from benchmark_setup import exponent
from torch import Tensor, nn

from mt.command_line import Parser, whole_number
from mt.data.fields import AudioField
from mt.decoding.load import load
from mt.decoding.streaming.state import StreamState, advance_streams
from mt.decoding.translator import Translator
from mt.errors import UserError, reported
from mt.models.config import ModelConfig
from mt.models.seq2seq import Seq2Seq
from mt.parsing import parse
from mt.search.config import MAX_LENGTH, OnlineConfig

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
    search = OnlineConfig(max_ratio=100.0, min_length=MAX_LENGTH - 1)
    old, young = _Session(StreamState(model, search)), _Session(StreamState(model, search))
    tenth = max(1, words // 10)
    for number, token in enumerate(torch.randint(4, VOCABULARY, (words,)).tolist()):
        old.read(token)
        if number >= words - tenth:
            young.read(token)
    total = [*accumulate(old.seconds)]
    return {
        "words": words,
        "tokens_written": old.written,
        "energies": old.progress.energies,
        "seconds": [statistics.median(young.seconds), statistics.median(old.seconds[-tenth:])],
        "kept": [max(young.kept), max(old.kept[-tenth:])],
        "exponent": exponent([*range(words // 4 + 1, words + 1)], total[words // 4 :]),
    }


class _Session:
    """What each word of a session took, and what was kept after it."""

    def __init__(self, progress: StreamState) -> None:
        self.progress = progress
        self.seconds: list[float] = []
        self.kept: list[int] = []
        self.written = 0

    def read(self, token: int) -> None:
        began = time.process_time()
        self.written += len(advance_streams([(self.progress, [token])])[0])
        self.seconds.append(time.process_time() - began)
        self.kept.append(self.progress.kept)


def heard(translator: Translator, name: str) -> dict[str, Any]:
    """A sound of which 10 ms come at a time."""
    if not isinstance(translator.field, AudioField):
        raise UserError("--audio is of runs that read sound, and this one does not: leave it out")
    session = translator.stream()
    seconds, kept, began = [], [], time.process_time()
    for piece in chain(translator.field.pieces(name), [None]):
        if piece is None:
            session.finish()
        else:
            session.read(piece)
        kept.append(session.kept)
        seconds.append(time.process_time() - began)
        began = time.process_time()
    sound = session.heard / 1000
    tenth = max(1, len(kept) // 10)
    return {
        "sound_seconds": sound,
        "processor_seconds": sum(seconds),
        "real_time_factor": sum(seconds) / sound,
        "longest_piece": max(seconds),
        "kept": [max(kept[:tenth]), max(kept[-tenth:])],
    }


def _tell_heard(options: argparse.Namespace) -> None:
    if not (options.run and options.audio):
        raise UserError("--run RUN and --audio FILE go together: give both")
    found = heard(load(options.run, device="cpu"), options.audio)
    if options.json:
        print(json.dumps(found))
        return
    few, many = found["kept"]
    print(
        f"real-time factor {found['real_time_factor']:.3f}: {found['processor_seconds']:.2f} processor seconds for "
        f"{found['sound_seconds']:.2f} seconds of sound, at most {1000 * found['longest_piece']:.1f} ms for 10 ms; "
        f"numbers kept in the first tenth {few:,}, in the last {many:,}"
    )


def row(name: str, found: dict[str, Any]) -> str:
    (first, last), (few, many) = found["seconds"], found["kept"]
    per_token = found["energies"] / (found["words"] + found["tokens_written"])
    times = f"{1000 * first:>10.2f}{1000 * last:>10.2f}{last / first:>8.2f}"
    return f"{name:>10}{times}{few:>12,}{many:>12,}{many / few:>8.2f}{per_token:>10.2f}{found['exponent']:>10.2f}"


def main(arguments: Sequence[str]) -> None:
    parser = Parser(__doc__, prog="benchmark.py stream")
    parser.add_argument("--words", type=whole_number(20, 10_000_000), default=10_000, metavar="N")
    parser.add_argument("--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS[:2], metavar="NAME")
    parser.add_argument("--run", type=Path, metavar="RUN", help="a run that reads sound, with --audio")
    parser.add_argument("--audio", metavar="FILE", help="what it hears")
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if options.run or options.audio:
        with reported():
            _tell_heard(options)
        return
    results = {name: measured(name, options.words) for name in options.attentions}
    if options.json:
        print(json.dumps(results))
        return
    print(f"{options.words:,} words; milliseconds a word, and numbers kept, of a first tenth and of the last")
    print(" " * 12 + "first ms   last ms   ratio  first kept   last kept   ratio energies*  exponent")
    for name, found in results.items():
        print(row(name, found))
    print("* for each token read or written")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
