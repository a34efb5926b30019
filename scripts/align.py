"""Forced alignment: which source word has most of the attention as a model is given each word of a translation.

    python scripts/align.py RUN --source corpus.en --target corpus.de [--gold corpus.links] > corpus.pharaoh

Prints a line of word links (Pharaoh: source-target, from 0) for each pair of lines. Words are those of
`mt.data.words.words`, where punctuation marks are words, or characters where the model reads and writes characters;
with --words blanks they are what stands between blanks, as in gold links of text that is tokenised already. --gold, in
the same format and of the same words, with ipj for possible links, adds the alignment error rate on standard error;
with --one-based it counts from 1. A gold link to a word that is not there is refused.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.cli.arguments import add_run_options, add_search_options, in_flags, load_translator
from mt.cli.parser import Parser
from mt.common.terminal import say
from mt.decoding.modes import decodes_hard
from mt.errors import reported
from mt.evaluation.drawings import WORDS, read_gold
from mt.metrics.alignment import alignment_error_rate, to_pharaoh
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
        choices=tuple(WORDS),
        help="marks: punctuation marks are words, too; blanks: as blanks part them",
    )
    parser.add_argument("--one-based", action="store_true", help="the gold links count words from 1")
    add_search_options(parser, ["mode"])
    options = parser.parse_args(arguments)
    with reported(), in_flags():
        paths = [path for path in (options.source, options.target, options.gold) if path]
        sources, targets, *gold = read_parallel(paths, "pair")
        gold_links = []
        if gold:
            name = str(options.gold)
            gold_links = read_gold(gold[0], sources, targets, options.words, name=name, one_based=options.one_based)
        translator = load_translator(options)
        translator.refuse_long(sources, f"{options.source}, line")
        translator.refuse_long(targets, f"{options.target}, line")
        if gold or options.words:
            translator.link_unit = WORDS[options.words or "marks"]
        hard = None
        if options.mode:
            search = revised_search(translator.config.search, {"name": "greedy", "mode": options.mode})
            hard = decodes_hard(search, translator.model)
        links = [pair.links for pair in translator.align(sources, targets, hard=hard)]
        print("\n".join(map(to_pharaoh, links)), flush=True)
        if gold:
            score = alignment_error_rate(links, gold_links)
            say(f"aer {score.score:.2f}  {score.signature}", sys.stderr)


if __name__ == "__main__":
    main()
