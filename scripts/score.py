"""Score plain text files: BLEU and chrF for translation, ROUGE for summarization, or any --metrics; a log of
simultaneous translation, by its latency too; or pairs of lines, by the probability that a run gives them.

    python scripts/score.py [--task translation] hypotheses.txt references.txt [more-references.txt ...]
    python scripts/score.py --metrics bleu,chrf,ter,wer,cer,accuracy hypotheses.txt references.txt
    python scripts/score.py --task summarization --lead 10 sources.txt references.txt
    python scripts/score.py --task simultaneous [--unit char] instances.log
    python scripts/score.py --task likelihood RUN [RUN ...] sources.txt targets.txt

Line n of each file belongs to line n of the others; /dev/stdin is standard input. A blank line of one of several files
of references is none. --lead N scores the first N words of each line, the baseline of summarization; words are what
stands between blanks, or --rouge-tokenizer's. Under --rouge-protocol duc whole sources are one too: 75 bytes count.

A log is an instances.log of RUN/hypotheses or of SimulEval, with the references in it. Its latency is that of SimulEval
1.1.4 (AP, AL, LAAL, DAL) and OmniSTEval 0.1.10 (YAAL, and SWF and EFSW, whose difference shows a degenerate policy).

The likelihood of a pair is a line `score ||| log-probability ||| pieces ||| log-probability of each piece`, natural
logarithms, EOS included; with --json an object. The score is the log-probability over ((5 + pieces) / 6)^a, what a beam
ranks by; a is --length-penalty, else the run's own. The mean over all pieces, and the perplexity, go to standard error.
Several runs are an ensemble.
"""

from collections.abc import Sequence
from pathlib import Path

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.cli.metric_options import add_metric_options
from mt.cli.parser import Parser
from mt.cli.scoring import LIKELIHOOD, add_task_options, run_task
from mt.errors import reported
from mt.metrics import DEFAULTS


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument(
        "--task",
        default="translation",
        choices=(*DEFAULTS, LIKELIHOOD),
        help="chooses the metrics where none are named",
    )
    add_metric_options(parser)
    add_task_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("hypothesis", type=Path, metavar="HYPOTHESES", help="a file; or the log, or a run")
    parser.add_argument(
        "references", type=Path, nargs="*", metavar="REFERENCES", help="files; or of a run the sources and the targets"
    )
    options = parser.parse_args(arguments)
    with reported():
        run_task(options)


if __name__ == "__main__":
    main()
