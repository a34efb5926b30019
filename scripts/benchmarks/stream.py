"""The delay of a word in a stream, and what the stream keeps after many words: neither grows where it need not.
Or the real-time factor of a run that reads sound.

    python scripts/benchmark.py stream [--words 10000] [--attentions monotonic mocha] [--json]
    python scripts/benchmark.py stream --run RUN --audio FILE [--json]
    python scripts/benchmark.py stream --run RUN --text FILE [--sessions 20] [--precision int8] [--threads 2]
        [--engine onnx] [--pace 150] [--json]

One session is of an untrained model of the usual sizes. Its pointer stops at every other position by chance, so that it
writes a token for each word on average. Times are processor seconds between a word and all that is written with it, as
means over the session. Times for each token read or written are of the last tenth of the words, and of a second session
that begins then. The two take turns, since a processor is not equally fast at all times. The exponent is that
of the first session's total time over the words read, fitted to the last three quarters.

With --run and --audio, a trained model reads a sound 10 ms at a time. The real-time factor is processor seconds of one
thread per second of sound, with reading the file, features and search. Beside it stands the longest time that a piece
took.

With --run and --text, sessions of a trained model read a sentence each, word by word and side by side, by the policy
that the run streams with. Words that are there when the model is free are read together, and answered together. With
--pace, the words of each session come at random times, so many a minute on average, as from people who speak. Without
it each comes as soon as the one before is answered, so that all sessions always wait: the worst case.
"""

import time
from collections.abc import Sequence
from itertools import accumulate, chain, cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.harness import exponent, option_parser, percentiles, print_rows
from torch import Tensor

from mt.cli.parser import whole_number
from mt.common.options import parse
from mt.data.fields import AudioField
from mt.data.tokenizer import EOS
from mt.decoding.load import ENGINES, load
from mt.decoding.streaming import finish, read
from mt.decoding.streaming.extend import ExtendedSession
from mt.decoding.streaming.stepper import StreamState, advance_streams
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.kernels.hard_step import PlainEnergy
from mt.models.attention.energy import Energy
from mt.models.config import ModelConfig
from mt.models.encoders import Encoded
from mt.models.seq2seq import Seq2Seq
from mt.search.config import PRECISIONS, OnlineConfig
from mt.text_io import file_lines

VOCABULARY = 8000
ATTENTIONS = ("monotonic", "mocha", "matcha", "milk")


class RandomEnergy(Energy):
    """Costs what an energy costs, but of random queries: an untrained pointer would soon stay where it is."""

    def __init__(self, energy: Energy, query_size: int) -> None:
        super().__init__()
        self.energy = energy
        self.queries = cycle(torch.randn(4096, query_size).split(1))
        """Drawn before time is taken."""

    def keys(self, encoded: Encoded) -> Tensor:
        return self.energy.keys(encoded)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return self.energy(next(self.queries)[:, None], keys)

    def as_plain(self, query: Tensor, keys: Tensor) -> PlainEnergy | None:
        return self.energy.as_plain(next(self.queries), keys)


class Session:
    """A stream of words of one token each, with the processor seconds of each word and the numbers stored after it."""

    def __init__(self, state: StreamState) -> None:
        self.state = state
        self.seconds: list[float] = []
        self.stored: list[int] = []
        self.written: list[int] = []

    def read(self, token: int) -> None:
        start = time.process_time()
        before = len(self.state.tokens)
        advance_streams([(self.state, [token])])
        self.seconds.append(time.process_time() - start)
        self.written.append(len(self.state.tokens) - before)
        self.stored.append(self.state.stored_numbers)

    def seconds_of_token(self, words: int) -> float:
        """Returns the mean time of a token that was read or written, over the last words."""
        return sum(self.seconds[-words:]) / (words + sum(self.written[-words:]))


def measure_words(attention: str, words: int) -> dict[str, float]:
    """Streams words through a new model with this attention."""
    options = {"encoder": {"name": "lstm"}, "decoder": {"name": "luong", "init_hidden": "zeros"}}
    model = Seq2Seq(parse({**options, "attention": {"name": attention}}, ModelConfig), VOCABULARY, VOCABULARY).eval()
    mechanism: Any = model.decoder.attention
    with torch.no_grad():
        mechanism.energy.bias.zero_()
        model.decoder.output.bias[EOS] = -1e4  # as if all sentences were one
    mechanism.energy = RandomEnergy(mechanism.energy, model.decoder.recurrence.cells.hidden_size)
    search = OnlineConfig(max_ratio=100.0)
    old = Session(StreamState(model, search))
    young = Session(StreamState(model, search))
    tenth = max(1, words // 10)
    for number, token in enumerate(torch.randint(4, VOCABULARY, (words,)).tolist()):
        old.read(token)
        if number >= words - tenth:
            young.read(token)
    total = [*accumulate(old.seconds)]
    return {
        "word_ms": 1000 * total[-1] / words,
        "first_token_ms": 1000 * young.seconds_of_token(tenth),
        "last_token_ms": 1000 * old.seconds_of_token(tenth),
        "first_kept": max(young.stored),
        "last_kept": max(old.stored[-tenth:]),
        "energies_of_token": old.state.looked_at / (words + sum(old.written)),
        "exponent": exponent([*range(words // 4 + 1, words + 1)], total[words // 4 :]),
    }


def measure_sound(translator: Translator, name: str) -> dict[str, float]:
    """Streams a sound, 10 ms at a time."""
    if not isinstance(translator.field, AudioField):
        raise UserError("--audio is of runs that read sound, and this one does not: leave it out")
    session = translator.stream()
    if not isinstance(session, ExtendedSession):
        raise UserError("this run drafts anew, and has no state that grows with the sound: name one with search=online")
    seconds = []
    stored = []
    start = time.process_time()
    for piece in chain(translator.field.pieces(name), [None]):
        if piece is None:
            session.finish()
        else:
            session.read(piece)
        stored.append(session.stored_numbers)
        seconds.append(time.process_time() - start)
        start = time.process_time()
    sound = session.source_read / 1000
    tenth = max(1, len(stored) // 10)
    return {
        "sound_seconds": sound,
        "processor_seconds": sum(seconds),
        "real_time_factor": sum(seconds) / sound,
        "longest_piece_ms": 1000 * max(seconds),
        "first_kept": max(stored[:tenth]),
        "last_kept": max(stored[-tenth:]),
    }


class Reader:
    """A session that reads a sentence, and when its next word comes."""

    def __init__(self, session: Any, sentence: str, due: float) -> None:
        self.session = session
        self.words = sentence.split()
        self.due = due


def measure_sessions(
    translator: Translator, sentences: Sequence[str], count: int, pace: int | None
) -> dict[str, float]:
    """Lets sessions read sentences side by side, each the next one when it has read one.

    pace: how many words of a session come in a minute; None: each when the one before is answered.
    """
    intervals = np.random.default_rng(1)
    waiting = [sentence for sentence in sentences if sentence.strip()]
    readers: list[Reader] = []
    waits: list[float] = []
    used = time.process_time()
    while waiting or readers:
        now = time.perf_counter()
        # As many sentences as there is room for.
        while waiting and len(readers) < count:
            begin = now + (intervals.exponential(60 / pace) if pace else 0.0)
            readers.append(Reader(translator.stream(), waiting.pop(), begin))
        # All words that have come; and an ended sentence is answered with its last word.
        due = [reader for reader in readers if reader.due <= now]
        if not due:
            time.sleep(min(reader.due for reader in readers) - now)
            continue
        read([reader.session for reader in due], [reader.words.pop(0) for reader in due])
        if ended := [reader for reader in due if not reader.words]:
            finish([reader.session for reader in ended])
        answered = time.perf_counter()
        for reader in due:
            waits.append(answered - reader.due)
            reader.due = reader.due + intervals.exponential(60 / pace) if pace else answered
        readers = [reader for reader in readers if reader.words]
    return {
        "words": len(waits),
        "word_ms": 1000 * (time.process_time() - used) / len(waits),
        **percentiles(waits, "ms"),
    }


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("stream", __doc__)
    parser.add_argument("--words", type=whole_number(20, 10_000_000), default=10_000, metavar="N")
    parser.add_argument("--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS[:2], metavar="NAME")
    parser.add_argument("--run", type=Path, metavar="RUN", help="a trained run, with --audio or --text")
    parser.add_argument("--audio", metavar="FILE", help="what it reads")
    parser.add_argument("--text", type=Path, metavar="FILE", help="what it reads, a sentence a line")
    parser.add_argument("--sessions", type=whole_number(1, 1000), default=20, metavar="N", help="of --text")
    parser.add_argument("--pace", type=whole_number(1, 100_000), metavar="N", help="words a minute of each session")
    parser.add_argument("--precision", choices=PRECISIONS, help="of --text")
    parser.add_argument("--engine", choices=ENGINES, default="torch", help="of --text")
    parser.add_argument("--threads", type=whole_number(1, 1000), default=1, metavar="N", help="of --text")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    if bool(options.run) != bool(options.audio or options.text):
        raise UserError("--run RUN goes with --audio FILE or --text FILE: give both")
    if options.text:
        translator = load(options.run, device="cpu", precision=options.precision, engine=options.engine)
        sentences = [*file_lines(options.text)]
        rows = {str(options.text): measure_sessions(translator, sentences, options.sessions, options.pace)}
    elif options.audio:
        rows = {options.audio: measure_sound(load(options.run, device="cpu"), options.audio)}
    else:
        rows = {attention: measure_words(attention, options.words) for attention in options.attentions}
    print_rows(rows, as_json=options.json, rounds="one round")
