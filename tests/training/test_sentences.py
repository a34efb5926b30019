"""What a run says where a user can mend something: which file, what happened, what to do."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import explained
from mt.training.log import Log
from mt.training.run import Run
from mt.training.start import new_folder, resume
from mt.training.train import train


def test_a_file_of_a_library_is_named_as_text() -> None:
    error = FileNotFoundError(2, "No such file or directory", os.fsencode("run/tensorboard/größe"))
    assert explained(error).startswith("run/tensorboard/größe: No such file or directory")


@pytest.mark.parametrize("place", ["file/run", "file/inner/run", "nowhere/run"])
def test_a_folder_where_none_can_be(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(OSError) as refused:
        new_folder(tmp_path / place)
    sentence = explained(refused.value)
    assert sentence.startswith(str(tmp_path)) and "a file is where a folder should be" in sentence


def test_a_log_that_is_deleted_in_mid_run(tmp_path: Path) -> None:
    printed: list[str] = []
    log = Log(tmp_path, update=0, say=printed.append)
    log.scalars("train", 1, {"loss": 2.0})
    (tmp_path / "metrics.jsonl").unlink()
    log.scalars("train", 2, {"loss": 1.0})
    log.scalars("train", 3, {"loss": 0.5})
    log.close()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["update"] for line in lines] == [2, 3]
    assert printed == [
        f"  warning: {tmp_path}/metrics.jsonl was deleted or replaced: lines before update 2 are not in it"
    ]


def test_nothing_is_left_to_train(
    run: Path, configure: Callable[..., Config], corpus: Corpus, capsys: pytest.CaptureFixture
) -> None:
    for options, more in (
        ({}, "training.epochs"),
        ({"training": {**configure().training.model_dump(), "max_updates": 3}}, "training.max_updates or"),
    ):
        again = resume(configure(options), corpus, run)
        train(again)
        again.close()
        update = f"{again.progress.update:,}"
        assert f"\nnothing is left to train after update {update}: raise {more}" in capsys.readouterr().out


def test_attention_is_given_time_before_advice(
    start: Callable[..., Run], scored: Callable[..., None], capsys: pytest.CaptureFixture
) -> None:
    scored([1, 2], stats={"saturation": 0.5, "lost_mass": 0.9})
    run = start({"training": {"validate_every": 50, "max_updates": 100}})
    train(run)
    run.close()
    output = capsys.readouterr().out
    assert output.count("raise attention.energy_bias") == 1
    assert output.index("update 100:") < output.index("raise attention.energy_bias")
