"""Adds and reads the options by which texts are compared. None is accepted and ignored."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from mt.cli.parser import typed_flags
from mt.errors import UserError
from mt.metrics import DEFAULTS, METRICS, require_known
from mt.metrics.base import PLAIN, ROUGE_PROTOCOLS, Settings
from mt.metrics.bleu import TOKENIZERS, require_tokenizer
from mt.metrics.languages import require_language
from mt.metrics.rouge import require_rouge_tokenizer

OF_METRICS = {
    "bleu": ("tokenizer", "target_language"),
    "rouge": ("rouge_tokenizer", "rouge_protocol", "no_stem", "drop_unk", "multi"),
}
"""Options that one metric alone has, by that metric."""
OF_TEXTS = ("metrics", "lowercase", *(option for options in OF_METRICS.values() for option in options))


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Adds what texts are compared by; options that are left out are as in a run."""
    parser.add_argument("--metrics", metavar="A,B", help=f"of {', '.join(METRICS)}")
    parser.add_argument("--target-language", metavar="CODE", help="zh, ja, ...; else what the first references end in")
    parser.add_argument("--lowercase", action="store_true", help="compare without regard to case (case:lc)")
    parser.add_argument("--tokenizer", help=f"of BLEU: {', '.join(TOKENIZERS)}; else by the target language")
    parser.add_argument("--rouge-tokenizer", help=f"{PLAIN.tokenizer}, or another one of BLEU's, for other scripts")
    parser.add_argument("--rouge-protocol", choices=ROUGE_PROTOCOLS, help="plain; duc: recall at 75 bytes")
    parser.add_argument("--no-stem", action="store_true", help="ROUGE compares words, not their stems")
    parser.add_argument("--drop-unk", action="store_true", help="ROUGE does not count <unk>, unk and UNK")
    parser.add_argument("--multi", choices=("max", "mean"), help="ROUGE over several references; else max")


def chosen_metrics(options: argparse.Namespace, *, lead: bool = False) -> Sequence[str]:
    """Returns the names of the metrics, by default those of the task.

    lead: whether ROUGE's tokenizer cuts beginnings of sources.

    Raises:
        UserError: a value is none of those that there are, or an option is of a metric that is not chosen.
    """
    names = DEFAULTS[options.task] if options.metrics is None else options.metrics.split(",")
    require_known(names, "--metrics")
    require_tokenizer(options.tokenizer, "--tokenizer")
    require_language(options.target_language, "--target-language")
    if options.rouge_tokenizer is not None:
        require_rouge_tokenizer(options.rouge_tokenizer, "--rouge-tokenizer")
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


def settings_of(options: argparse.Namespace, language: str | None) -> Settings:
    """Returns what the metrics are made with. language: of the references."""
    protocol = ROUGE_PROTOCOLS[options.rouge_protocol or "plain"]
    rouge = replace(
        protocol,
        stem=not options.no_stem,
        keep_unk=not options.drop_unk,
        multi=options.multi or protocol.multi,
        tokenizer=options.rouge_tokenizer or protocol.tokenizer,
    )
    return Settings(language, options.tokenizer, rouge, options.lowercase)
