"""Training under the prefix mask of a k that is drawn for each batch."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mt.config import Config
from mt.data.corpus import Corpus
from mt.decoding.load import load
from mt.models.seq2seq import Seq2Seq
from mt.search.config import WaitKConfig
from mt.training.loop import Progress, updates
from mt.training.optimizer import build_optimizer
from mt.training.start import begin
from mt.training.train import train_and_test

MODEL = {
    "encoder": {"name": "lstm", "hidden_size": 32},
    "decoder": {"hidden_size": 32, "readout_size": 32, "init_hidden": "zeros"},
}


def drawn(config: Config, corpus: Corpus) -> list[int | None]:
    """k of each batch of a training."""
    result: list[int | None] = []
    torch.manual_seed(0)
    model = Seq2Seq(config, *(len(side) for side in corpus.tokenizers))
    model.register_forward_pre_hook(lambda _, batch, options: result.append(options["wait_k"]), with_kwargs=True)
    list(updates(model, build_optimizer(config.optimizer, model), corpus.training, config, Progress()))
    return result


@pytest.mark.parametrize("accumulate", [1, 4])
def test_each_batch_has_a_k_of_its_own(accumulate: int, configure: Callable[..., Config], corpus: Corpus) -> None:
    options = {"epochs": 4, "gradient_accumulation": accumulate, "wait_k": [1, 3, 7]}
    result = drawn(configure(MODEL | {"training": options}), corpus)
    counts = [result.count(k) for k in (1, 3, 7)]
    assert sum(counts) == len(result) > 40 and min(counts) > len(result) / 6
    if accumulate > 1:
        assert any(len(set(result[i : i + accumulate])) > 1 for i in range(0, len(result), accumulate))


def test_validation_decodes_as_the_run_does(configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> None:
    options = {"epochs": 1, "average_checkpoints": 1, "validate_every": None, "plots": 0, "wait_k": [2]}
    run = begin(configure(MODEL | {"training": options, "search": {"name": "wait_k", "k": 2}}), corpus, tmp_path / "a")
    results = train_and_test(run)
    assert {"ap", "al", "dal"} < run.progress.best.keys() and {"ap", "al", "dal"} < results.keys()
    assert results["search"]["k"] == 2 and results["search"]["mode"] == "soft"
    translator = load(run.folder, device="cpu")
    source = ("the big cats see houses",)
    target = ("die Katzen sehen Häuser",)
    (forced,) = translator.align(source, target)
    # Step t, from 1, has read t + 1 tokens; as the run decodes, so it aligns.
    assert all((row[t + 2 :] == 0).all() and row[: t + 2].all() for t, row in enumerate(forced.alignment))
    (decoded,) = translator.translate(source, WaitKConfig(k=1))
    assert decoded.delays.tolist() == [min(1 + t, 6) for t in range(len(decoded.tokens))]
