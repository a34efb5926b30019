"""Translate a file or standard input, one text a line, to standard output.

    python scripts/translate.py RUN source.txt > target.txt
    python scripts/translate.py RUN < source.txt > target.txt
    python scripts/translate.py RUN1 RUN2 ... < source.txt > target.txt

Several runs of one vocabulary translate together: by the mean of their probabilities, and the search of the first.
A blank line gives a blank line. With --n-best each hypothesis has a line `index ||| text ||| score`, where index counts
the lines of the input from 0. --alignments writes one line of word links (Pharaoh: source-target, from 0) per line of
output; words are those of `mt.data.words.words`, or characters where the model reads and writes characters.

Into a file or a pipe a translation is written as it is; on a terminal, what in it would give the terminal orders
(control characters, turns of a line's direction) is shown as an escape.

--plots draws what each best text attended to, DIR/0000.png for the first line and so on: a heatmap of pieces, or with
--plot-words of words, with a sound's spectrogram, or for each piece or word a panel of the picture.

Where the model reads sound or pictures, each line is a path, or FILE such a file itself; links are then from positions.
"""

from collections.abc import Sequence
from pathlib import Path

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.cli.arguments import (
    add_plot_options,
    add_run_options,
    add_search_options,
    add_unknown_options,
    chosen_search,
    chosen_unknown_words,
    in_flags,
    load_translator,
)
from mt.cli.parser import Parser, whole_number
from mt.decoding.lines import LineFiles, translate_lines
from mt.errors import reported


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    several = "several: their ensemble; at last FILE, text, plain or .gz, else standard input"
    add_run_options(parser, several=several, engine=True)
    parser.add_argument("--n-best", type=int, metavar="N", help="hypotheses of each line, at most as many as the beam")
    parser.add_argument("--alignments", type=Path, metavar="FILE", help="where to write word links")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="where to draw the attention, a file a line")
    add_plot_options(parser)
    add_search_options(parser)
    add_unknown_options(parser)
    parser.add_argument(
        "--buffer-size", type=whole_number(1, 10**9), default=1000, metavar="N", help="lines read at once (1: each)"
    )
    options = parser.parse_args(arguments)
    if (options.plot_format, options.plot_words) != (None, None) and options.plots is None:
        parser.error("--plot-format and --plot-words are about --plots DIR: add that, or leave them out")
    # What is no folder at the end is the text.
    path = options.run.pop() if len(options.run) > 1 and not options.run[-1].is_dir() else None
    with reported(), in_flags():
        translator = load_translator(options)
        search = chosen_search(options, translator.config.search)
        unknown = chosen_unknown_words(options, translator)
        plot_words = bool(options.plot_words)
        files = LineFiles(options.alignments, options.plots, options.plot_format, plot_words=plot_words)
        size = options.buffer_size
        translate_lines(translator, path, search, files, unknown, lines_at_once=size, numbered=bool(options.n_best))


if __name__ == "__main__":
    main()
