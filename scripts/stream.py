"""Translate while the source is still arriving: from a pipe or a keyboard, word by word, to standard output.

    some-recogniser | python scripts/stream.py RUN
    python scripts/stream.py RUN

A word is read when white space follows it, and a newline ends the sentence; each target word is written as soon as it
is certain, and never taken back. Models that read and write characters do so character by character.

--show draws what is read and written as a staircase instead:

    Two young men ┓ Zwei
                  ┗ are ┓ junge
                        ┃ Männer
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import sys
from collections.abc import Iterable, Sequence

from mt.arguments import Parser, add_run_options, add_search_options, chosen_search, in_flags, loaded
from mt.data.tokenizer import Unit
from mt.errors import reported
from mt.inference import Translator
from mt.search.config import SearchConfig, online_search
from mt.staircase import Show
from mt.streaming import Event
from mt.streaming.arrivals import arrivals
from mt.streaming.terminal import standard_input

INPUT = "standard input"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser)
    add_search_options(parser)
    parser.add_argument("--show", action="store_true", help="draw what is read and written as a staircase")
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        translator = loaded(options)
        search = chosen_search(options, online_search(translator.config.search))
        translator.stream(search)  # refuses before anything is read
        with standard_input(translator.unit) as chunks:
            words = arrivals(chunks, INPUT, translator.unit)
            stream(translator, search, words, Show(sys.stdout) if options.show else Lines(translator.unit))


class Lines:
    """Writes what was written, a line for each sentence."""

    def __init__(self, unit: Unit) -> None:
        self._blank = " " if unit == "word" else ""
        self._between = ""

    def add(self, events: Iterable[Event]) -> None:
        for kind, word in events:
            if kind == "write":
                sys.stdout.write(self._between + word)
                self._between = self._blank
        sys.stdout.flush()

    def end(self) -> None:
        self._between = ""
        sys.stdout.write("\n")
        sys.stdout.flush()


def stream(translator: Translator, search: SearchConfig, words: Iterable[str | None], output: Lines | Show) -> None:
    """words: None ends a sentence."""
    session = translator.stream(search)
    for word in words:
        known = len(session.events)
        if word is None:
            session.finish()
        else:
            session.read(word)
        output.add(session.events[known:])
        if word is None:
            output.end()
            session = translator.stream(search)


if __name__ == "__main__":
    main()
