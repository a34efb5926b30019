"""The commands about trained runs: compare, average, export. Each has its manual, which `--help` prints, then its
function, which reads the command line and hands over to `mt.comparison`, `mt.training` and `mt.export`."""

from collections.abc import Sequence
from pathlib import Path

from data_prep.prepare import prepare
from mt.cli.arguments import add_plot_options
from mt.cli.parser import Parser, whole_number
from mt.common.terminal import note, say
from mt.comparison.page import write
from mt.comparison.runs import FinishedRun, find, left_out, require_scored_on
from mt.comparison.table import compare as table_of, shared_metrics
from mt.data.corpus import Corpus
from mt.errors import UserError, reported, visible
from mt.export.folder import FORMATS, export as write_export, files
from mt.metrics import notes
from mt.models.weights import Form
from mt.storage import require_writable
from mt.training.initialisation import inherited_tokenizers
from mt.training.saving import average_checkpoints

COMPARE = """One table over runs: scores with 95 % intervals, significance, perplexity, alignment error, speed and size.

    mt compare outputs/phrasebook [--baseline general]

RUN is the folder of a finished run, or one above several; all must have been tested on the same text, which has not
changed since. Prints the table, and writes it with learning curves and the heatmaps of the first test sentences to
--out: index.html, table.md, table.tex (booktabs), table.csv, comparison.json. Runs that were decoded online
(search=online or wait_k, in training or by mt evaluate) are also drawn as quality over latency: tradeoff.png,
and in --plot-format beside it.
"""


def compare(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(COMPARE)
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
        # Scores can be compared only where all runs were tested on the same text.
        require_writable(options.out)
        runs = find(options.runs)
        if unfinished := left_out(options.runs):
            folders = ", ".join(map(str, unfinished))
            note(f"left out, since they have no results.json: {folders}")
        sources, references = _test_text(runs, options.corpora)
        comparison = table_of(runs, references, options.baseline)
        # Limits of the metrics are said before the table, so that nobody reads it without them.
        note(*notes(shared_metrics(runs), references))
        write(
            comparison, sources, references, options.out, sentences=options.sentences, plot_format=options.plot_format
        )
        say(f"{comparison.text()}\n\n{options.out / 'index.html'}")


def _test_text(runs: Sequence[FinishedRun], corpora: Path) -> tuple[list[str], list[list[str]]]:
    """Returns sources and references of the test split that all runs share, and were scored on. Raises UserError where
    they do not, or it has changed since."""
    splits = {}
    # Each data set is prepared once, however many runs have it, and its text must be that of the first.
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
    # The text may have changed since a run was scored; early runs have no record to tell.
    if unknown := [str(run.folder) for run in runs if not require_scored_on(run, digests)]:
        note(f"runs of earlier versions do not say whether their text is still this: {', '.join(unknown)}")
    return sources, references


AVERAGE = """Average the weights of chosen checkpoints of one model, into a checkpoint that is taken as a run is.

    mt average RUN/checkpoints/update-0000400 RUN/checkpoints/update-0000600 --out DIR
    mt average RUN/checkpoints/update-* --out DIR

A run stands for its best checkpoint. What is averaged has the same vocabulary and the same model: checkpoints of one
run, or of runs that started from one another (`init_from`), since the mean of models that learnt apart means nothing.
Training averages the last validations by itself, where that is better on dev (training.average_checkpoints).
"""


def average(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(AVERAGE)
    parser.add_argument("checkpoints", type=Path, nargs="+", metavar="CHECKPOINT", help="or RUN, for its best one")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the checkpoint to write, a new folder")
    options = parser.parse_args(arguments)
    with reported():
        # The updates are printed, since a pattern such as update-* may match more than was meant.
        updates = average_checkpoints(options.checkpoints, options.out)
        say(f"average of updates {', '.join(map(str, updates))}\n\n{options.out}")


EXPORT = """Write what decoding needs of a run, and nothing else, to a new folder, which can be given to others.

    mt export RUN --out DIR [--precision fp32|bf16|int8] [--format onnx]

DIR gets the weights, the tokenizers, config.json and the LICENSE. `mt.load` and the other scripts take it as they take
RUN; after `hf upload OWNER/NAME DIR` they take hf://OWNER/NAME, too.

--format onnx writes graphs of the encoder and of a decoder's step instead, for ONNX Runtime (extra onnx), which decodes
with them: `load(DIR, engine="onnx")` and mt translate --engine onnx, both also where there is no torch, and
mt evaluate --engine onnx.
"""

FORM_OF: dict[str, Form] = {"fp32": "float32", "bf16": "bfloat16", "int8": "int8"}
"""The form of weights by the name of their precision."""


def export(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(EXPORT)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder that training printed")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to make")
    parser.add_argument("--checkpoint", default="best", help="best, last, average or ema where the run made one")
    parser.add_argument("--format", choices=FORMATS, default="safetensors", help="what is to decode: torch, or onnx")
    parser.add_argument("--precision", choices=tuple(FORM_OF), default="fp32", help="of the weights")
    parser.add_argument("--licence", type=Path, metavar="FILE", help="of the weights; else that of this project")
    options = parser.parse_args(arguments)
    with reported():
        write_export(
            options.run,
            options.out,
            checkpoint=options.checkpoint,
            format=options.format,
            dtype=FORM_OF[options.precision],
            licence=options.licence,
        )
        # Sizes are listed, so that the user sees at once what the precision saves.
        sizes = files(options.out)
        for name, size in [*sizes, ("together", sum(size for _, size in sizes))]:
            say(f"  {visible(name):<28} {size:>14,} bytes")
        say(f"\n{options.out}")
