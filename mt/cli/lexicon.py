"""The command lexicon: its manual, which `--help` prints, and the function that reads the command line."""

import functools
import itertools
import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from mt.cli.arguments import add_run_options, load_translator, reported_in_flags
from mt.cli.parser import Parser, share, whole_number
from mt.common.terminal import note, output
from mt.errors import UserError, shown
from mt.storage import require_writable, write_text
from mt.text_io import composed

LEXICON = """Write a pronunciation lexicon: the phones of each word of a list, by a model of dataset=letters.

    mt lexicon RUN --words words.txt > lexicon.txt
    mt lexicon RUN --words words.txt --n 3 --threshold 0.1 --probabilities --out lexiconp.txt
    mt lexicon RUN --words words.txt --dictionary known.tsv --map voice.txt --out lexicon.txt

words.txt has one word a line. A line of the lexicon is `word p1 p2 ...`, as sherpa-onnx and Kaldi read it. Several
pronunciations of a word are several lines, most probable first. A word with blanks is written `two words :: p1 p2`,
which only sherpa-onnx reads. --probabilities adds a column, `word 0.9321 p1 p2`, as in Kaldi's lexiconp.txt. Those of a
word's --n pronunciations sum to 1, before --threshold leaves some out.

--dictionary has words whose pronunciations are known: a word, a tab or a blank, and its phones in each line, as in
data of dataset=letters, in a lexicon, or in dictionaries of CMUdict and MFA. Slashes and commas around pronunciations,
as of ipa-dict, are refused. All that it has are taken as they are, and the model writes the others. A word that it
lacks is looked for in small letters. Letters that the model has never seen are read as small ones or without their
accents, and punctuation and invisible marks that it has never seen are left out.

--map gives the phones of a voice for those of the model: in each line a phone of the model, and those of the voice;
nothing after a phone that is left out. It must have all phones of the model. A dictionary has the phones of the voice
then.

The lexicon is written when all of it is there. Words without a pronunciation, words with letters that the model has
never seen, and words whose phones in the dictionary are none of the model's are counted on standard error.
"""


def lexicon(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    with reported_in_flags():
        from mt.decoding import lexicon as pronunciations

        # What can be wrong shows before words are decoded.
        if options.out:
            require_writable(options.out, f"--out {options.out}", is_file=True)
        words = pronunciations.read_words(options.words)
        translator = load_translator(options)
        source, target = translator.tokenizers
        # Words and parts of them on both sides are those of sentences.
        if not translator.field.written or source.link_unit == target.link_unit == "word":
            raise UserError("mt lexicon needs a run that reads letters, as of dataset=letters, and this one does not")
        phone_map = None if options.map is None else pronunciations.read_map(options.map, translator)
        known = {} if options.dictionary is None else pronunciations.read_dictionary(options.dictionary, phone_map)
        entries = {word: known.get(composed(word)) or known.get(composed(word).lower(), []) for word in words}
        # The words that the dictionary lacks are the model's.
        unknown = [word for word in words if not entries[word]]
        spelt = dict(zip(unknown, pronunciations.readable(source, unknown), strict=True))
        for word, spelling in spelt.items():
            translator.refuse_long([spelling], f"{options.words}, line", words[word])
        asked = {"threshold": options.threshold, "phone_map": phone_map, "progress": True}
        entries |= zip(spelt, pronunciations.pronounce(translator, [*spelt.values()], options.n, **asked), strict=True)
        written = functools.partial(pronunciations.entry_lines, probabilities=options.probabilities)
        lines = [*itertools.chain.from_iterable(itertools.starmap(written, entries.items()))]
        if options.out:
            write_text(options.out, lines)
        else:
            sys.stdout.write("".join(f"{output(line)}\n" for line in lines))
            sys.stdout.flush()
        if options.dictionary:
            known_words = f"{len(words) - len(spelt):,} of {len(words):,} words"
            note(f"{options.dictionary} has {known_words}, and the model wrote the others")
        _note({word: {word} for word in words if not entries[word]}, "no pronunciation, and no line")
        unseen = pronunciations.unseen(source, [*spelt.values()])
        _note(dict(zip(spelt, unseen, strict=True)), "letters that the model has never seen")
        if target.of_words:
            voice = {*itertools.chain(*phone_map.values())} if phone_map else {*pronunciations.model_phones(target)}
            # The model's own are among these, so the others are the dictionary's.
            new = {word: {phone for one in entries[word] for phone in one.phones} - voice for word in words}
            _note(new, f"phones in the dictionary that are not the {'voice' if phone_map else 'model'}'s")


def _parser() -> Parser:
    parser = Parser(LEXICON)
    add_run_options(parser, several="of several, their ensemble", engine=True)
    parser.add_argument("--words", type=Path, required=True, metavar="FILE", help="the words; -: standard input")
    parser.add_argument("--n", type=whole_number(1, 1000), default=1, metavar="N", help="most pronunciations of a word")
    help_text = "leave out less probable ones, but for the first"
    parser.add_argument("--threshold", type=share, default=0.0, metavar="P", help=help_text)
    parser.add_argument("--dictionary", type=Path, metavar="FILE", help="words with known pronunciations")
    parser.add_argument("--map", type=Path, metavar="FILE", help="the phones of a voice for those of the model")
    parser.add_argument("--probabilities", action="store_true", help="write a column of them")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write; else standard output")
    return parser


def _note(symbols: Mapping[str, Set[str]], what: str) -> None:
    """Says how many words have symbols that are worth a look, and which."""
    words = [word for word in symbols if symbols[word]]
    if words:
        have = "1 word has" if len(words) == 1 else f"{len(words):,} words have"
        which = shown(" ".join(sorted(set().union(*symbols.values()))), 60)
        note(f"{have} {what} ({which}), first {shown(words[0])}")
