"""Score plain text files: BLEU and chrF for translation, ROUGE for summarization, or any --metrics.

    python scripts/score.py [--task translation] hypotheses.txt references.txt [more-references.txt ...]
    python scripts/score.py --metrics bleu,chrf,ter,wer,cer,accuracy hypotheses.txt references.txt
    python scripts/score.py --task summarization --lead 10 sources.txt references.txt

Line n of each file belongs to line n of the others; /dev/stdin is standard input. --lead N scores the first N words of
each line: the baseline of summarization. Under --rouge-protocol duc whole sources are one too: 75 bytes count.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from mt.errors import UserError, reported
from mt.metrics import DEFAULTS, METRICS, build, require_known
from mt.metrics.bleu import TOKENIZERS, require_tokenizer
from mt.metrics.rouge import lead
from mt.metrics.score import Score
from mt.metrics.settings import ROUGE_PROTOCOLS, Settings
from mt.text_io import read_parallel


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--task", default="translation", choices=DEFAULTS, help="chooses the metrics where none are named"
    )
    parser.add_argument("--metrics", metavar="A,B", help=f"of {', '.join(METRICS)}")
    parser.add_argument("--target-language", metavar="CODE", help="zh, ja, ...; else what the first references end in")
    parser.add_argument("--tokenizer", help=f"of BLEU: {', '.join(TOKENIZERS)}; else by the target language")
    parser.add_argument("--rouge-protocol", default="plain", choices=ROUGE_PROTOCOLS, help="duc: recall at 75 bytes")
    parser.add_argument("--no-stem", action="store_true", help="ROUGE compares words, not their stems")
    parser.add_argument("--drop-unk", action="store_true", help="ROUGE does not count <unk>, unk and UNK")
    parser.add_argument("--multi", default="max", choices=("max", "mean"), help="ROUGE over several references")
    parser.add_argument("--lead", type=int, metavar="N", help="score the first N words of each line")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("hypothesis", type=Path)
    parser.add_argument("references", type=Path, nargs="+", metavar="reference")
    options = parser.parse_args(arguments)
    with reported():
        scores = score_files(options)
        if options.json:
            print(json.dumps({name: asdict(score) for name, score in scores.items()}, indent=2), flush=True)
        else:
            lines = (f"{name:<9} {score.score:6.2f}  {score.signature}" for name, score in scores.items())
            print("\n".join(lines), flush=True)


def score_files(options: argparse.Namespace) -> dict[str, Score]:
    """Scores by name; raises UserError for a file that cannot be used, unequal lengths or options that do not fit."""
    names = DEFAULTS[options.task] if options.metrics is None else options.metrics.split(",")
    require_known(names, "--metrics")
    require_tokenizer(options.tokenizer, "--tokenizer")
    if options.lead is not None and (options.lead < 1 or options.task != "summarization"):
        raise UserError("--lead N is a baseline of --task summarization: give it there, with N at least 1")
    paths = [options.hypothesis, *options.references]
    for path in paths:
        # A pipe of the shell, <(command), has its writer; a named one would be waited for without end.
        if path.is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
            raise UserError(f"{path} is a named pipe: give a file, or /dev/stdin and the text on standard input")
    hypotheses, *streams = read_parallel(paths, "example")
    hypotheses = [lead(line, options.lead) for line in hypotheses] if options.lead else hypotheses
    groups, protocol = list(zip(*streams, strict=True)), ROUGE_PROTOCOLS[options.rouge_protocol]
    rouge = replace(protocol, stem=not options.no_stem, keep_unk=not options.drop_unk, multi=options.multi)
    language = options.target_language or options.references[0].name.removesuffix(".gz")
    scores: dict[str, Score] = {}
    for metric in build(names, Settings(language, options.tokenizer, rouge)):
        scores |= metric.score(hypotheses, groups)
        for note in filter(None, (metric.notice, metric.unsuited(groups))):
            print(f"note: {note}", file=sys.stderr)
    return scores


if __name__ == "__main__":
    main()
