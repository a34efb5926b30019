"""Going on with a run that stopped or ended."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import UserError
from mt.training.run import choose_best, complete, train
from mt.training.state import Run, begin, resume

TIMES = {"seconds", "tokens_per_second", "training_seconds", "training_tokens_per_second", "peak_memory_mb"}
"""What two runs of the same need not have in common."""


def finished(folder: Path) -> tuple[dict, list, dict]:
    results = json.loads((folder / "results.json").read_text())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    weights = load_file(folder / "checkpoints/last" / checkpoint.MODEL)
    timeless = [{name: value for name, value in line.items() if name not in TIMES} for line in lines]
    return {name: value for name, value in results.items() if name not in TIMES}, timeless, weights


def test_a_finished_run_can_be_resumed(trained: Path, configure: Callable[..., Config], corpus: Corpus, tmp_path: Path):
    folder = Path(shutil.copytree(trained, tmp_path / "again", symlinks=True))
    before = finished(folder)
    complete(resume(configure(), corpus, folder))
    after = finished(folder)
    assert after[:2] == before[:2]
    assert all(torch.equal(tensor, before[2][name]) for name, tensor in after[2].items())


def test_more_epochs_continue_a_finished_run_as_if_it_had_not_ended(
    configure: Callable[..., Config], corpus: Corpus, tmp_path: Path
) -> None:
    def config(epochs: int) -> Config:
        options = {"epochs": epochs, "average_checkpoints": 1, "validate_every": None, "batch_tokens": 300}
        return configure(
            {"training": options, "embedding": {"embedding_dim": 32, "dropout": 0.2}, "search": {"name": "greedy"}}
        )

    complete(begin(config(3), corpus, tmp_path / "straight"))
    complete(begin(config(1), corpus, tmp_path / "extended"))
    complete(resume(config(3), corpus, tmp_path / "extended"))
    straight, extended = finished(tmp_path / "straight"), finished(tmp_path / "extended")
    assert extended[:2] == straight[:2]
    assert all(torch.equal(tensor, straight[2][name]) for name, tensor in extended[2].items())


def test_the_baseline_of_a_stochastic_attention_goes_on(
    configure: Callable[..., Config], corpus: Corpus, tmp_path: Path
) -> None:
    def config(epochs: int) -> Config:
        options = {"epochs": epochs, "average_checkpoints": 1, "validate_every": None, "batch_tokens": 600, "plots": 0}
        return configure({"training": options, "attention": {"name": "hard"}, "search": {"name": "greedy"}})

    complete(begin(config(2), corpus, tmp_path / "straight"))
    complete(begin(config(1), corpus, tmp_path / "extended"))
    complete(resume(config(2), corpus, tmp_path / "extended"))
    straight, extended = finished(tmp_path / "straight"), finished(tmp_path / "extended")
    assert straight[2]["attention.average"] < 0
    assert all(torch.equal(tensor, straight[2][name]) for name, tensor in extended[2].items())
    assert extended[1] == straight[1]


def test_another_corpus_is_refused(trained: Path, configure: Callable[..., Config], corpus: Corpus) -> None:
    other = Corpus({}, corpus.tokenizers, corpus.meta | {"fingerprint": "other"})
    with pytest.raises(UserError, match=r"was trained on another corpus: .* restore them, or start a new run"):
        resume(configure(), other, trained)


def test_a_raised_average_takes_what_is_there(start: Callable[..., Run], scored: Callable[..., None]) -> None:
    scored([10, 20, 30, 5])
    run = start({"training": {"validate_every": 1, "max_updates": 3, "average_checkpoints": 1}})
    train(run)
    run.close()
    raised = run.config.model_copy(
        update={"training": run.config.training.model_copy(update={"average_checkpoints": 3})}
    )
    again = resume(raised, run.corpus, run.folder)
    choose_best(again)
    again.close()
    assert (run.checkpoints / "best").resolve().name == "update-0000003"
