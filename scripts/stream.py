"""Translate while the source is still arriving: from a pipe, a file or the keyboard, a word at a time, to standard output.

    some-recogniser | python scripts/stream.py RUN
    python scripts/stream.py RUN

A word is read when white space follows it, and a newline ends the sentence; each target word is written as soon as it is
certain, and never taken back. Models that read and write characters do so character by character.

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
from mt.errors import reported
from mt.inference import Translator
from mt.search.config import SearchConfig, online_search
from mt.staircase import Show
from mt.streaming.arrivals import arrivals
from mt.streaming.terminal import standard_input

INPUT = "standard input"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser)
    parser.add_argument("--show", action="store_true", help="draw reads and writes as a staircase")
    add_search_options(parser)
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        translator = loaded(options)
        search = chosen_search(options, online_search(translator.config.search))
        translator.stream(search)  # refuses before anything is read
        with standard_input(translator.unit) as chunks:
            write = show if options.show else stream
            write(translator, search, arrivals(chunks, INPUT, translator.unit))


def stream(translator: Translator, search: SearchConfig, words: Iterable[str | None]) -> None:
    """Writes a line for each sentence, word by word. words: None ends a sentence."""
    session, between = translator.stream(search), ""
    blank = " " if translator.unit == "word" else ""
    for word in words:
        for written in session.finish() if word is None else session.read(word):
            sys.stdout.write(between + written)
            between = blank
        if word is None:
            sys.stdout.write("\n")
            session, between = translator.stream(search), ""
        sys.stdout.flush()


def show(translator: Translator, search: SearchConfig, words: Iterable[str | None]) -> None:
    """Draws each sentence as a staircase of reads and writes. words: None ends a sentence."""
    stairs, session, drawn = Show(sys.stdout), translator.stream(search), 0
    for word in words:
        session.finish() if word is None else session.read(word)
        stairs.add(session.events[drawn:])
        drawn = len(session.events)
        if word is None:
            stairs.end()
            session, drawn = translator.stream(search), 0


if __name__ == "__main__":
    main()
