"""Decode and score a split of the corpus that a run was trained on.

    python scripts/evaluate.py RUN [--split dev] [--search greedy] [--beam 10] [--checkpoint last]

Prints the scores, and writes results.json, hypotheses/ and alignments/ to --out, by default
RUN/evaluations/<split>-<checkpoint>-<search>, with the options that differ from the run's own, such as
test-best-beam-beam_size=10; the test results that training left in RUN itself are not touched. Of hf://OWNER/NAME
they go to outputs/OWNER/NAME/evaluations/... in the working directory.

Several runs of one vocabulary are decoded together (RUN1 RUN2 ...): the mean of their probabilities, on the data and by
the search of the first, below which the results are then, as in ensemble-of-2-test-best-beam.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from data_prep.run_corpus import corpus_of_run
from mt.cli.arguments import (
    add_plot_options,
    add_run_options,
    add_search_options,
    add_unknown_options,
    chosen_checkpoint,
    chosen_search,
    chosen_unknown_words,
    in_flags,
    load_translator,
)
from mt.cli.parser import Parser
from mt.decoding.load import repository_of
from mt.errors import UserError, reported
from mt.evaluation.run_evaluation import PlotOptions, RunEvaluation
from mt.metrics.latency import LatencyUnit
from mt.search.config import is_online

OTHERWISE = ", or decode your text with scripts/translate.py and score it with scripts/score.py"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser, several="of several, their ensemble", engine=True)
    parser.add_argument("--split", default="test", choices=("test", "dev"))
    add_search_options(parser)
    add_plot_options(parser)
    add_unknown_options(parser)
    parser.add_argument(
        "--latency-unit", choices=get_args(LatencyUnit), help="of online decoding; else as the run was configured"
    )
    parser.add_argument("--corpora", type=Path, default=Path("outputs/corpora"), help="where prepared corpora are kept")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write")
    options = parser.parse_args(arguments)
    unit = options.latency_unit
    run = options.run[0]
    # What is downloaded lies in a cache, where nobody looks for results.
    repository = repository_of(str(run))
    home = run if repository is None else Path("outputs") / repository
    with reported(), in_flags():
        translator = load_translator(options)
        config = translator.config
        search = chosen_search(options, config.search)
        if unit and not is_online(search):
            raise UserError(
                f"--latency-unit {unit} is of searches that write while they read, and {search.name} search does not: "
                "add --search online or --search wait_k, or leave it out"
            )
        corpus = corpus_of_run(config, options.corpora, translator.tokenizers, str(options.run[0]), OTHERWISE)
        split = corpus.split(options.split)
        if not len(split):
            raise UserError(f"{config.dataset.name} has no {options.split} split: choose --split dev")
        checkpoint = chosen_checkpoint(options)
        unknown = chosen_unknown_words(options, translator)
        evaluation = RunEvaluation(options.run, checkpoint, options.split, search, options.precision, unit, unknown)
        plots = PlotOptions(options.plot_words, options.plot_format)
        evaluation.write(translator, split, options.out or home / "evaluations" / evaluation.name(config.search), plots)


if __name__ == "__main__":
    main()
