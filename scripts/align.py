"""Forced alignment: which source word has most of the attention as a model is given each word of a translation.

    python scripts/align.py RUN --source corpus.en --target corpus.de [--gold corpus.links] > corpus.pharaoh

Prints a line of word links (Pharaoh: source-target, from 0) for each pair of lines. Words are those of
`mt.data.words.words`, where punctuation marks are words, or characters where the model reads and writes characters;
with --words blanks they are what stands between blanks, as in gold links of text that is tokenised already. --gold, in
the same format and of the same words, with ipj for possible links, adds the alignment error rate on standard error;
with --one-based it counts from 1. A gold link to a word that is not there is refused.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from mt.cli.arguments import add_mode_option, add_run_options, in_flags, load_translator
from mt.cli.parser import Parser
from mt.common.terminal import say
from mt.data.tokenizer import LinkUnit, units
from mt.decoding.modes import decodes_hard
from mt.errors import reported
from mt.metrics.alignment import Links, alignment_error_rate, parse_pharaoh, require_inside, to_pharaoh
from mt.search.revision import revised_search
from mt.text_io import read_parallel


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    add_run_options(parser)
    parser.add_argument("--source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--target", type=Path, required=True, metavar="FILE")
    parser.add_argument("--gold", type=Path, metavar="FILE")
    parser.add_argument(
        "--words",
        choices=("marks", "blanks"),
        help="marks: punctuation marks are words, too; blanks: as blanks part them",
    )
    parser.add_argument("--one-based", action="store_true", help="the gold links count words from 1")
    add_mode_option(parser)
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        paths = [path for path in (options.source, options.target, options.gold) if path]
        sources, targets, *gold = read_parallel(paths, "pair")
        unit: LinkUnit = "spaced" if options.words == "blanks" else "word"
        links_of_gold = _read(options, gold[0], sources, targets, unit) if gold else []
        translator = load_translator(options)
        translator.refuse_long(sources, f"{options.source}, line")
        translator.refuse_long(targets, f"{options.target}, line")
        if gold or options.words:
            translator.link_unit = unit
        hard = None
        if options.mode:
            search = revised_search(translator.config.search, {"name": "greedy", "mode": options.mode})
            hard = decodes_hard(search, translator.model)
        links = [pair.links for pair in translator.align(sources, targets, hard=hard)]
        print("\n".join(map(to_pharaoh, links)), flush=True)
        if gold:
            score = alignment_error_rate(links, links_of_gold)
            say(f"aer {score.score:.2f}  {score.signature}", sys.stderr)


def _read(
    options: Namespace, lines: Sequence[str], sources: Sequence[str], targets: Sequence[str], unit: LinkUnit
) -> list[Links]:
    """The gold links. Raises UserError where a line is wrong, or does not belong to the pair."""
    first = int(options.one_based)
    gold = parse_pharaoh(lines, str(options.gold), first=first)
    advice = "" if options.one_based else ", give --one-based if they count from 1"
    advice += "" if options.words == "blanks" else ", and --words blanks if their words are what stands between blanks"
    lengths = [(len(units(a, unit)), len(units(b, unit))) for a, b in zip(sources, targets, strict=True)]
    require_inside(gold, lengths, str(options.gold), first=first, advice=advice)
    spaced = zip(sources, targets, lengths, strict=True)
    others = sum((len(a.split()), len(b.split())) != both for a, b, both in spaced) if options.words is None else 0
    if others:
        say(
            f"note: {others} of {len(gold)} pairs have other words between blanks: give --words blanks if the gold "
            "links count those, or --words marks if punctuation marks are words of theirs",
            sys.stderr,
        )
    return gold


if __name__ == "__main__":
    main()
