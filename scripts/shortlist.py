"""Learn a shortlist: the target pieces that each source piece is translated to in the corpus that a run was trained on.

    python scripts/shortlist.py RUN [--first 100] [--best 100]
    python scripts/translate.py RUN --shortlist < source.txt > target.txt

With --shortlist, a search chooses among the pieces of its sources' lists alone: the --best likeliest of each source
piece, the --first most frequent of all and, where both sides have one vocabulary, the source pieces themselves. Links
are the corpus' gold ones where it has any, else those of IBM Model 1. Writes RUN/shortlist.safetensors, and prints
`recall`, the share of dev's target tokens (without EOS) that are in the list of their own sentence, and the mean size
of a list.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data_prep.again import again
from mt.checkpoint import load_config, locate
from mt.command_line import Parser, whole_number
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError, explained, reported
from mt.evaluation.lexicon import coverage, learn_shortlist
from mt.search.shortlist import SHORTLIST
from mt.terminal import say


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder that training printed, or an exported one")
    sizes = whole_number(1, 1_000_000)
    parser.add_argument("--first", type=sizes, default=100, metavar="N", help="most frequent pieces, in every list")
    parser.add_argument("--best", type=sizes, default=100, metavar="N", help="likeliest pieces for each source piece")
    parser.add_argument("--iterations", type=whole_number(1, 1000), default=5, metavar="N", help="of IBM Model 1")
    parser.add_argument("--sentences", type=sizes, default=500_000, metavar="N", help="most pairs to learn from")
    parser.add_argument("--corpora", type=Path, default=Path("outputs/corpora"), help="where prepared corpora are kept")
    options = parser.parse_args(arguments)
    with reported():
        learn(options)


def learn(options: argparse.Namespace) -> None:
    run = options.run
    config, tokenizers = load_config(run, "best"), Tokenizers.load(locate(run, "best"))
    if not build_field(config.dataset.field).written:
        raise UserError(f"{run} reads no text, and a shortlist is of source pieces: decode it without one")
    corpus = again(config, options.corpora, tokenizers, str(run))
    began = time.perf_counter()
    shortlist, origin = learn_shortlist(
        corpus.split("train"),
        tokenizers,
        first=options.first,
        best=options.best,
        iterations=options.iterations,
        sentences=options.sentences,
    )
    seconds = time.perf_counter() - began
    path = run / SHORTLIST
    try:
        shortlist.save(path, tokenizers.digest())
    except OSError as error:
        raise UserError(explained(error, run)) from error
    dev = corpus.split("dev")
    found = coverage(shortlist, dev.ids(np.arange(len(dev))))
    say(f"links    {origin}")
    say(f"recall   {100 * found.recall:.2f} % of dev's target tokens")
    say(f"pieces   {found.pieces:,.0f} of {shortlist.size:,} for a sentence of dev, in the mean")
    say(f"seconds  {seconds:.1f}\n\n{path}")


if __name__ == "__main__":
    main()
