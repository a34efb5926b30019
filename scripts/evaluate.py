"""Decode and score a split of the corpus that a run was trained on.

    python scripts/evaluate.py RUN [--split dev] [--search greedy] [--beam 10] [--checkpoint last]

Prints the scores, and writes results.json, hypotheses/ and alignments/ to --out, by default
RUN/evaluations/<split>-<checkpoint>-<search>, with the options that differ from the run's own, such as
test-best-beam-beam_size=10; the test results that training left in RUN itself are not touched.

Several runs of one vocabulary are decoded together (RUN1 RUN2 ...): the mean of their probabilities, on the data and by
the search of the first, below which the results are then, as in ensemble-of-2-test-best-beam.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from data_prep.run_corpus import corpus_of_run
from mt.cli.arguments import (
    add_engine_option,
    add_plot_options,
    add_run_options,
    add_search_options,
    add_unknown_option,
    chosen_checkpoint,
    chosen_search,
    chosen_unknown_words,
    in_flags,
    load_translator,
)
from mt.cli.parser import Parser
from mt.common.terminal import say
from mt.data.split import Split
from mt.decoding.onnx import OnnxNetwork
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError, reported
from mt.evaluation.report import origin, report, report_decoded, table, variant
from mt.evaluation.scoring import notes_of
from mt.metrics.latency import LatencyUnit
from mt.search.config import SearchConfig, is_online
from mt.storage import write_json


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser, several="of several, their ensemble")
    add_engine_option(parser)
    parser.add_argument("--split", default="test", choices=("test", "dev"))
    add_search_options(parser)
    add_plot_options(parser)
    add_unknown_option(parser)
    parser.add_argument(
        "--latency-unit", choices=get_args(LatencyUnit), help="of online decoding; else as the run was configured"
    )
    parser.add_argument("--corpora", type=Path, default=Path("outputs/corpora"), help="where prepared corpora are kept")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write")
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        translator = load_translator(options)
        usual = translator.config.search
        search = chosen_search(options, usual)
        if options.latency_unit and not is_online(search):
            raise UserError(
                f"--latency-unit {options.latency_unit} is of searches that write while they read, and {search.name} "
                "search does not: add --search online or --search wait_k, or leave it out"
            )
        corpus = corpus_of_run(
            translator.config,
            options.corpora,
            translator.tokenizers,
            str(options.run[0]),
            ", or decode your text with scripts/translate.py and score it with scripts/score.py",
        )
        if not len(corpus.split(options.split)):
            raise UserError(f"{translator.config.dataset.name} has no {options.split} split: choose --split dev")
        folder = options.out or _folder(options, search, usual)
        split = corpus.split(options.split)
        unknown_words = chosen_unknown_words(options, translator)
        results = _evaluated(translator, split, options, search, unknown_words, folder)
        write_json(folder / "results.json", results)
        latency = {"latency_unit": options.latency_unit} if options.latency_unit else {}
        scored = translator.config.dataset.model_copy(update=latency)
        for note in notes_of(scored, split.column("references"), online="al" in results):
            say(f"note: {note}", sys.stderr)
        say(f"{table(results)}\n\n{folder}")


def _evaluated(
    translator: Translator,
    split: Split,
    options: argparse.Namespace,
    search: SearchConfig,
    unknown_words: UnknownWords | None,
    folder: Path,
) -> dict[str, Any]:
    """Evaluates a split, writes what `report` writes, and returns the results."""
    name = options.split
    unit = options.latency_unit
    progress = sys.stderr.isatty()
    network = translator.network
    if isinstance(network, OnnxNetwork):
        if (options.plot_format, options.plot_words) != (None, None):
            raise UserError(
                "--plot-format and --plot-words are of heatmaps, and --engine onnx draws none: leave them out, or "
                "evaluate the run itself"
            )
        checkpoint = network.graphs.manifest.checkpoint
        return report_decoded(
            translator,
            split,
            name,
            folder,
            checkpoint=checkpoint,
            search=search,
            unknown_words=unknown_words,
            progress=progress,
        )
    results = report(
        translator,
        split,
        name,
        folder,
        search=search,
        unit=unit,
        plot_words=options.plot_words,
        plot_format=options.plot_format,
        unknown_words=unknown_words,
        progress=progress,
    )
    return results | _origins(options) | ({"precision": options.precision} if options.precision else {})


def _folder(options: argparse.Namespace, search: SearchConfig, usual: SearchConfig) -> Path:
    """Where an evaluation goes by default: named by what differs from the run's own options."""
    name = variant(options.split, chosen_checkpoint(options), search, usual)
    name += f"-{options.precision}" if options.precision else ""
    name += f"-{options.latency_unit}s" if options.latency_unit else ""
    name += "-replace_unknown" if options.replace_unknown else ""
    name = f"ensemble-of-{len(options.run)}-{name}" if len(options.run) > 1 else name
    return options.run[0] / "evaluations" / name


def _origins(options: argparse.Namespace) -> dict[str, Any]:
    """Whose weights were decoded with, for the results."""
    origins = [origin(run, chosen_checkpoint(options)) for run in options.run]
    if len(origins) == 1:
        return {"checkpoint": origins[0]}
    return {"ensemble": [{"run": str(run)} | own for run, own in zip(options.run, origins, strict=True)]}


if __name__ == "__main__":
    main()
