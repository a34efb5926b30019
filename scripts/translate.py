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

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

from mt.cli.arguments import (
    add_engine_option,
    add_plot_options,
    add_run_options,
    add_search_options,
    add_unknown_option,
    chosen_search,
    chosen_unknown_words,
    in_flags,
    load_translator,
)
from mt.cli.parser import Parser, whole_number
from mt.common.terminal import output
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.decoding.word_links import in_words
from mt.errors import UserError, reported, unwritten
from mt.metrics.alignment import to_pharaoh
from mt.search.config import SearchConfig
from mt.search.limits import CUT_REMEDY, cut_note
from mt.text_io import decoded, file_lines

INPUT = "standard input"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser, several="several: their ensemble; at last FILE, text, plain or .gz, else standard input")
    add_engine_option(parser)
    parser.add_argument("--n-best", type=int, metavar="N", help="hypotheses of each line, at most as many as the beam")
    parser.add_argument("--alignments", type=Path, metavar="FILE", help="where to write word links")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="where to draw the attention, a file a line")
    add_plot_options(parser)
    add_search_options(parser)
    add_unknown_option(parser)
    parser.add_argument(
        "--buffer-size", type=whole_number(1, 10**9), default=1000, metavar="N", help="lines read at once (1: each)"
    )
    options = parser.parse_args(arguments)
    if (options.plot_format, options.plot_words) != (None, None) and options.plots is None:
        parser.error("--plot-format and --plot-words are about --plots DIR: add that, or leave them out")
    # What is no folder at the end is the text.
    options.file = options.run.pop() if len(options.run) > 1 and not options.run[-1].is_dir() else None
    with reported():
        translator = load_translator(options)
        lines = _lines(options.file, translator.field.endings)
        search = chosen_search(options, translator.config.search)
        unknown_words = chosen_unknown_words(options, translator)
        with _alignments(options) as links, in_flags():
            translate(translator, search, unknown_words, lines, links, options)


def translate(
    translator: Translator,
    search: SearchConfig,
    unknown_words: UnknownWords | None,
    lines: Iterator[str],
    links: TextIO | None,
    options: argparse.Namespace,
) -> None:
    first = cut = replaced = 0
    place = f"{options.file or INPUT}, line"
    while chunk := list(islice(lines, options.buffer_size)):
        translator.refuse_long(chunk, place, first + 1)
        found = translator.n_best(chunk, search=search)
        if unknown_words is not None:
            pairs = zip(found, chunk, strict=True)
            found = [[unknown_words.replaced(best, text) for best in hypotheses] for hypotheses, text in pairs]
        for index, hypotheses in enumerate(found, start=first):
            for best in hypotheses:
                line = f"{index} ||| {best.text} ||| {best.score:.4f}" if options.n_best else best.text
                print(output(line))
        sys.stdout.flush()
        if options.plots:
            drawn = [in_words(translator, hypotheses[0], text) for hypotheses, text in zip(found, chunk, strict=True)]
            _draw(drawn, options, first)
        if links:
            with _named("--alignments", options.alignments):
                links.writelines(f"{to_pharaoh(best.links)}\n" for hypotheses in found for best in hypotheses)
                links.flush()
        cut += sum(best.cut for hypotheses in found for best in hypotheses)
        replaced += sum(best.replaced_unknown for hypotheses in found for best in hypotheses)
        first += len(chunk)
    if unknown_words is not None:
        print(f"note: {replaced:,} unknown word{'' if replaced == 1 else 's'} replaced", file=sys.stderr)
    if cut:
        print(f"note: {cut_note(cut, translator.search_for(search).limit, CUT_REMEDY)}", file=sys.stderr)


def _draw(translations: Sequence[Translation], options: argparse.Namespace, first: int) -> None:
    """Draws nothing of a line without attention, as a blank one. first: the number of the first line."""
    folder = options.plots
    with _named("--plots", folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number, best in enumerate(translations, start=first):
        if best.alignment.any():
            best.plot(folder / f"{number:04d}.{options.plot_format or 'png'}", words=bool(options.plot_words))


def _lines(path: Path | None, endings: Sequence[str]) -> Iterator[str]:
    """endings: of files that are each a source."""
    if path and path.suffix.lower() in endings:
        yield str(path)
    elif path and path != Path("-"):
        yield from file_lines(path, pipes=True)
    elif sys.stdin is None:
        raise UserError(f"{INPUT} is closed: give a FILE, or send it text with < FILE")
    else:
        try:
            yield from decoded(sys.stdin.buffer, INPUT)
        except OSError as error:
            raise UserError(f"{INPUT} cannot be read ({error.strerror}): give a FILE, or send it text") from error


@contextlib.contextmanager
def _alignments(options: argparse.Namespace) -> Iterator[TextIO | None]:
    """The file for word links, where one is asked for."""
    path = options.alignments
    source = options.file
    if path is None:
        yield None
        return
    with _named("--alignments", path):
        if source and path.exists() and source.exists() and path.samefile(source):
            raise UserError(f"--alignments {path} is the file to translate, and would overwrite it: give another file")
        file = path.open("w", encoding="utf-8")
    try:
        yield file
    finally:
        # All was flushed, or could not be, and that was told.
        with contextlib.suppress(OSError):
            file.close()


@contextlib.contextmanager
def _named(option: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(unwritten(f"{option} {path}", error, "give another")) from error


if __name__ == "__main__":
    main()
