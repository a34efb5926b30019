"""The tasks of `scripts/score.py`: their options, none of which is accepted and ignored, and what each calls."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from mt.cli.metric_options import OF_TEXTS, chosen_metrics, settings_of
from mt.cli.parser import typed_flags
from mt.common.terminal import say
from mt.data.tokenizer import load_tokenizer
from mt.errors import UserError
from mt.metrics.base import Score
from mt.metrics.files import score_files, score_log
from mt.metrics.latency import LatencyUnit
from mt.text_io import read_parallel

SIMULTANEOUS = "simultaneous"
LIKELIHOOD = "likelihood"
OF_LOGS = ("unit", "spm_model", "no_use_ref_len")
OF_RUNS = ("length_penalty", "checkpoint", "device")


def add_task_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that one task alone has."""
    parser.add_argument("--lead", type=int, metavar="N", help="score the first N words of each line")
    parser.add_argument("--unit", choices=get_args(LatencyUnit), help="of a log's targets: word, where none is named")
    parser.add_argument("--spm-model", type=Path, metavar="FILE", help="a run's tokenizer.model, for --unit subword")
    parser.add_argument("--no-use-ref-len", action="store_true", help="AP, AL and LAAL by the hypothesis's length")
    parser.add_argument("--length-penalty", type=float, metavar="A", help="of likelihoods; else the run's own")
    parser.add_argument("--checkpoint", help="of a run: best, where none is named, last, average or ema")
    parser.add_argument("--device", help="of a run: auto, cpu, cuda, cuda:1, mps")


def run_task(options: argparse.Namespace) -> None:
    """Prints what the task is to print. Raises UserError for options that do not fit, and as the functions it calls."""
    if options.task == LIKELIHOOD:
        _likelihoods(options)
        return
    scores = _of_log(options) if options.task == SIMULTANEOUS else _of_files(options)
    if options.json:
        say(json.dumps({name: asdict(score) for name, score in scores.items()}, indent=2))
    else:
        say("\n".join(f"{name:<9} {score.score:6.2f}  {score.signature}" for name, score in scores.items()))


def _of_files(options: argparse.Namespace) -> dict[str, Score]:
    if not options.references:
        raise UserError(f"--task {options.task} compares with references: give their files after the hypotheses")
    _refuse(options, OF_LOGS, SIMULTANEOUS)
    _refuse(options, OF_RUNS, LIKELIHOOD)
    if options.lead is not None and (options.lead < 1 or options.task != "summarization"):
        raise UserError("--lead N is a baseline of --task summarization: give it there, with N at least 1")
    _refuse_pipes([options.hypothesis, *options.references])
    names = chosen_metrics(options, lead=options.lead is not None)
    settings = settings_of(options, options.target_language or options.references[0].name)
    return score_files(names, settings, options.hypothesis, options.references, lead=options.lead)


def _of_log(options: argparse.Namespace) -> dict[str, Score]:
    _refuse(options, OF_RUNS, LIKELIHOOD)
    if options.references or options.lead is not None:
        raise UserError(f"--task {SIMULTANEOUS} takes a log, which holds the references: give it alone, without --lead")
    unit: LatencyUnit = options.unit or "word"
    if (unit == "subword") != (options.spm_model is not None):
        raise UserError("--unit subword and --spm-model FILE go together: the model counts the references' subwords")
    _refuse_pipes([options.hypothesis])
    names = chosen_metrics(options)
    return score_log(
        names,
        settings_of(options, options.target_language),
        options.hypothesis,
        unit=unit,
        count_subwords=load_tokenizer(options.spm_model).count_pieces if options.spm_model else len,
        reference_length=not options.no_use_ref_len,
    )


def _likelihoods(options: argparse.Namespace) -> None:
    # Not above: the other tasks need no torch.
    from mt.decoding.load import load
    from mt.evaluation.likelihood import likelihoods_of_lines, print_likelihoods

    _refuse(options, OF_LOGS, SIMULTANEOUS)
    for flag in typed_flags(options, (*OF_TEXTS, "lead")):
        raise UserError(f"{flag} is about texts that are compared, which --task {LIKELIHOOD} does not: leave it out")
    if len(options.references) < 2:
        raise UserError("--task likelihood takes a run, or several, and two files: RUN sources.txt targets.txt")
    if options.length_penalty is not None and not 0 <= options.length_penalty <= 100:
        raise UserError(f"--length-penalty {options.length_penalty} is not possible: give a number from 0 to 100")
    *further_runs, source, target = options.references
    paths = (source, target)
    _refuse_pipes(paths)
    texts = read_parallel(paths, "pair")
    runs = [options.hypothesis, *further_runs]
    translator = load(runs, checkpoint=options.checkpoint or "best", device=options.device or "auto")
    likelihoods = likelihoods_of_lines(translator, paths, texts, length_penalty=options.length_penalty)
    print_likelihoods(likelihoods, as_json=options.json)


def _refuse(options: argparse.Namespace, names: Sequence[str], task: str) -> None:
    """Raises UserError where one of the options, which are those of another task, is on the command line."""
    for flag in typed_flags(options, names):
        raise UserError(f"{flag} is an option of --task {task}: leave it out, or add that")


def _refuse_pipes(paths: Sequence[Path]) -> None:
    for path in paths:
        # A pipe of the shell, <(command), has its writer; a named one would be waited for without end.
        if path.is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
            raise UserError(f"{path} is a named pipe: give a file, or /dev/stdin and the text on standard input")
