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

from collections.abc import Sequence

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.cli.arguments import add_run_options, add_search_options, chosen_search, in_flags, load_translator
from mt.cli.parser import Parser
from mt.decoding.streaming.live import translate_live
from mt.errors import reported
from mt.search.revision import online_search


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
        translate_live(translator, search, options.audio, show=options.show)


if __name__ == "__main__":
    main()
