"""The commands that decode: translate, stream, evaluate. Each has its manual, which `--help` prints, then its
function, which reads the command line and hands over to `mt.decoding` and `mt.evaluation`."""

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mt.cli.arguments import (
    add_plot_options,
    add_run_options,
    add_search_options,
    add_unknown_options,
    chosen_checkpoint,
    chosen_search,
    chosen_unknown_words,
    folder_of_results,
    load_translator,
    reported_in_flags,
)
from mt.cli.parser import Parser, share, typed_flags, whole_number
from mt.common.terminal import note
from mt.data.glossary import Glossary, read_glossary
from mt.errors import UserError, shown
from mt.markup import FORMATS
from mt.metrics.latency import LatencyUnit
from mt.storage import require_writable

if TYPE_CHECKING:
    from mt.decoding.confidence import Unsure
    from mt.decoding.translator import Translator

TRANSLATE = """Translate a file or standard input, one text a line, to standard output.

    mt translate RUN source.txt > target.txt
    mt translate RUN < source.txt > target.txt
    mt translate RUN1 RUN2 ... < source.txt > target.txt

Several runs of one vocabulary translate together: by the mean of their probabilities, and the search of the first.
A blank line gives a blank line. With --n-best each hypothesis has a line `index ||| text ||| score`, where index counts
the lines of the input from 0. --alignments writes one line of word links (Pharaoh: source-target, from 0) per line of
output; words are those of `mt.data.words.words`, or characters where the model reads and writes characters.

Into a file or a pipe a translation is written as it is; on a terminal, what in it would give the terminal orders
(control characters, turns of a line's direction) is shown as an escape.

--plots draws what each best text attended to, DIR/0000.png for the first line and so on: a heatmap of pieces, or with
--plot-words of words, with a sound's spectrogram, or for each piece or word a panel of the picture.

With --constraints json a line is {"text": ..., "constraints": [...], "avoid": [...], "prefix": ...}: phrases that must
appear (or {"any_of": [...]}), phrases that must not, and how the translation begins; all but the text may be left out.
With --constraints tab a line is a text, and after TAB characters the phrases that must appear. Phrases need a beam.

--format html or xliff translates a document, or with --each-line each line: its tags stand where the word
links say, and placeholders as {name} and %s are kept; see docs/markup.md. text has placeholders alone.

--glossary is a file of lines `source<TAB>target[|target...]`: each term is written where the attention reads its
source, whatever the search. An entry with capital letters matches as it is written, others whatever the case. In a file
that ends in .jsonl line n is an object of the entries for line n alone.

Where the model reads sound or pictures, each line is a path, or FILE such a file itself; links are then from positions.
"""


def translate(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(TRANSLATE)
    several = "several: their ensemble; at last FILE, text, plain or .gz, else standard input"
    add_run_options(parser, several=several, engine=True)
    parser.add_argument("--alignments", type=Path, metavar="FILE", help="where to write word links")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="where to draw the attention, a file a line")
    add_plot_options(parser)
    # Options of how texts are translated, and of what is asked of the translations.
    add_search_options(parser)
    add_unknown_options(parser)
    parser.add_argument(
        "--constraints", choices=("json", "tab"), help="lines say what is asked of their translations, in this form"
    )
    parser.add_argument("--glossary", type=Path, metavar="FILE", help="terms, and how they are translated")
    _add_line_options(parser)
    parser.needed = {"--leave-out": "--min-confidence", "--plot-format": "--plots", "--plot-words": "--plots"}
    parser.needed |= {"--each-line": "--format", "--placeholders": "--format"}
    options = parser.parse_args(arguments)
    # What is no folder at the end, and no repository of the hub, is the text.
    is_run = options.run[-1].is_dir() or options.run[-1].parts[0] == "hf:"
    path = options.run.pop() if len(options.run) > 1 and not is_run else None
    _refuse_unfitting(parser, options, path)
    # A mistake in the glossary shows before the model is loaded.
    with reported_in_flags(), _chosen_glossary(options.glossary) as glossary:
        from mt.decoding.documents import translate_file
        from mt.decoding.lines import LineFiles, translate_lines

        translator = load_translator(options)
        search = chosen_search(options, translator.config.search)
        unsure = _chosen_unsure(options, translator)
        # Documents have a path of their own, since their tags are written around the text.
        if options.format:
            at_once = options.buffer_size if options.each_line else None
            of_text = (options.format, glossary, unsure, options.placeholders)
            translate_file(translator, path, search, *of_text, lines_at_once=at_once)
            return
        unknown = chosen_unknown_words(options, translator)
        files = LineFiles(options.alignments, options.plots, options.plot_format, plot_words=bool(options.plot_words))
        translate_lines(
            translator,
            path,
            search,
            files,
            unknown,
            lines_at_once=options.buffer_size,
            numbered="--n-best" in options.typed,
            form=options.constraints,
            glossary=glossary,
            unsure=unsure,
        )


def _add_line_options(parser: Parser) -> None:
    parser.add_argument(
        "--buffer-size", type=whole_number(1, 10**9), default=1000, metavar="N", help="lines read at once (1: each)"
    )
    help_text = "mark, as [?word], what is less probably right; see docs/confidence.md"
    parser.add_argument("--min-confidence", type=share, metavar="P", help=help_text)
    help_text = (
        "with --min-confidence: leave out a line, as a blank one, where it is less; a sentence of a document stays"
    )
    parser.add_argument("--leave-out", action="store_true", help=help_text)
    parser.add_argument("--format", choices=tuple(FORMATS), help="the text is a document, whose tags are kept")
    help_text = "with --format: syntaxes of what is kept whole, as braces,qt; else those of the run"
    parser.add_argument("--placeholders", type=lambda names: names.split(","), metavar="NAMES", help=help_text)
    parser.add_argument("--each-line", action="store_true", help="with --format: each line is a document")


@contextlib.contextmanager
def _chosen_glossary(path: Path | None) -> Iterator[Glossary | list[Glossary] | None]:
    """Reads a glossary, and notes at the end the entries that are not in the text: of glossaries of one line each of
    them, and of one for the whole text where none of them is."""
    glossary = None if path is None else read_glossary(path)
    yield glossary
    glossaries = glossary if isinstance(glossary, list) else [glossary] if glossary and not glossary.met else []
    if absent := [entry for one in glossaries for entry in one.entries if entry not in one.met]:
        some = "1 entry is not" if len(absent) == 1 else f"{len(absent):,} entries are not"
        many = some if isinstance(glossary, list) else "no entry of the glossary is"
        note(f'{many} in the text, first "{shown(absent[0].source)}" ({absent[0].name})')


def _chosen_unsure(options: argparse.Namespace, translator: "Translator") -> "Unsure | None":
    """Returns the treatment of words that are probably wrong, and notes a limit that the run's table does not know."""
    if options.min_confidence is None:
        return None
    from mt.decoding.confidence import Confidence, Unsure

    # Below its lowest bin a table of confidences says nothing.
    confidence = Confidence.of(translator)
    table = confidence.table
    if table is not None and options.min_confidence <= table.floor:
        note(
            f"words less sure than {options.min_confidence} are rarer than the table of confidences knows: in "
            f"its lowest bin {table.floor:.2f} of the words are right, and below that it is a guess"
        )
    return Unsure(options.min_confidence, options.leave_out, confidence)


def _refuse_unfitting(parser: Parser, options: argparse.Namespace, path: Path | None) -> None:
    if path and ".jsonl" in path.suffixes and options.constraints != "json":
        parser.error(f"{path} has lines of JSON, of which --constraints json takes the text: add that, or give text")
    # These options write something for each line of text, which a document does not have.
    of_lines = ["n_best", "alignments", "plots", "replace_unknown", "unknown_dictionary"]
    if options.format and options.constraints:
        parser.error(
            "--constraints are of lines without tags: leave out --format, or translate from Python, where "
            "translate(texts, format=, constraints=) takes them of documents"
        )
    if options.format and (flags := typed_flags(options, of_lines)):
        parser.error(f"{flags[0]} is about lines without tags: leave it out, or leave out --format")


STREAM = """Translate while the source is still arriving: words from a pipe, or sound, to standard output.

    some-recogniser | mt stream RUN
    mt stream RUN --audio FILE
    arecord -q -t raw -f S16_LE -c 1 -r 16000 | mt stream RUN --audio -

A word is read when white space follows it, and a newline ends the sentence; each target word is written as soon as it
is certain, and never taken back. Models that read and write characters do so character by character.

Models that read sound take --audio: a file in any form that they were trained on, of any length, which is read as if
it arrived; or -, raw samples from standard input: 16-bit little-endian integers, one channel, at the rate of the run
(dataset.field.rate; half a sample at the end is left out). The end of the sound ends the line.

--glossary is a file of lines `source<TAB>target[|target...]`: each term is written where the attention stops on it.
"""


def stream(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(STREAM)
    # A stream takes fewer options than `translate`: it has no lines to number, and cannot meet phrases.
    add_run_options(parser, several="of several, their ensemble", engine=True)
    add_search_options(parser)
    parser.add_argument("--audio", metavar="FILE", help="the sound to read; -: raw samples from standard input")
    parser.add_argument("--glossary", type=Path, metavar="FILE", help="terms, and how they are translated")
    parser.add_argument("--avoid", metavar="PHRASE", nargs="+", help="phrases that no translation holds")
    options = parser.parse_args(arguments)
    with reported_in_flags(), _chosen_glossary(options.glossary) as glossary:
        from mt.decoding.streaming.live import translate_live

        # The search is the run's own if that writes while it reads, else the online search.
        translator = load_translator(options)
        search = chosen_search(options, translator.streaming_search())
        translate_live(translator, search, options.audio, glossary, options.avoid)


EVALUATE = """Decode and score a split of the corpus that a run was trained on.

    mt evaluate RUN [--split dev] [--search greedy] [--beam 10] [--checkpoint last]

Prints the scores, and writes results.json, hypotheses/ and alignments/ to --out, by default
RUN/evaluations/<split>-<checkpoint>-<search>, with the options that differ from the run's own, such as
test-best-beam-beam_size=10; the test results that training left in RUN itself are not touched. Of hf://OWNER/NAME
they go to outputs/OWNER/NAME/evaluations/... in the working directory.

Several runs of one vocabulary are decoded together (RUN1 RUN2 ...): the mean of their probabilities, on the data and by
the search of the first, below which the results are then, as in ensemble-of-2-test-best-beam.
"""


_ONE_RUN = (
    "--calibrate makes the table of confidences of one run in a folder here, of its dev split: write RUN --split dev "
    "--calibrate"
)


def evaluate(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(EVALUATE)
    add_run_options(parser, several="of several, their ensemble", engine=True)
    parser.add_argument("--split", default="test", choices=("test", "dev"))
    add_search_options(parser)
    add_plot_options(parser)
    add_unknown_options(parser)
    parser.add_argument(
        "--latency-unit", choices=get_args(LatencyUnit), help="of online decoding; else as the run was configured"
    )
    parser.add_argument("--corpora", type=Path, default=Path("outputs/corpora"), help="where prepared corpora are kept")
    parser.add_argument("--calibrate", action="store_true", help="make the run's table of confidences, of --split dev")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write")
    options = parser.parse_args(arguments)
    home = folder_of_results(options.run[0])
    with reported_in_flags():
        # A table of confidences is of one run in a folder, on dev, by torch.
        here = len(options.run) == 1 and home == options.run[0]
        if options.calibrate and not (here and options.split == "dev" and options.engine == "torch"):
            raise UserError(_ONE_RUN)
        from data_prep.prepare import corpus_of_run
        from mt.evaluation.report import Changes, evaluate_runs, folder_name

        translator = load_translator(options)
        config = translator.config
        search = chosen_search(options, config.search)
        if options.latency_unit and not search.timed:
            raise UserError(
                f"--latency-unit {options.latency_unit} is of searches that write while they read, and {search.name} "
                "search does not: add --search online, wait_k, alignatt, agree or retranslate, or leave it out"
            )
        checkpoint = chosen_checkpoint(options)
        others = (chosen_unknown_words(options, translator), options.plot_words, options.plot_format)
        changes = Changes(search, options.precision, options.latency_unit, *others)
        usual = folder_name(options.run, checkpoint, options.split, changes, config.search)
        folder = options.out or home / "evaluations" / usual
        require_writable(folder)  # before the split is decoded, which takes long
        corpus = corpus_of_run(
            config.dataset,
            options.corpora,
            translator.tokenizers,
            inherited=config.init_from is not None,
            run=str(options.run[0]),
        )
        split = corpus.split(options.split)
        if not len(split):
            raise UserError(f"{config.dataset.name} has no {options.split} split: choose --split dev")
        evaluated = (translator, split, options.split, folder, changes)
        evaluate_runs(options.run, checkpoint, *evaluated, calibrates=options.calibrate)
