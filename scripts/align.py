"""Forced alignment: which source word has most of the attention as a model is given each word of a translation.

    python scripts/align.py RUN --source corpus.en --target corpus.de [--gold corpus.links] > corpus.pharaoh

Prints a line of word links (Pharaoh: source-target, from 0) for each pair of lines; words are those of
`mt.data.words.words`, or characters where the model reads and writes characters. --gold, in the same format with ipj
for possible links, adds the alignment error rate on standard error.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import sys
from collections.abc import Sequence
from pathlib import Path

from mt.arguments import add_mode_option, add_run_options, in_flags, loaded
from mt.command_line import Parser
from mt.decoding import decodes_hard
from mt.errors import reported
from mt.evaluation.links import alignment_error
from mt.metrics.alignment import to_pharaoh
from mt.search.config import revised_search
from mt.terminal import say
from mt.text_io import read_parallel


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser)
    parser.add_argument("--source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--target", type=Path, required=True, metavar="FILE")
    parser.add_argument("--gold", type=Path, metavar="FILE")
    add_mode_option(parser)
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        paths = [path for path in (options.source, options.target, options.gold) if path]
        sources, targets, *gold = read_parallel(paths, "pair")
        translator = loaded(options)
        translator.refuse_long(sources, f"{options.source}, line")
        translator.refuse_long(targets, f"{options.target}, line")
        if gold:
            translator.unit = "word"  # as gold links are
        hard = None
        if options.mode:
            search = revised_search(translator.config.search, {"name": "greedy", "mode": options.mode})
            hard = decodes_hard(search, translator.model)
        links = [to_pharaoh(pair.links) for pair in translator.align(sources, targets, hard=hard)]
        print("\n".join(links), flush=True)
        if gold:
            score = alignment_error(links, gold[0], str(options.gold))
            say(f"aer {score.score:.2f}  {score.signature}", sys.stderr)


if __name__ == "__main__":
    main()
