"""Training with copying: what goes on is what does not stop, and what is copied are the pieces of the batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data_prep.prepare import prepare
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import PAD
from mt.models.decoders import output
from mt.training.start import begin
from mt.training.train import train
from tests.training.test_batches import rows_of

ATTENTIONS: dict[str, dict[str, Any]] = {
    "general": {"name": "general"},
    "mocha": {"name": "mocha", "chunk_size": 2, "noise_std": 1.0},
}


@pytest.fixture
def copying(
    configure: Callable[..., Config], corpora: Path, texts: Path
) -> Callable[[str, int], tuple[Config, Corpus]]:
    """A run of so many updates whose decoder copies pieces that are sampled anew in every epoch."""

    def prepared(attention: str, updates: int) -> tuple[Config, Corpus]:
        training = {
            "bpe_dropout": 0.3,
            "max_updates": updates,
            "validate_every": None,
            "batch_tokens": 300,
            "average_checkpoints": 1,
            "plots": 0,
        }
        changes = {
            "dataset": {
                "name": "copied",
                "source": "en",
                "target": "de",
                "folder": str(texts),
                "tokenizer": {"vocab_size": 70},
            },
            "decoder": {"copy": True, "dropout": 0.2},
            "attention": ATTENTIONS[attention],
            "training": training,
            "search": {"name": "greedy"},
        }
        config = configure(changes)
        return config, Corpus.open(prepare(config.dataset, corpora, progress=False))

    return prepared


def test_what_is_copied_are_the_sampled_pieces(
    copying: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, corpus = copying("general", 4)
    seen: list[tuple[list[int], list[int]]] = []
    mixture = output.Copying.mixture

    def spied(self: output.Copying, readouts: Any, attended: Any, memory: Any, targets: torch.Tensor) -> output.Mixture:
        if self.training:
            rows = zip(memory.tokens, memory.mask, targets, strict=True)
            seen.extend((source[real].tolist(), target[target != PAD].tolist()) for source, real, target in rows)
        return mixture(self, readouts, attended, memory, targets)

    monkeypatch.setattr(output.Copying, "mixture", spied)
    run = begin(config, corpus, tmp_path / "run")
    train(run)
    run.close()
    rows = rows_of(corpus, config, 1)
    sampled = [*zip(rows[::2], rows[1::2], strict=True)]
    assert seen == sampled[: len(seen)] and len(seen) > 40
    best = [tuple(row.tolist() for row in pair) for pair in corpus.split("train").ids(np.arange(240))]
    assert not {repr(pair) for pair in seen} <= {repr(pair) for pair in best}
