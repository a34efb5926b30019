"""A dry run: a preparation in a temporary folder, with the lengths of texts in pieces, and some pairs in pieces."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from data_prep.hints import hints
from data_prep.parallel import Runner
from data_prep.prepare import prepare
from data_prep.sources import open_source
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig

_EDGES = (5, 10, 20, 40, 80, 160)  # pieces
_SHOWN = 5


def preview(config: DatasetConfig, runner: Runner = "processes") -> Iterator[str]:
    """Prepares a corpus, which prints its report, and removes it again. Yields lines: hints, histograms of lengths, and
    training pairs in pieces.

    Raises:
        UserError: as `data_prep.prepare.prepare`.
    """
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus.open(prepare(config, Path(folder), runner=runner))
        train = corpus.split("train")
        if train.source.written:
            yield from hints(open_source(config), config)
        # A histogram of lengths, of both sides where the sources are text.
        sides = ("source", "target") if train.source.written else ("target",)
        lengths = dict(zip(("source", "target"), train.lengths(), strict=True))
        yield f"length in pieces (of {len(train):,} training pairs)   {'   '.join(sides)}"
        longest = max(int(lengths[side].max()) for side in sides)
        for lower, upper in zip((0, *_EDGES), (*_EDGES, longest), strict=True):
            if lower < longest:
                shares = [np.mean((lengths[side] > lower) & (lengths[side] <= upper)) for side in sides]
                yield f"  {lower + 1:>6,} to {upper:>6,}   {'  '.join(f'{share:>7.1%}' for share in shares)}"
        # A few pairs are shown in pieces, so that the user can judge the tokenizers by eye.
        yield "tokenised training pairs:"
        for source, target in train.texts(range(0, len(train), max(1, len(train) // _SHOWN)))[:_SHOWN]:
            yield f"  source  {' '.join(corpus.tokenizers.source.split(source)) if train.source.written else source}"
            yield f"  target  {' '.join(corpus.tokenizers.target.split(target))}"
