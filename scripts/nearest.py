"""Captions without training: of those of the nearest training pictures, the one that agrees most with the others.

    python -m data_prep dataset=rsicd dataset.folder=DIR      prints the folder of the prepared corpus
    python scripts/nearest.py CORPUS [--neighbours 30] [--split test] [--hypotheses FILE]

What a caption model must beat. Pictures are near by the cosine of their features, pooled over places (dataset=rsicd or
photographs, or dataset.field.name=features); captions agree by CIDEr (Devlin et al. 2015). Prints the scores that the
data set is configured with, against all its references.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mt.command_line import Parser, whole_number
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.data.split import Split
from mt.errors import UserError, reported
from mt.metrics.consensus import Consensus
from mt.parsing import parse
from mt.scoring import metrics_of
from mt.storage import write_text
from mt.terminal import say

_ROWS = 500  # read at a time


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="the folder that preparation printed")
    parser.add_argument("--neighbours", type=whole_number(1, 10_000), default=30, metavar="N", help="nearest pictures")
    parser.add_argument("--split", default="test", choices=("test", "dev"))
    parser.add_argument("--hypotheses", type=Path, metavar="FILE", help="where to write the captions, one a line")
    options = parser.parse_args(arguments)
    with reported():
        corpus = Corpus.open(options.corpus)
        dataset = parse(corpus.meta["settings"], DatasetConfig, str(options.corpus / "meta.json"))
        split = corpus.split(options.split)
        captions = nearest_captions(corpus.split("train"), split, options.neighbours)
        if options.hypotheses:
            write_text(options.hypotheses, captions)
        for metric in metrics_of(dataset):
            for name, score in metric.score(captions, split.column("references")).items():
                say(f"{name:<11} {score.score:6.2f}  {score.signature}")


def nearest_captions(train: Split, split: Split, neighbours: int) -> list[str]:
    """A caption for each picture of a split. Raises UserError where sources are no features."""
    groups: dict[str, list[int]] = {}
    for number, source in enumerate(train.column("source")):
        groups.setdefault(source, []).append(number)
    targets = train.column("target")
    consensus = Consensus([[targets[number] for number in numbers] for numbers in groups.values()])
    known = pooled(train, [numbers[0] for numbers in groups.values()])
    likeness = pooled(split, range(len(split))) @ known.T
    order = np.argsort(-likeness, axis=1, kind="stable")[:, :neighbours]
    return [consensus.choose(row.tolist()) for row in order]


def pooled(split: Split, numbers: Sequence[int]) -> np.ndarray:
    """[N, D] float64: of each example the mean of its features over places, of length 1."""
    found = []
    for begin in range(0, len(numbers), _ROWS):
        for row, _ in split.ids(np.array(numbers[begin : begin + _ROWS])):
            if row.dtype.kind != "f":
                raise UserError(
                    "this corpus has no features to find near pictures by: prepare one with dataset=rsicd, or with "
                    "dataset=photographs"
                )
            found.append(row.astype(float).mean(0))
    vectors = np.stack(found)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)


if __name__ == "__main__":
    main()
