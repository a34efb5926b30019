import errno
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import mt.training.train as training
from mt import checkpoint
from mt.cli.run_folders import new_folder
from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import explained
from mt.evaluation.report import origin
from mt.models.seq2seq import Seq2Seq
from mt.training.run import Run, chosen_metric, require_fit, require_measured
from mt.training.train import train, train_and_test
from tests.refusals.sentences import require_refusal
from tests.training.runs import finished, logged


@pytest.mark.parametrize("place", ["file/run", "file/inner/run", "nowhere/run"])
def test_a_folder_where_none_can_be(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(OSError) as refused:
        new_folder(tmp_path / place)
    sentence = explained(refused.value)
    assert sentence.startswith(str(tmp_path)) and "a file is where a folder should be" in sentence


def test_training_stops_after_validations_without_a_new_best(start, scored, capsys):
    scored([1, 5, 5, 4, 9, 9])
    run = start({"training": {"validate_every": 2, "patience": 2}})
    train(run)
    assert run.progress.update == 8
    assert "stopped: no new best bleu in 2 validations" in capsys.readouterr().out
    train(run)  # as when a finished run is resumed
    run.close()
    assert run.progress.update == 8


def test_failures_of_the_attention_are_told_after_a_while(start, scored, capsys):
    scored([1, 2, 3], stats={"normalized_entropy": 0.97})
    run = finished(start({"training": {"validate_every": 50, "max_updates": 101}}))
    early, _, late = capsys.readouterr().out.partition("update 100: ")
    warning = "  warning: attention is nearly even over the source (97% of"
    assert (early.count(warning), late.count(warning)) == (0, 2)
    lines = [(line["update"], line["normalized_entropy"]) for line in logged(run.folder, "attention")]
    assert lines == [(50, 0.97), (100, 0.97), (101, 0.97)]


def test_a_run_says_what_begins(start: Callable[..., Run], scored: Callable[..., None], capsys) -> None:
    scored([10])
    run = finished(start({"training": {"max_updates": 3, "validate_every": 3}}))
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[:8])
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    tokens = run.corpus.split("train").lengths()[1].sum()
    assert lines == {
        "folder": str(run.folder),
        "device": "cpu, fp32",
        "model": f"bilstm, general, luong: {parameters:,} parameters",
        "data": f"tiny: 240 pairs, {tokens:,} target tokens; dev 12, test 10",
        "pieces": f"{len(run.corpus.tokenizers.source)} source, {len(run.corpus.tokenizers.target)} target",
        "training": "3 updates, at most 12 epochs",
        "limit": "hypotheses of at most 1.5 x source length + 10 tokens",
        "loss": "nats per target token without label smoothing, in training as on dev",
    }


def test_lines_of_training_are_means_since_the_line_before(start: Callable[..., Run], scored: Callable[..., None]):
    scored([10, 20])
    run = start({"training": {"log_every": 4, "save_every": 6, "validate_every": 9, "max_updates": 10}})
    seen = []
    real = training.updates

    def spied(*arguments: object, **named: object):
        for update in real(*arguments, **named):
            seen.append(update)
            yield update

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "updates", spied)
        finished(run)
    of_training = logged(run.folder, "train")
    # At multiples of 4, and before the validations of 9 and 10.
    assert [line["update"] for line in of_training] == [4, 8, 9, 10]
    for line, (first, last) in zip(of_training, [(0, 4), (4, 8), (8, 9), (9, 10)], strict=True):
        part = seen[first:last]
        assert line["loss"] == pytest.approx(sum(u.loss * u.tokens for u in part) / sum(u.tokens for u in part))
        assert line["tokens"] == sum(update.tokens for update in seen[:last]) and line["epoch"] == 1
        assert line["lr"] == part[-1].lr and "ends_epoch" not in line


# What may go wrong on the way


def test_what_the_system_refuses_is_one_sentence(start, scored, monkeypatch):
    scored([10, 20])
    run = start({"training": {"validate_every": 2, "max_updates": 4}})
    real = checkpoint._save_model
    calls = []

    def refuse(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", "x")
        real(*arguments)

    monkeypatch.setattr(checkpoint, "_save_model", refuse)
    sentence = "^x: No space left on device: free disk space; the checkpoint of update 2 is complete; resume with `mt "
    require_refusal(lambda: train_and_test(run), sentence)
    assert checkpoint.load_meta(run.checkpoints / "last").update == 2
    checkpoint.load_model(run.folder, "best")


def test_results_tell_what_it_cost(trained: Path) -> None:
    results = json.loads((trained / "results.json").read_text())
    of_training = logged(trained, "train")
    counts = np.diff([0, *(line["tokens"] for line in of_training)])
    seconds = sum(count / line["tokens_per_second"] for count, line in zip(counts, of_training, strict=True))
    # Each line has the speed since the one before, and the results the mean over the run.
    assert results["training_seconds"] == pytest.approx(seconds, rel=1e-6)
    assert results["training_tokens"] == counts.sum()
    assert results["training_tokens_per_second"] == pytest.approx(counts.sum() / seconds, rel=1e-6)
    assert results["training_tokens_per_second_last"] == of_training[-1]["tokens_per_second"]
    assert results["checkpoint"] == origin(trained, "best")
    assert 50 < results["peak_memory_mb"] < 100_000
    assert list(results["attention"]) == ["entropy", "normalized_entropy", "at_first", "at_last", "jump"]
    assert of_training[-1]["auxiliary_loss"] == 0


def test_tensorboard_has_the_whole_story(trained: Path) -> None:
    actual = EventAccumulator(str(trained / "tensorboard"), size_guidance={"images": 0, "tensors": 0}).Reload()
    for kind, name in (("train", "loss"), ("train", "lr"), ("dev", "bleu"), ("dev", "loss"), ("attention", "entropy")):
        expected = {line["update"]: pytest.approx(line[name], rel=1e-6) for line in logged(trained, kind)}
        assert {e.step: e.value for e in actual.Scalars(f"{kind}/{name}")} == expected
        assert len(expected) > 1
    validations = len(logged(trained, "dev"))
    for number in range(2):
        assert len(actual.Images(f"dev/alignment_{number}")) == validations
    assert len(actual.Tensors("dev/translations/text_summary")) == validations
    results = json.loads((trained / "results.json").read_text())
    scores = {"bleu": results["bleu"]["score"], "chrf": results["chrf"]["score"], "loss": results["loss"]}
    scores |= {"perplexity": results["perplexity"]}
    of_test = {tag[5:]: actual.Scalars(tag) for tag in actual.Tags()["scalars"] if tag.startswith("test/")}
    assert {name: event.value for name, [event] in of_test.items()} == pytest.approx(scores, rel=1e-6)
    assert {event.step for [event] in of_test.values()} == {results["updates"]}


# Checks.
@pytest.mark.parametrize(
    ("metrics", "metric", "expected"),
    [
        (["bleu"], None, "bleu"),
        (["chrf", "bleu"], None, "chrf"),
        (["rouge"], None, "rougeL"),
        (["bleu"], "loss", "loss"),
    ],
)
def test_what_chooses_the_best(metrics, metric, expected, configure, texts):
    dataset = {"source": "en", "target": "de", "folder": str(texts), "metrics": metrics}
    config = configure({"dataset": dataset, "training": {"metric": metric}})
    assert chosen_metric(config) == expected
    require_measured(config, Seq2Seq(config, 9, 9))
    mocha = configure({"training": {"metric": "bleu_hard"}, "attention": {"name": "mocha"}})
    require_measured(mocha, Seq2Seq(mocha, 9, 9))


def test_the_longest_source_is_what_a_model_has_to_read(configure: Callable[..., Config], corpus: Corpus) -> None:
    lengths = corpus.split("train").lengths()[0].tolist()

    def fit(limit: int) -> None:
        config = configure({"attention": {"name": "location", "max_source_length": limit}})
        require_fit(config, corpus, Seq2Seq(config, *corpus.tokenizers.sizes))

    longest = max(lengths)
    fit(longest)
    sentence = f"^source {lengths.index(longest) + 1} of train has {longest} tokens, .* at most {longest - 1}: raise"
    require_refusal(lambda: fit(longest - 1), sentence)


def test_a_trial_is_not_tested(start, capsys: pytest.CaptureFixture[str]) -> None:
    run = start({"training": {"max_updates": 2, "test": False, "average_checkpoints": 1}})
    assert train_and_test(run) == {}
    assert (run.folder / "checkpoints/best").is_dir() and not (run.folder / "results.json").exists()
    assert not (run.folder / "hypotheses").exists()
    assert "not tested: the best checkpoint (update 2)" in capsys.readouterr().out
