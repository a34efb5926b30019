import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import mt.training.run as training
from mt import checkpoint
from mt.data.corpus import Corpus
from mt.errors import UserError
from mt.training.run import Run, choose_best, complete, new_folder, save, train


def names(run: Run) -> list[str]:
    return sorted(path.name for path in run.checkpoints.iterdir())


def folders(*updates: int) -> list[str]:
    return [f"update-{update:07d}" for update in updates]


def test_a_taken_folder_gets_a_number(tmp_path: Path) -> None:
    found = [new_folder(tmp_path / "a" / "run").name for _ in range(3)]
    assert found == ["run", "run-2", "run-3"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"training": {"metric": "blue"}}, "training.metric=blue is not measured: did you mean bleu?"),
        ({"search": {"mode": "hard"}}, "search.mode=hard needs an attention that can choose one position"),
        ({"search": {"name": "online"}}, "online decoding writes while it reads"),
        (
            {"attention": {"name": "general", "energy": {"name": "location", "max_source_length": 2}}},
            "source 1 of train has . tokens, and this model reads at most 2",
        ),
        ({"device": "cuda:77"}, "device=cuda:77 is not on this machine"),
    ],
)
def test_what_cannot_work_is_refused_before_a_folder_is_made(
    changes: dict, sentence: str, start: Callable[..., Run], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=sentence.replace("?", r"\?")):
        start(changes)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("average", [1, 2])
def test_best_last_and_the_last_validations_are_kept(
    average: int, start: Callable[..., Run], scored: Callable[..., None]
) -> None:
    scored([10, 30, 20, 25, 15])
    run = start({"training": {"validate_every": 4, "save_every": 1, "max_updates": 18, "average_checkpoints": average}})
    train(run)
    run.log.close()
    # Validations at 4, 8 (the best), 12, 16 and, since it is the last update, 18.
    assert run.progress.validations == [4, 8, 12, 16, 18] and run.progress.best["bleu"] == 30
    assert run.progress.bad_validations == [0, 0, 3]
    assert names(run) == ["best", "last", *folders(8, *([16, 18] if average == 2 else [18]))]
    assert (run.checkpoints / "best").resolve().name == "update-0000008"
    assert (run.checkpoints / "last").resolve().name == "update-0000018"
    kinds = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["bleu"] for line in kinds if line["kind"] == "dev"] == [10, 30, 20, 25, 15]


def test_the_lower_loss_is_the_better(start: Callable[..., Run], scored: Callable[..., None]) -> None:
    scored([3.0, 1.0, 2.0], "loss")
    run = start({"training": {"metric": "loss", "validate_every": 1, "max_updates": 3}})
    train(run)
    run.log.close()
    assert run.progress.best == {"loss": 1.0} and (run.checkpoints / "best").resolve().name == "update-0000002"


def test_training_stops_after_validations_without_a_new_best(
    start: Callable[..., Run], scored: Callable[..., None], capsys: pytest.CaptureFixture
) -> None:
    scored([1, 5, 5, 4, 9, 9])
    run = start({"training": {"validate_every": 2, "patience": 2}})
    train(run)
    assert run.progress.update == 8
    assert "stopped: no new best bleu in 2 validations" in capsys.readouterr().out
    train(run)  # as when a finished run is resumed
    run.log.close()
    assert run.progress.update == 8


def test_failures_of_the_attention_are_told(
    start: Callable[..., Run], scored: Callable[..., None], capsys: pytest.CaptureFixture
) -> None:
    scored([1, 2], stats={"normalized_entropy": 0.97})
    run = start({"training": {"validate_every": 1, "max_updates": 2}})
    train(run)
    run.log.close()
    assert capsys.readouterr().out.count("  warning: attention is nearly even over the source (97% of") == 2
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line for line in lines if line["kind"] == "attention"] == [
        {"kind": "attention", "update": update, "normalized_entropy": 0.97} for update in (1, 2)
    ]


@pytest.mark.parametrize("averaged", [40.0, 20.0])
def test_the_average_is_taken_where_it_is_better(
    averaged: float, start: Callable[..., Run], scored: Callable[..., None]
) -> None:
    scored([10, 30, 20, averaged, averaged])
    run = start({"training": {"validate_every": 2, "max_updates": 6, "average_checkpoints": 2}})
    train(run)
    states = [load_file(run.checkpoints / name / checkpoint.MODEL) for name in folders(4, 6)]
    for _ in range(2):  # the second as when a finished run is resumed
        choose_best(run)
        best = checkpoint.load_model(run.folder, "best")[0].state_dict()
        assert all(torch.equal(tensor, best[name]) for name, tensor in run.model.state_dict().items())
        for name, tensor in states[0].items():
            torch.testing.assert_close(best[name], (tensor + states[1][name]) / 2 if averaged == 40 else tensor)
    run.log.close()
    assert ("average" in names(run)) == (averaged == 40)


def test_blank_dev_sentences_are_not_drawn(start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = start()
    split = run.corpus.split("dev")
    run.corpus = Corpus(
        {"dev": Blank(split), "train": run.corpus.split("train")}, run.corpus.tokenizers, run.corpus.meta
    )
    assert training.validate(run)
    run.log.close()


class Blank:
    """A split whose first source is blank."""

    def __init__(self, split: object) -> None:
        self.split = split

    def __getattr__(self, name: str) -> object:
        return getattr(self.split, name)

    def column(self, name: str) -> list:
        column = self.split.column(name)
        return ["", *column[1:]] if name == "source" else column


# What may go wrong on the way


def test_an_interrupt_says_how_to_go_on(start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(run: Run) -> None:
        raise KeyboardInterrupt

    run = start()
    monkeypatch.setattr(training, "train", interrupted)
    with pytest.raises(KeyboardInterrupt, match="holds no checkpoint yet, so start again"):
        complete(run)
    run = start()
    save(run, is_best=True)
    with pytest.raises(KeyboardInterrupt) as caught:
        complete(run)
    assert str(caught.value) == (
        f"the checkpoint of update 0 is whole: go on with `python train.py resume={run.folder}`"
    )


def test_a_full_disk_is_one_sentence(
    start: Callable[..., Run], scored: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    scored([10, 20])
    run = start({"training": {"validate_every": 2, "max_updates": 4}})
    real, calls = checkpoint.save_tensors, []

    def full(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*arguments)

    monkeypatch.setattr(checkpoint, "save_tensors", full)
    with pytest.raises(UserError, match=r"No space left on device: mend the disk .* checkpoint of update 2 is whole"):
        complete(run)
    assert checkpoint.load_meta(run.checkpoints / "last")["update"] == 2
    checkpoint.load_model(run.folder, "best")


def test_divergence_keeps_the_last_good_checkpoint(start: Callable[..., Run], scored: Callable[..., None]) -> None:
    scored([10])
    run = start({"training": {"validate_every": 1, "max_updates": 9}, "optimizer": {"name": "sgd", "lr": 1e38}})
    with pytest.raises(UserError, match="at update 2: training has diverged; the checkpoints before it are good"):
        complete(run)
    assert checkpoint.load_meta(run.checkpoints / "last")["update"] == 1


def test_results_tell_what_it_cost(trained: Path) -> None:
    results = json.loads((trained / "results.json").read_text())
    lines = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    *_, last = (line for line in lines if line["kind"] == "train")
    assert results["training_tokens_per_second"] == pytest.approx(last["tokens_per_second"], rel=0.3)
    assert 50 < results["peak_memory_mb"] < 100_000
    assert list(results["attention"]) == ["entropy", "normalized_entropy", "at_first", "at_last", "jump"]
    assert last["auxiliary_loss"] == 0


def test_tensorboard_has_the_whole_story(trained: Path) -> None:
    found = EventAccumulator(str(trained / "tensorboard"), size_guidance={"images": 0, "tensors": 0}).Reload()
    lines = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    for kind, name in (("train", "loss"), ("train", "lr"), ("dev", "bleu"), ("dev", "loss"), ("attention", "entropy")):
        expected = [(line["update"], line[name]) for line in lines if line["kind"] == kind]
        assert [(e.step, e.value) for e in found.Scalars(f"{kind}/{name}")] == [
            (step, pytest.approx(value, rel=1e-6)) for step, value in expected
        ]
        assert len(expected) > 1
    validations = sum(line["kind"] == "dev" for line in lines)
    for number in range(2):
        assert len(found.Images(f"dev/alignment_{number}")) == validations
    assert len(found.Tensors("dev/translations/text_summary")) == validations
    assert found.Scalars("test/bleu.score")[0].value == pytest.approx(
        json.loads((trained / "results.json").read_text())["bleu"]["score"], rel=1e-6
    )
    assert "hparams" in found.summary_metadata["_hparams_/session_start_info"].plugin_data.plugin_name
