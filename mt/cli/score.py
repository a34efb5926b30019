"""The command score: its manual, its options, its tasks, and last the table of tasks with the options of each. An
option of another task is refused."""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from mt.cli.parser import Parser, typed_flags, whole_number
from mt.common.links import Link, Symmetrisation, parse_pharaoh, symmetrised
from mt.common.terminal import say
from mt.data.glossary import Term, glossaries_of
from mt.data.tokenizer import load_tokenizer
from mt.data.words import term_spans, term_words, units_of_characters
from mt.errors import UserError, reported, require_choice
from mt.metrics import DEFAULTS, METRICS, require_known
from mt.metrics.alignment import alignment_error_rate, note_numbers, read_gold_links
from mt.metrics.base import PLAIN, ROUGE_PROTOCOLS, Score, Settings
from mt.metrics.bleu import TOKENIZERS
from mt.metrics.files import score_files, score_log
from mt.metrics.languages import require_language
from mt.metrics.latency import LatencyUnit
from mt.metrics.rouge import ROUGE_TOKENIZERS
from mt.metrics.terms import OwnWords, score_terms
from mt.text_io import composed, read_parallel, require_parallel

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

SCORE = """Score plain text files: BLEU and chrF for translation, ROUGE for summarization, or any --metrics; a log of
simultaneous translation, by its latency too; terms, by a glossary; word links; or pairs of lines, by the probability
that a run gives them.

    mt score [--task translation] hypotheses.txt references.txt [more-references.txt ...]
    mt score --metrics bleu,chrf,ter,wer,cer,accuracy hypotheses.txt references.txt
    mt score --task summarization --lead 10 sources.txt references.txt
    mt score --task simultaneous [--latency-unit char] --log instances.log
    mt score --task terms --glossary glossary.tsv --source sources.txt hypotheses.txt references.txt
    mt score --task alignment [--symmetrise grow-diag] links.pharaoh [reverse.pharaoh] gold.links
    mt score --task likelihood --run RUN [RUN ...] --source sources.txt --target targets.txt
    mt score --task markup --run RUN --source sources.html --target targets.html

Line n of each file belongs to line n of the others; /dev/stdin is standard input. A blank line of one of several files
of references is none. --lead N scores the first N words of each line, the baseline of summarization; words are what
stands between blanks, or --rouge-tokenizer's. Under --rouge-protocol duc whole sources are one too: 75 bytes count.

Links are in Pharaoh format, source-target and counted from 0; gold ones with ipj for possible links, or of the NAACL
format. docs/alignments.md has the methods of --symmetrise.

A log is an instances.log of RUN/hypotheses or of SimulEval, with the references in it. Its latency is that of SimulEval
1.1.4 (AP, AL, LAAL, DAL) and OmniSTEval 0.1.10 (YAAL, and SWF and EFSW, whose difference shows a degenerate policy).

Terms are those of the glossary in the sources (`mt.data.glossary`): term_exact is the share of them that hypotheses
meet as words, term_inside also inside words. term_doubled is the share beside which the model's own translation still
stands: --free are its translations without the glossary, --links their links (`mt translate --alignments`).
term_context2 and 3 are the shares of two or three words on each side of a term that are those of the reference.

The likelihood of a pair is a line `score ||| log-probability ||| pieces ||| log-probability of each piece`, natural
logarithms, EOS included; with --json an object. The score is the log-probability over ((5 + pieces) / 6)^a, what a beam
ranks by; a is --length-penalty, else the run's own. The mean over all pieces, and the perplexity, go to standard error.
Several runs are an ensemble.

Of markup, lines of HTML: tags and placeholders are shares of those that links put at the gap of the target, which the
model reads without them; by_length puts them in proportion to length. complete: translations that have all of them.
"""


def score(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(SCORE)
    parser.add_argument(
        "--task", default="translation", choices=tuple(TASKS), help="chooses the metrics where none are named"
    )
    _add_metric_options(parser)
    _add_task_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("texts", type=Path, nargs="*", metavar="FILE", help="the hypotheses, then their references")
    options = parser.parse_args(arguments)
    with reported():
        task = TASKS[options.task]
        # An option of other tasks would have no effect, so it is refused.
        owners = {name: [owner for owner in TASKS if name in TASKS[owner].takes] for name in ALL_OPTIONS}
        for flag in typed_flags(options, [name for name in owners if name not in task.takes]):
            names = " or ".join(owners[flag.removeprefix("--").replace("-", "_")])
            raise UserError(
                f"{flag} is not for --task {options.task}, but for --task {names}: leave it out, or add that"
            )
        # A pipe of the shell, <(command), has its writer; a named one would be waited for without end.
        for path in (*options.texts, *(value for value in vars(options).values() if isinstance(value, Path))):
            if path.is_fifo() and not str(path).startswith(("/dev/", "/proc/")):
                raise UserError(f"{path} is a named pipe: give a file, or /dev/stdin and the text on standard input")
        # A task that prints by itself returns None.
        scores = task.score(options)
        if scores is None:
            return
        if options.json:
            say(json.dumps({name: asdict(score) for name, score in scores.items()}, indent=2))
        else:
            width = max(9, *map(len, scores))
            say("\n".join(f"{name:<{width}} {score.score:6.2f}  {score.signature}" for name, score in scores.items()))


# The options for metrics of texts.

OF_METRICS = {
    "bleu": ("bleu_tokenizer", "target_language"),
    "rouge": ("rouge_tokenizer", "rouge_protocol", "no_stem", "drop_unk", "multi"),
}
"""Options of a single metric."""


def _add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for metrics of texts; their defaults are those of a run."""
    parser.add_argument("--metrics", metavar="A,B", help=f"of {', '.join(METRICS)}")
    parser.add_argument("--target-language", metavar="CODE", help="zh, ja, ...; else what the first references end in")
    parser.add_argument("--lowercase", action="store_true", help="compare without regard to case (case:lc)")
    parser.add_argument("--bleu-tokenizer", help=f"of BLEU: {', '.join(TOKENIZERS)}; else by the target language")
    parser.add_argument("--rouge-tokenizer", help=f"{PLAIN.tokenizer}, or another one of BLEU's, for other scripts")
    parser.add_argument("--rouge-protocol", choices=ROUGE_PROTOCOLS, help="plain; duc: recall at 75 bytes")
    parser.add_argument("--no-stem", action="store_true", help="ROUGE compares words, not their stems")
    parser.add_argument("--drop-unk", action="store_true", help="ROUGE does not count <unk>, unk and UNK")
    parser.add_argument("--multi", choices=("max", "mean"), help="ROUGE over several references; else max")


def _chosen_metrics(options: argparse.Namespace, *, lead: bool = False) -> Sequence[str]:
    """Returns the names of the metrics, by default those of the task. lead: whether ROUGE's tokenizer is needed for
    --lead. Also raises UserError for an option of a metric that is not chosen."""
    names = DEFAULTS[options.task] if options.metrics is None else options.metrics.split(",")
    # Names are checked before any text is read, since scoring can take long.
    require_known(names, "--metrics")
    require_choice("--bleu-tokenizer", options.bleu_tokenizer, TOKENIZERS)
    require_language(options.target_language, "--target-language")
    require_choice("--rouge-tokenizer", options.rouge_tokenizer, ROUGE_TOKENIZERS)
    # An option of a metric that is not chosen would have no effect, so it is refused.
    for metric, metric_options in OF_METRICS.items():
        needless = typed_flags(options, (name for name in metric_options if not (lead and name == "rouge_tokenizer")))
        if metric not in names and needless:
            raise UserError(
                f"{needless[0]} is an option of the metric {metric}, and the metrics are {','.join(names)}: leave it "
                f"out, or add {metric} to --metrics"
            )
    if options.no_stem and options.rouge_tokenizer not in (None, PLAIN.tokenizer):
        raise UserError(
            f"--no-stem is about English stems, and with --rouge-tokenizer {options.rouge_tokenizer} there are none: "
            "leave it out"
        )
    return names


def _settings_of(options: argparse.Namespace, language: str | None) -> Settings:
    """Returns the settings of the metrics. language: of the references."""
    # A protocol has settings of its own, which single options change.
    protocol = ROUGE_PROTOCOLS[options.rouge_protocol or "plain"]
    rouge = replace(
        protocol,
        stem=not options.no_stem,
        keep_unk=not options.drop_unk,
        multi=options.multi or protocol.multi,
        tokenizer=options.rouge_tokenizer or protocol.tokenizer,
    )
    return Settings(language, options.bleu_tokenizer, rouge, options.lowercase)


def _add_task_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of single tasks."""
    # Of texts and logs.
    parser.add_argument("--lead", type=whole_number(1, 10**9), metavar="N", help="score the first N words of each line")
    parser.add_argument("--log", type=Path, metavar="FILE", help="an instances.log, whose latency is scored, too")
    parser.add_argument("--latency-unit", choices=get_args(LatencyUnit), default="word", help="of a log; else word")
    parser.add_argument("--spm-model", type=Path, metavar="FILE", help="tokenizer.model of --latency-unit subword")
    parser.add_argument("--no-use-ref-len", action="store_true", help="AP, AL and LAAL by the hypothesis's length")
    # Of pairs and their models, of terms, and of links.
    parser.add_argument("--run", type=Path, nargs="+", metavar="RUN", help="whose probability pairs are scored by")
    parser.add_argument("--source", type=Path, metavar="FILE", help="of the pairs, or of the hypotheses")
    parser.add_argument("--target", type=Path, metavar="FILE", help="of the pairs")
    parser.add_argument("--glossary", type=Path, metavar="FILE", help="whose terms are counted")
    parser.add_argument("--free", type=Path, metavar="FILE", help="translations without it, for terms that are doubled")
    parser.add_argument("--links", type=Path, metavar="FILE", help="the word links of these")
    parser.add_argument("--symmetrise", choices=get_args(Symmetrisation), help="two files of both directions make one")
    parser.add_argument("--second-reversed", action="store_true", help="its links are target-source")
    parser.add_argument("--one-based", action="store_true", help="the gold links count words from 1")
    parser.add_argument("--length-penalty", type=float, metavar="A", help="of likelihoods; else the run's own")
    parser.add_argument("--shift", action="store_true", help="of markup: links are of the step that has read a word")
    parser.add_argument("--checkpoint", help="of a run: best, where none is named, last, average or ema")
    parser.add_argument("--device", help="of a run: auto, cpu, cuda, cuda:1, mps")


# The tasks.


def _of_alignments(options: argparse.Namespace) -> dict[str, Score]:
    if len(options.texts) != (3 if options.symmetrise else 2) or (options.second_reversed and not options.symmetrise):
        raise UserError(
            "--task alignment takes files of links and of gold links, with --symmetrise two of links: give "
            "LINKS GOLD, or --symmetrise grow-diag LINKS REVERSE GOLD"
        )
    # Links are read as they are written, a line for each pair; gold ones may be of the NAACL format.
    *paths, gold_path = options.texts
    files = read_parallel(paths, "pair")
    links = [[pair.possible for pair in pairs] for pairs in map(parse_pharaoh, files, map(str, paths))]
    gold, naacl = read_gold_links(gold_path, paths[0], files[0], one_based=options.one_based)
    if not (naacl or options.one_based):
        note_numbers(gold, gold_path)
    hypotheses: Sequence[Set[Link]] = links[0]
    if options.symmetrise:
        # A link is a pair, and read backwards it is that of the other direction.
        turn = slice(None, None, -1 if options.second_reversed else 1)
        hypotheses = [
            symmetrised(forth, {link[turn] for link in back}, options.symmetrise)
            for forth, back in zip(*links, strict=True)
        ]
    # All three scores have one signature.
    score = alignment_error_rate(hypotheses, gold)
    shares = {name: Score(getattr(score, name), score.signature) for name in ("precision", "recall")}
    return {"aer": score, **shares}


def _of_terms(options: argparse.Namespace) -> dict[str, Score]:
    if len(options.texts) != 2 or None in (options.glossary, options.source):
        raise UserError(
            "--task terms takes a glossary and three texts: write --glossary FILE --source FILE HYPOTHESES REFERENCES"
        )
    # Terms are found in the sources, and looked for in the hypotheses and their references.
    sources, *texts = read_parallel([options.source, *options.texts], "example")
    glossaries = glossaries_of(options.glossary, len(sources))
    pairs = zip(glossaries, sources, strict=True)
    found = [glossary.terms(term_words(composed(source)))[0] for glossary, source in pairs]
    terms = [[[term_words(target) for target in term.entry.targets] for term in of_source] for of_source in found]
    hypotheses, references = ([term_words(composed(text)) for text in column] for column in texts)
    return score_terms(hypotheses, references, terms, _own_words(options, sources, found))


def _own_words(
    options: argparse.Namespace, sources: Sequence[str], found: Sequence[Sequence[Term]]
) -> list[OwnWords] | None:
    """Returns the words that translations without the glossary have for the terms of their sources; None if the user
    gives no such translations."""
    if options.free is None and options.links is None:
        return None
    if None in (options.free, options.links):
        raise UserError("doubled terms need translations without the glossary and their links: give --free and --links")
    free, lines = read_parallel([options.free, options.links], "example")
    require_parallel([options.source, options.free], [sources, free], "example")
    own = []
    for source, text, links, terms in zip(sources, free, parse_pharaoh(lines, str(options.links)), found, strict=True):
        # Links join words; the words of terms may be parts of those.
        of_source, of_text = ([*_parts(side)] for side in (source, text))
        words = term_words(composed(text))
        linked = []
        for term in terms:
            joined = {j for i, j in links.possible if i in of_source[term.begin : term.end]}
            linked.append([word for word, number in zip(words, of_text, strict=True) if number in joined])
        own.append(OwnWords(words, linked))
    return own


def _parts(text: str) -> Iterator[int]:
    """Yields for each word of `term_words` the number of the linked word that contains it."""
    text = composed(text)
    places = (place for place, character in enumerate(text) if character != " ")
    # Each character but blanks has the number of the linked word that it stands in.
    characters = dict(zip(places, units_of_characters(text, "word"), strict=True))
    yield from (characters[begin] for begin, _ in term_spans(text))


def _of_files(options: argparse.Namespace) -> dict[str, Score]:
    if len(options.texts) < 2:
        raise UserError(
            f"--task {options.task} compares with references: give HYPOTHESES, then files of references; see --help"
        )
    hypotheses, *references = options.texts
    names = _chosen_metrics(options, lead=options.lead is not None)
    # BLEU's tokenizer depends on the language, which is typed, or the ending of a file's name.
    settings = _settings_of(options, options.target_language or references[0].name)
    return score_files(names, settings, hypotheses, references, lead=options.lead)


def _of_log(options: argparse.Namespace) -> dict[str, Score]:
    # The log holds all texts, so that other files are refused.
    if options.texts or options.log is None:
        log = options.log or (options.texts or ["FILE"])[0]
        raise UserError(
            f"--task simultaneous takes a log, which holds the references: write --log {log}, without other files"
        )
    # Subwords can be counted only by the model that made them.
    if (options.latency_unit == "subword") != (options.spm_model is not None):
        raise UserError(
            "--latency-unit subword and --spm-model FILE go together: the model counts the references' subwords"
        )
    # The metrics are checked before the log is read.
    names = _chosen_metrics(options)
    return score_log(
        names,
        _settings_of(options, options.target_language),
        options.log,
        unit=options.latency_unit,
        count_subwords=load_tokenizer(options.spm_model).count_pieces if options.spm_model else len,
        reference_length=not options.no_use_ref_len,
    )


def _likelihoods(options: argparse.Namespace) -> None:
    # Imported late: most tasks need no torch.
    from mt.evaluation.likelihood import likelihoods_of_lines, print_likelihoods

    # The option is checked before the model is loaded.
    if options.length_penalty is not None and not 0 <= options.length_penalty <= 100:
        raise UserError(f"--length-penalty {options.length_penalty} is not possible: give a number from 0 to 100")
    translator, paths, texts = _run_and_texts(options)
    likelihoods = likelihoods_of_lines(translator, paths, texts, length_penalty=options.length_penalty)
    print_likelihoods(likelihoods, as_json=options.json)


def _of_markup(options: argparse.Namespace) -> dict[str, Score]:
    from mt.evaluation.markup import markup_scores

    translator, _, (sources, targets) = _run_and_texts(options)
    return markup_scores(translator, sources, targets, shift=options.shift)


def _run_and_texts(options: argparse.Namespace) -> tuple["Translator", Sequence[Path], Sequence[list[str]]]:
    from mt.decoding.load import load

    # If the flags are missing, the error shows the command with them.
    if options.texts or None in (options.run, options.source, options.target):
        *runs, source, target = map(str, options.texts if len(options.texts) > 2 else ("RUN", "FILE", "FILE"))
        raise UserError(
            f"--task {options.task} takes a run, or several, and two files: write --run {' '.join(runs)} --source "
            f"{source} --target {target}"
        )
    # Texts are read before the model is loaded, so that a mistake in them shows at once.
    paths = (options.source, options.target)
    texts = read_parallel(paths, "pair")
    # An export, which `load` proposes where torch is absent, cannot do these tasks.
    import torch  # noqa: F401

    return load(options.run, checkpoint=options.checkpoint or "best", device=options.device or "auto"), paths, texts


class Task(NamedTuple):
    """The function of a task, and its options besides the common ones."""

    score: Callable[[argparse.Namespace], dict[str, Score] | None]
    """Returns the scores; None if it has printed its results itself."""
    takes: tuple[str, ...]


OF_TEXTS = ("metrics", "lowercase", *(option for options in OF_METRICS.values() for option in options))
OF_RUN = ("run", "source", "target", "checkpoint", "device")
TASKS: Mapping[str, Task] = {
    "translation": Task(_of_files, OF_TEXTS),
    "summarization": Task(_of_files, (*OF_TEXTS, "lead")),
    "simultaneous": Task(_of_log, (*OF_TEXTS, "log", "latency_unit", "spm_model", "no_use_ref_len")),
    "terms": Task(_of_terms, ("glossary", "source", "free", "links")),
    "alignment": Task(_of_alignments, ("symmetrise", "second_reversed", "one_based")),
    "likelihood": Task(_likelihoods, (*OF_RUN, "length_penalty")),
    "markup": Task(_of_markup, (*OF_RUN, "shift")),
}
ALL_OPTIONS = tuple(dict.fromkeys(name for task in TASKS.values() for name in task.takes))
