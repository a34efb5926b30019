"""The command align: its manual, which `--help` prints, the function that reads the command line, and the options that
this alone has."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mt.cli.arguments import add_plot_options, add_run_options, add_search_options, load_translator, reported_in_flags
from mt.cli.parser import Parser, number_of
from mt.common.links import Links, Symmetrisation, to_pharaoh
from mt.common.terminal import note, say
from mt.data.dataset import LINK_UNITS
from mt.errors import UserError, counted
from mt.metrics.alignment import alignment_error_rate
from mt.storage import require_writable
from mt.text_io import read_parallel

if TYPE_CHECKING:
    from mt.decoding.translation import Translation
    from mt.decoding.translator import Translator

ALIGN = """Forced alignment: which source word has most of the attention as a model is given each word of a translation.

    mt align RUN --source corpus.en --target corpus.de [--gold corpus.links] > corpus.pharaoh

Prints a line of word links (Pharaoh: source-target, from 0) for each pair of lines. Words are those of
`mt.data.words.words`, where punctuation marks are words, or letters and phones of a model of dataset=letters, or
characters where the model reads and writes characters; with --words blanks they are what stands between blanks, as in
gold links of text that is tokenised already. --gold, in the same format and of the same words, with ipj for possible
links, adds the alignment error rate on standard error; with --one-based it counts from 1. It may be of the NAACL
format, too. A gold link to a word that is not there is refused; one to a word for which the model has no piece of its
own is left out, and counted.

    mt align RUN REVERSE --symmetrise grow-diag --source corpus.en --target corpus.de

REVERSE is a run of the other direction, and both runs make the links. --extract says how links are made of the
attention. With --shift a word has the attention of the step that has read it: see docs/alignments.md.
"""


def align(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(ALIGN)
    add_run_options(parser, several="with --symmetrise, a second one of the other direction")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--target", type=Path, required=True, metavar="FILE")
    _add_link_options(parser)
    parser.needed = {"--plot-format": "--plots"}
    options = parser.parse_args(arguments)
    with reported_in_flags():
        _require_two_runs(options)
        if options.plots:
            require_writable(options.plots, f"--plots {options.plots}")
        from mt.decoding.lines import LineFiles
        from mt.evaluation.drawings import read_gold

        # A blank line or a line too many is refused with its number.
        sources, targets = read_parallel([options.source, options.target], "pair")
        # Gold links are checked before the model is loaded, so that a mistake in them shows at once.
        gold = []
        if options.gold:
            gold = read_gold(options.gold, options.source, sources, targets, options.words, one_based=options.one_based)
        translator, reverse = _translators(options)
        translator.refuse_long(sources, f"{options.source}, line")
        translator.refuse_long(targets, f"{options.target}, line")
        # Links join the words of the gold links, so that the two can be compared.
        if gold or options.words:
            unit = LINK_UNITS[options.words or "marks"]
            translator.link_units = (unit, unit)
        # Whether the attention chooses one position; else as the run decodes.
        modes = {None: None, "hard": True, "soft": False, "auto": translator.model.supports_hard}
        pairs = translator.align(
            sources,
            targets,
            hard=modes.get(vars(options).get("search.mode")),
            extract=options.extract,
            shift=options.shift,
            symmetrise_with=reverse,
            symmetrise=options.symmetrise or "grow-diag",
        )
        # The links go to standard output alone, so that a file of them can be made; the score goes beside it.
        print("\n".join(to_pharaoh(pair.links) for pair in pairs), flush=True)
        LineFiles(None, options.plots, options.plot_format, plot_words=True).draw(pairs, gold=gold)
        if gold:
            _print_error(pairs, gold)


def _add_link_options(parser: Parser) -> None:
    # The gold links, and what counts as a word.
    parser.add_argument("--gold", type=Path, metavar="FILE")
    help_text = "marks: punctuation marks are words, too; blanks: blanks and tabs part them; white_space: any does"
    parser.add_argument("--words", choices=("marks", "blanks", "white_space"), help=help_text)
    parser.add_argument("--one-based", action="store_true", help="the gold links count words from 1")
    # How links are made of the attention, and what is drawn.
    help_text = (
        "a word's links: to most of its attention, where a hard one stops, or all words with a share of at least P"
    )
    parser.add_argument("--extract", type=_extraction, default="argmax", metavar="argmax|stops|P", help=help_text)
    parser.add_argument("--shift", action="store_true", help="a word has the attention of the step that has read it")
    parser.add_argument("--symmetrise", choices=get_args(Symmetrisation), help="one alignment of two directions")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="where to draw pairs, with hits and misses of gold")
    add_plot_options(parser, words=False)
    add_search_options(parser, ["mode"])


def _extraction(text: str) -> str | float:
    return text if text in ("argmax", "stops") else number_of(float)(text)


def _require_two_runs(options: argparse.Namespace) -> None:
    if len(options.run) != (2 if options.symmetrise else 1):
        raise UserError(
            f"two runs of opposite directions go with --symmetrise, and you gave {counted(len(options.run), 'run')}: "
            "write RUN REVERSE --symmetrise grow-diag, or a single RUN"
        )


def _translators(options: argparse.Namespace) -> tuple["Translator", "Translator | None"]:
    # Options of its own for each, since `load_translator` writes the folder that it has found into them.
    forward, *backward = (load_translator(argparse.Namespace(**vars(options) | {"run": [run]})) for run in options.run)
    return forward, backward[0] if backward else None


def _print_error(pairs: Sequence["Translation"], gold: Sequence[Links]) -> None:
    linkable = [({*pair.units.source}, {*pair.units.target}) for pair in pairs]
    score = alignment_error_rate([pair.links for pair in pairs], gold, linkable)
    say(f"aer {score.score:.2f}  {score.signature}", sys.stderr)
    if score.unlinkable:
        note(
            f"{score.unlinkable} gold links are left out, since they join words that share a piece of the model "
            "with a neighbour, and no link to them can be made"
        )
