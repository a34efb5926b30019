"""Score plain text files: BLEU and chrF for translation, ROUGE for summarization.

    python scripts/score.py --task translation hypotheses.txt references.txt [more-references.txt ...]

Every file holds one sentence (or summary) per line; line n of each reference file belongs to line n of the hypotheses.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mt.errors import reported
from mt.lines import read_parallel
from mt.metrics.bleu import bleu, chrf
from mt.metrics.rouge import rouge
from mt.metrics.score import Score


def score_files(task: str, hypothesis: Path, references: Sequence[Path], tokenizer: str) -> dict[str, Score]:
    """Scores by name; raises UserError for a file that cannot be used, unequal lengths or an unknown tokenizer."""
    hypotheses, *streams = read_parallel([hypothesis, *references], "example")
    groups = list(zip(*streams, strict=True))
    if task == "summarization":
        return rouge(hypotheses, groups)
    return {"bleu": bleu(hypotheses, groups, tokenizer=tokenizer), "chrf": chrf(hypotheses, groups)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True, choices=("translation", "summarization"))
    parser.add_argument("--tokenizer", default="13a", help="of BLEU: 13a, char (Japanese), zh, intl or none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("hypothesis", type=Path)
    parser.add_argument("references", type=Path, nargs="+", metavar="reference")
    options = parser.parse_args(arguments)
    with reported():
        scores = score_files(options.task, options.hypothesis, options.references, options.tokenizer)
        if options.json:
            print(json.dumps({name: asdict(score) for name, score in scores.items()}, indent=2))
        else:
            print("\n".join(f"{name:<9} {score.score:6.2f}  {score.signature}" for name, score in scores.items()))


if __name__ == "__main__":
    main()
