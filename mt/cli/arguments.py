"""Adds and reads the options that several scripts share, first of runs, then of search, words and plots. At last it
puts errors into the words of the command line."""

import argparse
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from mt.cli.parser import Parser
from mt.cli.startup import loading
from mt.common.backdrop import PlotFormat
from mt.common.input_files import parse_json
from mt.decoding.load import ENGINES, load, repository_of, resolve_runs
from mt.errors import UserError, nearest
from mt.search.config import PRECISIONS, SEARCHES, SearchConfig, revised_search
from mt.search.options import Utility

if TYPE_CHECKING:
    from mt.decoding.translator import Translator
    from mt.decoding.unknown_words import UnknownWords

# Each option of search: its flag, its type or its choices, how its value is called in --help, and what it does.
SEARCH_OPTIONS: Mapping[str, tuple[str, type | tuple[str, ...], str | None, str | None]] = {
    "name": ("--search", tuple(SEARCHES), None, None),
    "beam_size": ("--beam", int, "K", "hypotheses kept per sentence"),
    "length_penalty": ("--length-penalty", float, "A", "0: none (Wu et al. 2016, equation 14)"),
    "coverage_penalty": ("--coverage-penalty", float, "B", "for what is left out (Wu et al. 2016, equation 14)"),
    "summary_penalty": ("--summary-penalty", float, "B", "for what is attended to twice (OpenNMT's `summary`)"),
    "utility": ("--utility", get_args(Utility), None, "minimum Bayes risk: what is closest to the rest, by this score"),
    "samples": ("--samples", int, "N", "hypotheses drawn per sentence"),
    "temperature": ("--temperature", float, "T", "below 1: samples of more probable tokens"),
    "seed": ("--seed", int, "N", "of samples"),
    "min_length": ("--min-length", int, "N", "fewest tokens before the end"),
    "max_length": ("--max-length", int, "N", "most tokens, the end included, whatever the source"),
    "max_ratio": ("--max-ratio", float, "R", "at most R times the source's length, and --max-extra tokens"),
    "max_extra": ("--max-extra", int, "N", "see --max-ratio; else the run's own, or 10"),
    "no_repeat_ngram_size": ("--no-repeat-ngram-size", int, "N", "no N tokens in a row twice; 0: any"),
    "k": ("--wait-k", int, "K", "source tokens read before the first target token"),
    "mask_k": ("--mask-k", int, "K", "last words that re-translation does not show while the source goes on"),
    "mode": ("--mode", ("auto", "soft", "hard"), None, "how a monotonic attention reads"),
}
FLAGS = {option: flag for option, (flag, *_) in SEARCH_OPTIONS.items()} | {"n_best": "--n-best"}


def add_run_options(parser: argparse.ArgumentParser, *, several: str = "", engine: bool = False) -> None:
    """Adds which model, and where it runs. several: the help about several runs, where they are allowed. engine:
    whether what computes, and how precisely, is a choice."""
    help_text = "the folder that training printed, or hf://OWNER/NAME on the Hugging Face hub"
    help_text += f"; {several}" if several else ""
    parser.add_argument("run", type=Path, nargs="+" if several else None, metavar="RUN", help=help_text)
    add_model_options(parser, engine=engine)


def add_model_options(parser: argparse.ArgumentParser, *, engine: bool) -> None:
    parser.add_argument("--checkpoint", help="best, where none is named, last, average or ema where the run made one")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    if engine:
        help_text = "onnx: RUN is what mt export --format onnx made"
        parser.add_argument("--engine", choices=ENGINES, default="torch", help=help_text)
        help_text = "of products; int8 is fastest on CPUs; else the run's own"
        parser.add_argument("--precision", choices=PRECISIONS, help=help_text)


def add_search_options(parser: Parser, names: Iterable[str] = SEARCH_OPTIONS) -> None:
    """Adds how to decode: the options of search of these names, also as `search.NAME=VALUE`. What is left out stays as
    the run was configured."""
    for name in names:
        flag, kind, metavar, help_text = SEARCH_OPTIONS[name]
        if isinstance(kind, tuple):
            parser.add_argument(flag, choices=kind, help=help_text)
        else:
            parser.add_argument(flag, type=kind, metavar=metavar, help=help_text)
        parser.flags_of_options["search" if name == "name" else f"search.{name}"] = flag


def add_unknown_options(parser: argparse.ArgumentParser) -> None:
    """Adds what unknown words of translations are replaced by."""
    parser.add_argument(
        "--replace-unknown", action="store_true", help="each unknown word by the source word that it attended to most"
    )
    parser.add_argument(
        "--unknown-dictionary",
        type=Path,
        metavar="FILE",
        help="the same, by what FILE has for that source word: lines of a source word, a tab or a blank, and a target "
        "word",
    )


def chosen_unknown_words(options: argparse.Namespace, translator: "Translator") -> "UnknownWords | None":
    """Returns what replaces unknown words; None: nothing."""
    dictionary = options.unknown_dictionary
    if not options.replace_unknown and dictionary is None:
        return None
    from mt.decoding.unknown_words import UnknownWords, read_dictionary

    return UnknownWords(translator, {} if dictionary is None else read_dictionary(dictionary))


def add_plot_options(parser: argparse.ArgumentParser, *, words: bool = True) -> None:
    """Adds how to draw. words: whether what is drawn is attention."""
    parser.add_argument("--plot-format", choices=get_args(PlotFormat), help="png, pdf or svg")
    if words:
        help_text = "heatmaps of words, or of pieces"
        parser.add_argument("--plot-words", action=argparse.BooleanOptionalAction, help=help_text)


def load_translator(options: argparse.Namespace) -> "Translator":
    """Loads the translator of `add_run_options`. In the place of repositories `options.run` has the downloaded folders
    afterwards."""
    options.run = resolve_runs(options.run) if isinstance(options.run, list) else resolve_runs(options.run)[0]
    typed = vars(options)
    with in_flags(), loading():
        return load(
            options.run,
            checkpoint=chosen_checkpoint(options),
            device=options.device,
            engine=typed.get("engine", "torch"),
            precision=typed.get("precision"),
        )


def chosen_checkpoint(options: argparse.Namespace) -> str:
    """Returns the name of the checkpoint. Raises UserError where --checkpoint is typed for a folder that is one."""
    runs = options.run if isinstance(options.run, list) else [options.run]
    single = [run for run in runs if (run / "config.json").is_file()]
    if options.checkpoint is not None and single:
        raise UserError(
            f"--checkpoint {options.checkpoint} chooses among the checkpoints of a run, and {single[0]} holds a single "
            "one: leave it out, or give the run's folder"
        )
    return options.checkpoint or "best"


def folder_of_results(run: Path) -> Path:
    """Returns the folder below which results of a run are written: what is downloaded lies in a cache, where nobody
    looks for them."""
    repository = repository_of(str(run))
    return run if repository is None else Path("outputs") / repository


def chosen_search(options: argparse.Namespace, config: SearchConfig) -> SearchConfig:
    """Returns a run's search with the options of `add_search_options`, and of --n-best where there is one. None is
    accepted and ignored."""
    # Only what is typed counts, so that the run's own search fills in the rest.
    typed = {f"--{name.replace('_', '-')}": value for name, value in vars(options).items()}
    chosen = {option: typed[flag] for option, flag in FLAGS.items() if typed.get(flag) is not None}
    chosen |= {key.removeprefix("search."): _value(text) for key, text in options.assignments.items()}
    kind = chosen.get("name", config.name)
    # An option that the chosen search lacks is refused, since it would have no effect.
    for option in chosen:
        fits = [name for name, search in SEARCHES.items() if option in search.model_fields]
        if not fits:
            known = {name for search in SEARCHES.values() for name in search.model_fields}
            raise UserError(f"unknown option search.{option}: {nearest(option, known)}")
        if kind not in fits:
            flag = FLAGS.get(option, f"search.{option}")
            where = f"--search {kind}" if "name" in chosen else f"this run, which is decoded by {kind} search"
            raise UserError(
                f"{flag} is an option of --search {' or '.join(fits)}, and not of {where}: add --search {fits[-1]}, or "
                "leave it out"
            )
    # Values out of bounds are named by their flags, which is what the user typed.
    with in_flags():
        return revised_search(config, chosen)


def _value(text: str) -> Any:
    """Returns the value of an option as it is typed: a number, true, false, null, or a text."""
    try:
        return parse_json(text, infinite=True)
    except ValueError:
        return text


@contextlib.contextmanager
def in_flags() -> Iterator[None]:
    """Makes errors inside name options as a command line does (`--beam 3`), not as YAML does (`search.beam_size=3`).
    Those without a flag keep their names, and what a `config.json` is blamed for: they are the run's own."""
    try:
        yield
    except UserError as error:
        if "config.json" in str(error):
            raise
        sentence = re.sub(r"\b(search|device|engine|precision)=(?=\w)", r"--\1 ", str(error))
        raise UserError(re.sub(r"\bsearch\.(\w+)(=?)", _with_flag, sentence)) from error


def _with_flag(option: re.Match[str]) -> str:
    return f"{FLAGS[option[1]]}{option[2] and ' '}" if option[1] in FLAGS else option[0]
