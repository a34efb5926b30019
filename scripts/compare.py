"""One table over runs: scores with 95 % intervals and significance, perplexity, alignment error, speed and size.

    python scripts/compare.py outputs/phrasebook [--baseline general]

RUN is the folder of a finished run, or one above several; all must have been tested on the same text, which has not
changed since. Prints the
table, and writes it with learning curves and the heatmaps of the first test sentences to --out: index.html, table.md,
table.tex (booktabs), table.csv, comparison.json. Runs that were decoded online (search=online or wait_k, in training or
by scripts/evaluate.py) are also drawn as quality over latency: tradeoff.png, and in --plot-format beside it.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from data_prep.prepare import prepare
from mt.cli.arguments import add_plot_options
from mt.cli.parser import Parser, whole_number
from mt.common.terminal import say
from mt.comparison.page import write
from mt.comparison.runs import FinishedRun, find, require_scored_on
from mt.comparison.table import compare, shared_metrics
from mt.data.corpus import Corpus
from mt.errors import UserError, reported
from mt.metrics import notes
from mt.training.initialisation import inherited_tokenizers


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--baseline", help="a run's folder, its name in the table or its attention; else the first run")
    parser.add_argument(
        "--sentences", type=whole_number(0, 1000), default=4, metavar="N", help="test sentences to show on the page"
    )
    parser.add_argument("--out", type=Path, default=Path("outputs/comparison"), metavar="DIR", help="where to write")
    parser.add_argument("--corpora", type=Path, default=Path("outputs/corpora"), help="where prepared corpora are kept")
    add_plot_options(parser, words=False)
    options = parser.parse_args(arguments)
    with reported():
        runs = find(options.runs)
        sources, references = _test_text(runs, options.corpora)
        comparison = compare(runs, references, options.baseline)
        for note in notes(shared_metrics(runs), references):
            say(f"note: {note}", sys.stderr)
        write(
            comparison, sources, references, options.out, sentences=options.sentences, plot_format=options.plot_format
        )
        say(f"{comparison.text()}\n\n{options.out / 'index.html'}")


def _test_text(runs: Sequence[FinishedRun], corpora: Path) -> tuple[list[str], list[list[str]]]:
    """Returns sources and references of the test split that all runs share, and were scored on. Raises UserError where
    they do not, or it has changed since."""
    splits = {}
    for run in runs:
        if run.config.dataset not in splits:
            tokenizers = inherited_tokenizers(run.folder)
            corpus = Corpus.open(prepare(run.config.dataset, corpora, tokenizers=tokenizers))
            split = corpus.split(corpus.scored)
            splits[run.config.dataset] = split.column("source"), split.column("references"), split.digests()
        if splits[run.config.dataset] != splits[runs[0].config.dataset]:
            raise UserError(
                f"{runs[0].folder} and {run.folder} were tested on different text: compare runs of one test split"
            )
    sources, references, digests = splits[runs[0].config.dataset]
    if unknown := [str(run.folder) for run in runs if not require_scored_on(run, digests)]:
        say(
            f"note: runs of earlier versions do not say whether their text is still this: {', '.join(unknown)}",
            sys.stderr,
        )
    return sources, references


if __name__ == "__main__":
    main()
