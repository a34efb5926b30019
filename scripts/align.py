"""Forced alignment: which source word a model reads as it is made to write each word of a given translation.

    python scripts/align.py RUN --source corpus.en --target corpus.de [--gold corpus.links] > corpus.pharaoh

Prints a line of word links (Pharaoh: source-target, from 0) for each pair of lines; words are those of
`mt.data.words.words`. --gold, in the same format with ipj for possible links, adds the alignment error rate on standard
error.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mt.errors import reported
from mt.evaluation.links import alignment_error, forced_links
from mt.inference import load
from mt.text_io import read_parallel


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder that training printed")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--target", type=Path, required=True, metavar="FILE")
    parser.add_argument("--gold", type=Path, metavar="FILE")
    parser.add_argument("--hard", action="store_true", help="by decisions; for monotonic and mocha attention")
    parser.add_argument("--checkpoint", default="best", help="best, last, or average where the run made one")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    options = parser.parse_args(arguments)
    with reported():
        paths = [path for path in (options.source, options.target, options.gold) if path]
        sources, targets, *gold = read_parallel(paths, "pair")
        translator = load(options.run, checkpoint=options.checkpoint, device=options.device)
        translator.refuse_long(sources, f"{options.source}, line")
        translator.refuse_long(targets, f"{options.target}, line")
        links = forced_links(translator, sources, targets, hard=options.hard)
        print("\n".join(links))
        if gold:
            score = alignment_error(links, gold[0], str(options.gold))
            print(f"aer {score.score:.2f}  {score.signature}", file=sys.stderr)


if __name__ == "__main__":
    main()
