"""Translate while the source is still arriving: words from a pipe or a keyboard, or sound, to standard output.

    some-recogniser | python scripts/stream.py RUN
    python scripts/stream.py RUN
    python scripts/stream.py RUN --audio FILE
    arecord -q -t raw -f S16_LE -c 1 -r 16000 | python scripts/stream.py RUN --audio -

A word is read when white space follows it, and a newline ends the sentence; each target word is written as soon as it
is certain, and never taken back. Models that read and write characters do so character by character.

Models that read sound take --audio: a file in any form that they were trained on, of any length, which is read as if
it arrived; or -, raw samples from standard input: 16-bit little-endian integers, one channel, at the rate of the run
(dataset.field.rate; half a sample at the end is left out). The end of the sound ends the line.

--show draws what is read and written as a staircase instead, of sound the second up to which it was read:

    Two young men ┓ Zwei
                  ┗ are ┓ junge
                        ┃ Männer
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from mt.cli.arguments import add_run_options, add_search_options, chosen_search, in_flags, load_translator
from mt.cli.parser import Parser
from mt.common.terminal import output
from mt.data.fields import AudioField
from mt.data.tokenizer import Unit
from mt.decoding.staircase import Show
from mt.decoding.streaming import Event
from mt.decoding.streaming.arrivals import arrivals
from mt.decoding.streaming.terminal import standard_input
from mt.decoding.translator import Translator
from mt.errors import UserError, reported
from mt.search.config import SearchConfig
from mt.search.limits import CUT_REMEDY, cut_note
from mt.search.revision import online_search

INPUT = "standard input"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser)
    add_search_options(parser)
    parser.add_argument("--audio", metavar="FILE", help="the sound to read; -: raw samples from standard input")
    parser.add_argument("--show", action="store_true", help="draw what is read and written as a staircase")
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        translator = load_translator(options)
        search = chosen_search(options, online_search(translator.config.search))
        translator.stream(search)  # refuses before anything is read
        with source(translator, options.audio) as parts:
            stream(translator, search, parts, Show(sys.stdout) if options.show else Lines(translator.unit))


@contextlib.contextmanager
def source(translator: Translator, audio: str | None) -> Iterator[Iterable[str | np.ndarray | None]]:
    """What arrives, with None at the end of each source. Raises UserError where the run reads something else."""
    field = translator.field
    kind = translator.config.dataset.field.name
    if isinstance(field, AudioField):
        if audio is None:
            raise UserError(
                f"this run reads {kind}: name the sound by --audio FILE, or send raw samples and add --audio -"
            )
        if audio == "-":
            with standard_input(None) as chunks:
                yield chain(field.pcm(chunks, INPUT), [None])
        else:
            yield chain(field.pieces(audio), [None])
        return
    if audio is not None:
        raise UserError(
            f"--audio is of runs that read sound, and this one reads {kind}: leave it out, and send words to standard "
            "input"
        )
    with standard_input(translator.unit) as chunks:
        yield arrivals(chunks, INPUT, translator.unit)


class Lines:
    """Writes what was written, a line for each source."""

    def __init__(self, unit: Unit) -> None:
        self._blank = " " if unit == "word" else ""
        self._between = ""

    def add(self, events: Iterable[Event]) -> None:
        for kind, word in events:
            if kind == "write":
                sys.stdout.write(output(self._between + word))
                self._between = self._blank
        sys.stdout.flush()

    def end(self) -> None:
        self._between = ""
        sys.stdout.write("\n")
        sys.stdout.flush()


def stream(
    translator: Translator, search: SearchConfig, parts: Iterable[str | np.ndarray | None], output: Lines | Show
) -> None:
    """parts: of sources, None at the end of each."""
    session = translator.stream(search)
    cut = 0
    for part in parts:
        known = len(session.events)
        if part is None:
            session.finish()
        else:
            session.read(part)
        output.add(session.events[known:])
        if part is None:
            output.end()
            cut += session.cut
            session = translator.stream(search)
    if cut:
        print(f"note: {cut_note(cut, translator.search_for(search).limit, CUT_REMEDY)}", file=sys.stderr)


if __name__ == "__main__":
    main()
