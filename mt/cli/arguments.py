"""Options that several commands share: of runs, search, unknown words and plots. Adds them to a parser, and reads what
was typed."""

import argparse
import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from mt.cli.parser import Parser, number_of
from mt.common.backdrop import PlotFormat
from mt.common.options import described, kinds_in, notation
from mt.decoding.load import ENGINES, load, repository_of, resolve_runs
from mt.errors import UserError, reported
from mt.search.config import PRECISIONS, SEARCHES, SearchConfig, revised_search

if TYPE_CHECKING:
    from mt.decoding.translator import Translator
    from mt.decoding.unknown_words import UnknownWords

_SEARCH = "search."
_FLAGS = {"name": "search", "beam_size": "beam", "k": "wait_k"}
"""Options of search whose flags have names of their own."""


def flag_of(option: str) -> str:
    """Returns the flag of an option, of search too: `--beam` for `search.beam_size`."""
    name = option.removeprefix(_SEARCH)
    return f"--{_FLAGS.get(name, name).replace('_', '-')}"


@contextlib.contextmanager
def reported_in_flags() -> Iterator[None]:
    """Reports errors as `reported`, with options as flags."""
    with reported(), notation(lambda option: f"{flag_of(option)} "):
        yield


def add_run_options(parser: argparse.ArgumentParser, *, several: str = "", engine: bool = False) -> None:
    """Adds the options that choose a model and its device. several: the help about several runs, where they are
    allowed. engine: whether the command has --engine and --precision."""
    help_text = "the folder that training printed, or hf://OWNER/NAME on the Hugging Face hub"
    help_text += f"; {several}" if several else ""
    parser.add_argument("run", type=Path, nargs="+" if several else 1, metavar="RUN", help=help_text)
    add_model_options(parser, engine=engine)


def add_model_options(parser: argparse.ArgumentParser, *, engine: bool) -> None:
    parser.add_argument("--checkpoint", help="best, where none is named, last, average or ema where the run made one")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    if engine:
        help_text = "onnx: RUN is what mt export --format onnx made"
        parser.add_argument("--engine", choices=ENGINES, default="torch", help=help_text)
        help_text = "of products; int8 is fastest on CPUs; else the run's own"
        parser.add_argument("--precision", choices=PRECISIONS, help=help_text)


def add_search_options(parser: Parser, names: Iterable[str] | None = None) -> None:
    """Adds a flag for each of these options of search; None: for all. Options that are not typed stay as the run was
    configured."""
    # A flag may belong to several searches: its type and its help come from the last one that has it.
    fields = {name: field for search in SEARCHES.values() for name, field in search.model_fields.items()}
    meanings = {name: text for search in SEARCHES.values() for name, text in described(search).items()}
    for name in fields if names is None else names:
        # An option of `float | None` or of a Literal has one kind that matters to a parser.
        kinds = kinds_in(fields[name].annotation)
        choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
        parser.add_argument(
            flag_of(name),
            dest=f"{_SEARCH}{name}",
            default=argparse.SUPPRESS,  # what is typed counts alone, `null` too
            type=next((_or_null(kind) for kind in kinds if kind in (int, float)), str),
            # Each search allows its own name alone, so that all names come from the table of searches.
            choices=tuple(SEARCHES) if name == "name" else choices or None,
            metavar=None if choices else "N",
            help=meanings.get(name, "").replace("%", "%%"),
        )


def _or_null(kind: type[int] | type[float]) -> Callable[[str], Any]:
    """Returns a type of argument: a number, or `null` as in conf/, which some options take."""
    convert = number_of(kind)
    return lambda text: None if text == "null" else convert(text)


def add_unknown_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that replace unknown words in translations."""
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
    """Returns the replacement of unknown words; None where they stay."""
    # The dictionary implies --replace-unknown.
    dictionary = options.unknown_dictionary
    if not options.replace_unknown and dictionary is None:
        return None
    from mt.decoding.unknown_words import UnknownWords, read_dictionary

    return UnknownWords(translator, {} if dictionary is None else read_dictionary(dictionary))


def add_plot_options(parser: argparse.ArgumentParser, *, words: bool = True) -> None:
    """Adds the options of drawings. words: whether they show attention, between words or pieces."""
    parser.add_argument("--plot-format", choices=get_args(PlotFormat), help="png, pdf or svg")
    if words:
        help_text = "heatmaps of words, or of pieces"
        parser.add_argument("--plot-words", action=argparse.BooleanOptionalAction, help=help_text)


@notation(lambda option: f"{flag_of(option)} ")
def load_translator(options: argparse.Namespace) -> "Translator":
    """Loads the runs of `add_run_options`. Afterwards `options.run` has the folders of downloaded repositories in their
    place. Errors have options as flags."""
    # Repositories of the hub are downloaded here.
    options.run = resolve_runs(options.run)
    typed = vars(options)
    return load(
        options.run,
        checkpoint=chosen_checkpoint(options),
        device=options.device,
        engine=typed.get("engine", "torch"),
        precision=typed.get("precision"),
    )


def chosen_checkpoint(options: argparse.Namespace) -> str:
    """Returns the name of the checkpoint. Raises UserError for --checkpoint with a folder that is a single checkpoint
    itself."""
    # A folder with a config.json of its own is a checkpoint, and no run.
    single = [run for run in options.run if (run / "config.json").is_file()]
    if options.checkpoint is not None and single:
        raise UserError(
            f"--checkpoint {options.checkpoint} chooses among the checkpoints of a run, and {single[0]} holds a single "
            "one: leave it out, or give the run's folder"
        )
    return options.checkpoint or "best"


def folder_of_results(run: Path) -> Path:
    """Returns the folder for the results of a run. Those of a downloaded run go to outputs/, as nobody would look for
    them in a cache."""
    repository = repository_of(str(run))
    return run if repository is None else Path("outputs") / repository


def chosen_search(options: argparse.Namespace, config: SearchConfig) -> SearchConfig:
    """Returns a run's search with the options of `add_search_options`. None is accepted and ignored."""
    # The flags have no defaults, so that only typed options are here.
    chosen = {key.removeprefix(_SEARCH): value for key, value in vars(options).items() if key.startswith(_SEARCH)}
    kind = chosen.get("name", config.name)
    # An option that the chosen search lacks is refused, since it would have no effect.
    for option in chosen:
        fits = [name for name, search in SEARCHES.items() if option in search.model_fields]
        if kind not in fits:
            where = f"--search {kind}" if "name" in chosen else f"this run, which is decoded by {kind} search"
            raise UserError(
                f"{flag_of(option)} is an option of --search {' or '.join(fits)}, and not of {where}: add --search "
                f"{fits[-1]}, or leave it out"
            )
    return revised_search(config, chosen)
