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

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from mt.cli.metric_options import OF_TEXTS, add_metric_options, chosen_metrics, settings_of, typed_flags
from mt.cli.parser import Parser
from mt.common.comparable import is_blank
from mt.common.terminal import output, say
from mt.data.tokenizer import load_tokenizer
from mt.errors import UserError, reported
from mt.metrics import DEFAULTS, build, notes
from mt.metrics.advice import lacks_capitals
from mt.metrics.base import References
from mt.metrics.instances import read_log, score_latency
from mt.metrics.latency import LatencyUnit, degenerate, unsuited
from mt.metrics.rouge import Lead
from mt.metrics.score import Score
from mt.metrics.settings import PLAIN
from mt.text_io import read_parallel

SIMULTANEOUS = "simultaneous"
LIKELIHOOD = "likelihood"
OF_LOGS = ("unit", "spm_model", "no_use_ref_len")
OF_RUNS = ("length_penalty", "checkpoint", "device")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument(
        "--task",
        default="translation",
        choices=(*DEFAULTS, LIKELIHOOD),
        help="chooses the metrics where none are named",
    )
    add_metric_options(parser)
    parser.add_argument("--lead", type=int, metavar="N", help="score the first N words of each line")
    parser.add_argument("--unit", choices=get_args(LatencyUnit), help="of a log's targets: word, where none is named")
    parser.add_argument("--spm-model", type=Path, metavar="FILE", help="a run's tokenizer.model, for --unit subword")
    parser.add_argument("--no-use-ref-len", action="store_true", help="AP, AL and LAAL by the hypothesis's length")
    parser.add_argument("--length-penalty", type=float, metavar="A", help="of likelihoods; else the run's own")
    parser.add_argument("--checkpoint", help="of a run: best, where none is named, last, average or ema")
    parser.add_argument("--device", help="of a run: auto, cpu, cuda, cuda:1, mps")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("hypothesis", type=Path, metavar="HYPOTHESES", help="a file; or the log, or a run")
    parser.add_argument(
        "references", type=Path, nargs="*", metavar="REFERENCES", help="files; or of a run the sources and the targets"
    )
    options = parser.parse_args(arguments)
    with reported():
        if options.task == LIKELIHOOD:
            print_likelihoods(options)
            return
        scores = score_log(options) if options.task == SIMULTANEOUS else score_files(options)
        if options.json:
            say(json.dumps({name: asdict(score) for name, score in scores.items()}, indent=2))
        else:
            lines = (f"{name:<9} {score.score:6.2f}  {score.signature}" for name, score in scores.items())
            say("\n".join(lines))


def score_files(options: argparse.Namespace) -> dict[str, Score]:
    """Scores by name; raises UserError for a file that cannot be used, unequal lengths or options that do not fit."""
    if not options.references:
        raise UserError(f"--task {options.task} compares with references: give their files after the hypotheses")
    _refuse(options, OF_LOGS, SIMULTANEOUS)
    _refuse(options, OF_RUNS, LIKELIHOOD)
    if options.lead is not None and (options.lead < 1 or options.task != "summarization"):
        raise UserError("--lead N is a baseline of --task summarization: give it there, with N at least 1")
    paths = [options.hypothesis, *options.references]
    _refuse_pipes(paths)
    names = chosen_metrics(options, lead=options.lead is not None)
    hypotheses, *streams = read_parallel(paths, "example")
    groups = [_references(group, paths[1:], line) for line, group in enumerate(zip(*streams, strict=True), start=1)]
    hypotheses = _leads(options, hypotheses) if options.lead else hypotheses
    language = options.target_language or options.references[0].name
    return _scored(names, options, language, hypotheses, groups)


def score_log(options: argparse.Namespace) -> dict[str, Score]:
    """The same of a log of simultaneous translation; its latency comes after the other scores."""
    _refuse(options, OF_RUNS, LIKELIHOOD)
    if options.references or options.lead is not None:
        raise UserError(f"--task {SIMULTANEOUS} takes a log, which holds the references: give it alone, without --lead")
    unit: LatencyUnit = options.unit or "word"
    if (unit == "subword") != (options.spm_model is not None):
        raise UserError("--unit subword and --spm-model FILE go together: the model counts the references' subwords")
    _refuse_pipes([options.hypothesis])
    names = chosen_metrics(options)
    subwords = load_tokenizer(options.spm_model).count_pieces if options.spm_model else len
    instances = read_log(options.hypothesis, unit)
    timed = score_latency(instances, unit, subwords=subwords, reference_length=not options.no_use_ref_len)
    if not timed:
        raise UserError(f"{options.hypothesis} has no hypothesis with a word, so there is no latency to measure")
    referenced = [instance for instance in instances if instance.reference is not None]
    groups = [[instance.reference.strip("\r\n")] for instance in referenced if instance.reference is not None]
    for line, instance in enumerate(instances, start=1):
        if instance.reference is not None and is_blank(instance.reference):
            raise UserError(f"{options.hypothesis}, line {line} has a blank reference: remove that line")
    hypotheses = [instance.prediction for instance in referenced]
    scores = _scored(names, options, options.target_language, hypotheses, groups) if referenced else {}
    if note := unsuited(unit, [group[0] for group in groups]) if groups else None:
        say(f"note: {note}", sys.stderr)
    if degenerate(timed):
        say("note: SWF and EFSW are more than 20 apart: likely a degenerate policy, by OmniSTEval", sys.stderr)
    return scores | timed


def print_likelihoods(options: argparse.Namespace) -> None:
    """A line for each pair. Raises UserError for a file or run that cannot be used, unequal lengths, blank lines."""
    # Not above: the other tasks need no torch.
    from mt.decoding.load import load
    from mt.evaluation.likelihood import likelihoods

    _refuse(options, OF_LOGS, SIMULTANEOUS)
    for flag in typed_flags(options, (*OF_TEXTS, "lead")):
        raise UserError(f"{flag} is about texts that are compared, which --task {LIKELIHOOD} does not: leave it out")
    if len(options.references) < 2:
        raise UserError("--task likelihood takes a run, or several, and two files: RUN sources.txt targets.txt")
    if options.length_penalty is not None and not 0 <= options.length_penalty <= 100:
        raise UserError(f"--length-penalty {options.length_penalty} is not possible: give a number from 0 to 100")
    *others, source, target = options.references
    pairs = [source, target]
    _refuse_pipes(pairs)
    texts = read_parallel(pairs, "pair")
    translator = load(
        [options.hypothesis, *others], checkpoint=options.checkpoint or "best", device=options.device or "auto"
    )
    for path, lines in zip(pairs, texts, strict=True):
        for number, line in enumerate(lines, start=1):
            if is_blank(line):
                raise UserError(
                    f"{path}, line {number} is blank, and a pair has two sides: remove that line from both files"
                )
        if path is target or translator.field.written:
            translator.refuse_long(lines, f"{path}, line")
    found = likelihoods(translator, *texts, length_penalty=options.length_penalty)
    for one in found:
        if options.json:
            print(output(json.dumps(asdict(one) | {"log_prob": one.log_prob}, ensure_ascii=False)))
        else:
            each = " ".join(f"{log_prob:.6f}" for log_prob in one.token_log_probs)
            print(output(f"{one.score:.6f} ||| {one.log_prob:.6f} ||| {' '.join(one.tokens)} ||| {each}"))
    sys.stdout.flush()
    total = sum(one.log_prob for one in found)
    count = sum(len(one.tokens) for one in found)
    mean = total / count
    told = f"{mean:.4f} a piece, perplexity {math.exp(min(-mean, 700.0)):.4f}"
    say(f"{len(found):,} pairs, {count:,} pieces: {told}", sys.stderr)


def _refuse(options: argparse.Namespace, names: Sequence[str], task: str) -> None:
    for flag in typed_flags(options, names):
        raise UserError(f"{flag} is an option of --task {task}: leave it out, or add that")


def _references(texts: Sequence[str], paths: Sequence[Path], line: int) -> list[str]:
    """What there is to compare line n with: a blank line is no reference. Raises UserError where all are blank."""
    if written := [text for text in texts if not is_blank(text)]:
        return written
    where = f"{paths[0]}, line {line} is blank" if len(paths) == 1 else f"line {line} is blank in all references"
    raise UserError(f"{where}, and a hypothesis cannot be scored against nothing: remove that line from every file")


def _leads(options: argparse.Namespace, sources: Sequence[str]) -> list[str]:
    lead = Lead(options.lead, options.rouge_tokenizer or PLAIN.tokenizer)
    if note := lead.unsuited(sources):
        say(f"note: {note}", sys.stderr)
    return [lead.beginning(source) for source in sources]


def _refuse_pipes(paths: Sequence[Path]) -> None:
    for path in paths:
        # A pipe of the shell, <(command), has its writer; a named one would be waited for without end.
        if path.is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
            raise UserError(f"{path} is a named pipe: give a file, or /dev/stdin and the text on standard input")


def _scored(
    names: Sequence[str], options: argparse.Namespace, language: str | None, hypotheses: list[str], groups: References
) -> dict[str, Score]:
    metrics = build(names, settings_of(options, language))
    scores: dict[str, Score] = {}
    for metric in metrics:
        scores |= metric.score(hypotheses, groups)
    for note in notes(metrics, groups):
        say(f"note: {note}", sys.stderr)
    cased = any("case:mixed" in score.signature for score in scores.values())
    if cased and lacks_capitals(hypotheses, [group[0] for group in groups]):
        say(
            "note: no hypothesis has a capital letter, and most references have: add --lowercase if the system writes "
            "lower case alone",
            sys.stderr,
        )
    return scores


if __name__ == "__main__":
    main()
