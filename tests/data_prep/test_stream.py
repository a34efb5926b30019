import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from data_prep.prepare import prepare
from data_prep.stream import open_corpus
from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.training.batches import total_updates
from mt.training.start import begin, resume
from mt.training.train import train_and_test
from tests.data_prep.small import small_shards, text_config


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draws = random.Random(1)
    rows = [" ".join(draws.choices(["one", "two", "three"], k=draws.randint(1, 9))) for _ in range(150)]
    rows[20] = ""
    for split in ("train", "dev", "test"):
        for side in ("en", "de"):
            text = rows if split == "train" else ["one two three"] * 4
            (tmp_path / f"{split}.{side}").write_text("".join(f"{row}\n" for row in text), encoding="utf-8")
    return tmp_path


def _config(folder: Path, **settings) -> DatasetConfig:
    plain = {"streaming": True, "tokenizer": {"model_type": "char", "sample": 60}, "shuffle_buffer": 40}
    return text_config(folder, **plain | settings)


def _open(folder: Path, **settings) -> Corpus:
    return open_corpus(_config(folder, **settings), folder / "corpora")


def _texts(corpus: Corpus) -> list[list[str]]:
    return [
        [corpus.tokenizers.source.decode(source) for source, _ in part.ids(range(len(part)))]
        for part in corpus.training.parts()
    ]


def test_a_stream_gives_every_pair_that_cleaning_keeps_in_parts(folder: Path) -> None:
    lines = [line for line in (folder / "train.en").read_text(encoding="utf-8").splitlines() if line]
    assert len(lines) == 149
    for characters in (1, 500, 10**6):
        with small_shards(characters, pairs=1000):
            parts = _texts(_open(folder))
        assert [len(part) for part in parts] == [40, 40, 40, 29]
        assert [text for part in parts for text in part] == lines
    assert [len(part) for part in _texts(_open(folder, limit=100))] == [40, 40, 19]


def test_several_processes_read_what_one_reads(folder: Path) -> None:
    with small_shards(characters=500, pairs=1000):
        assert _texts(_open(folder, workers=2)) == _texts(_open(folder))


def test_only_a_sample_is_on_disk(folder: Path) -> None:
    made = Corpus.open(prepare(_config(folder), folder / "corpora", progress=False))
    assert made.meta["read"] == 60
    assert made.meta["counts"]["dev"] == 4
    whole = Corpus.open(prepare(_config(folder, streaming=False), folder / "corpora", progress=False))
    assert whole.meta["read"] == 150
    assert list(whole.training.parts()) == [whole.training]


def test_a_local_copy_of_a_hub_repository_is_streamed(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for split in ("train", "validation", "test"):
        rows = [json.dumps({"en": f"one {i}", "de": f"eins {i}"}) for i in range(50)]
        (copy / f"{split}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    made = open_corpus(_config(copy, hub={"id": "someone/something"}), tmp_path / "corpora")
    assert [text for part in _texts(made) for text in part] == [f"one {i}" for i in range(50)]


# Training on a stream of pairs that are not on disk.


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
