"""Translate standard input, one text a line, to standard output.

    python scripts/translate.py RUN < source > target

A blank line gives a blank line. With --n-best each hypothesis has a line `index ||| text ||| score`, where index counts
the lines of the input from 0. --alignments writes one line of word links (Pharaoh: source-target, from 0) per line of
output; words are those of `mt.data.words.words`.
"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from mt.cli import add_search_options, chosen_search
from mt.errors import UserError, reported
from mt.evaluation.links import pharaoh
from mt.inference import Translation, Translator, load
from mt.search.config import SearchConfig
from mt.text_io import decoded

INPUT = "standard input"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder that training printed")
    parser.add_argument("--n-best", type=int, metavar="N", help="hypotheses of each line, at most as many as the beam")
    parser.add_argument("--alignments", type=Path, metavar="FILE")
    add_search_options(parser)
    parser.add_argument("--chunk", type=int, default=1000, help="lines read before they are translated (1: at once)")
    parser.add_argument("--checkpoint", default="best", help="best, last, or average where the run made one")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    options = parser.parse_args(arguments)
    with reported():
        translator = load(options.run, checkpoint=options.checkpoint, device=options.device)
        translate(translator, chosen_search(options, translator.config.search, options.n_best or 1), options)


def translate(translator: Translator, search: SearchConfig, options: argparse.Namespace) -> None:
    lines, first = decoded(sys.stdin.buffer, INPUT), 0
    with contextlib.ExitStack() as stack:
        links = stack.enter_context(_writable(options.alignments)) if options.alignments else None
        while chunk := list(islice(lines, options.chunk)):
            translator.refuse_long(chunk, f"{INPUT}, line", first + 1)
            for index, hypotheses in enumerate(translator.n_best(chunk, search), start=first):
                for best in hypotheses:
                    print(f"{index} ||| {best.text} ||| {best.score:.4f}" if options.n_best else best.text)
                    if links:
                        print(_links(best), file=links)
            sys.stdout.flush()
            first += len(chunk)


def _links(translation: Translation) -> str:
    return pharaoh(translation.alignment, translation.source_units, translation.target_units)


def _writable(path: Path) -> contextlib.AbstractContextManager:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another --alignments") from error


if __name__ == "__main__":
    main()
