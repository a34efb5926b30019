"""Score plain text files: BLEU and chrF for translation, ROUGE for summarization.

    python scripts/score.py --task translation hypotheses.txt references.txt [more-references.txt ...]
    python scripts/score.py --task summarization --lead 10 sources.txt references.txt

Every file holds one sentence (or summary) per line; line n of each reference file belongs to line n of the hypotheses.
--lead N scores the first N words of each line instead of the line: the baseline of summarization. Under
--rouge-protocol duc whole sources are one too, since they are cut at 75 bytes.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from mt.errors import UserError, reported
from mt.metrics.bleu import bleu, chrf
from mt.metrics.rouge import PROTOCOLS, Protocol, lead, rouge
from mt.metrics.score import Score
from mt.text_io import read_parallel


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True, choices=("translation", "summarization"))
    parser.add_argument("--tokenizer", default="13a", help="of BLEU: 13a, char (Japanese), zh, intl or none")
    parser.add_argument("--rouge-protocol", default="plain", choices=PROTOCOLS, help="duc: recall at 75 bytes")
    parser.add_argument("--no-stem", action="store_true", help="ROUGE compares words, not their stems")
    parser.add_argument("--drop-unk", action="store_true", help="ROUGE does not count <unk>, unk and UNK")
    parser.add_argument("--multi", default="max", choices=("max", "mean"), help="ROUGE over several references")
    parser.add_argument("--lead", type=int, metavar="N", help="score the first N words of each line")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("hypothesis", type=Path)
    parser.add_argument("references", type=Path, nargs="+", metavar="reference")
    options = parser.parse_args(arguments)
    with reported():
        scores = score_files(options)
        if options.json:
            print(json.dumps({name: asdict(score) for name, score in scores.items()}, indent=2))
        else:
            print("\n".join(f"{name:<9} {score.score:6.2f}  {score.signature}" for name, score in scores.items()))


def score_files(options: argparse.Namespace) -> dict[str, Score]:
    """Scores by name; raises UserError for a file that cannot be used, unequal lengths or options that do not fit."""
    if options.lead is not None and (options.lead < 1 or options.task != "summarization"):
        raise UserError("--lead N is a baseline of --task summarization: give it there, with N at least 1")
    hypotheses, *streams = read_parallel([options.hypothesis, *options.references], "example")
    groups = list(zip(*streams, strict=True))
    if options.task == "translation":
        return {"bleu": bleu(hypotheses, groups, tokenizer=options.tokenizer), "chrf": chrf(hypotheses, groups)}
    if options.lead:
        hypotheses = [lead(line, options.lead) for line in hypotheses]
    return rouge(hypotheses, groups, _protocol(options))


def _protocol(options: argparse.Namespace) -> Protocol:
    named = PROTOCOLS[options.rouge_protocol]
    return replace(named, stem=not options.no_stem, keep_unk=not options.drop_unk, multi=options.multi)


if __name__ == "__main__":
    main()
