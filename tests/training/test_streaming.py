"""Training on a stream of pairs that are not on disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from data_prep.stream import open_corpus
from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.training.batches import total_updates
from mt.training.start import begin, resume
from mt.training.train import train_and_test


@pytest.fixture
def streamed(configure: Callable[..., Config], corpora: Path) -> Callable[[int | None], tuple[Config, Corpus]]:
    def opened(max_updates: int | None) -> tuple[Config, Corpus]:
        plain = configure().dataset.model_dump(mode="json") | {"streaming": True, "shuffle_buffer": 50, "workers": 1}
        training = {
            "epochs": 2,
            "max_updates": max_updates,
            "average_checkpoints": 1,
            "validate_every": 1000,
            "plots": 0,
        }
        config = configure({"dataset": plain, "training": training, "search": {"name": "greedy"}})
        return config, open_corpus(config.dataset, corpora)

    return opened


def test_a_resumed_stream_goes_on_exactly(streamed: Callable[..., tuple[Config, Corpus]], tmp_path: Path) -> None:
    config, corpus = streamed(None)
    assert total_updates(corpus.training, config) is None
    train_and_test(begin(config, corpus, tmp_path / "straight"))
    straight = checkpoint.load_meta(tmp_path / "straight/checkpoints/last").update
    assert straight > 20
    for first in (3, straight // 2, straight - 2):
        folder = tmp_path / f"stopped-{first}"
        train_and_test(begin(*streamed(first), folder))
        train_and_test(resume(*streamed(None), folder))
        weights, whole = (
            load_file(at / "checkpoints/last" / checkpoint.MODEL) for at in (folder, tmp_path / "straight")
        )
        assert all(torch.equal(tensor, weights[name]) for name, tensor in whole.items())
