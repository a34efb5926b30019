from pathlib import Path

import pytest

from mt.comparison.runs import choose, differences, find, names
from mt.errors import UserError

MONOTONIC = {"attention": {"name": "monotonic"}}
MOCHA = {"attention": {"name": "mocha"}}


def test_runs_are_found_at_and_below_folders_once_and_evaluations_are_none(make_run, tmp_path: Path) -> None:
    deep = make_run("monotonic/2020", MONOTONIC)
    other = make_run("mocha/2021", MOCHA)
    (deep / "evaluations/dev-beam").mkdir(parents=True)
    (deep / "evaluations/dev-beam/results.json").write_text("{}")
    (tmp_path / "runs/unfinished/checkpoints").mkdir(parents=True)
    assert [run.folder for run in find([tmp_path])] == [other, deep]
    assert [run.folder for run in find([deep, tmp_path / "runs", other])] == [deep, other]
    assert find([deep])[0].hypotheses[0] == "this is sentence number 0 of the test"


def test_names_say_what_tells_runs_apart(make_run) -> None:
    make = [
        make_run("a", MONOTONIC),
        make_run("b", MOCHA | {"training": {"epochs": 2}}),
        make_run("c", MOCHA | {"training": {"epochs": 8}, "seed": 5}),
    ]
    runs = find(make)
    assert names(runs) == ["monotonic", "mocha training.epochs=2 seed=1", "mocha training.epochs=8 seed=5"]
    assert differences(runs[1:]) == {"training.epochs": ["2", "8"], "seed": ["1", "5"]}
    assert differences(runs)["attention.name"] == ["monotonic", "mocha", "mocha"]
    encoder = {"encoder": {"name": "lstm"}, "decoder": {"name": "bahdanau"}}
    runs = find([make[0], make_run("d", MOCHA | encoder), make_run("e", MOCHA)])
    assert names(runs) == ["monotonic", "mocha encoder=lstm decoder=bahdanau", "mocha"]
    # Settings that only some of them have.
    assert "-" in [value for values in differences(runs).values() for value in values]


def test_options_are_shown_as_they_are_written(make_run) -> None:
    training = [{"max_updates": None}, {"max_updates": 5}]
    optimizer = [{"name": "adam", "betas": [0.9, 0.98]}, {"name": "adam", "betas": [0.9, 0.99]}]
    runs = find([make_run(str(n), {"training": training[n], "optimizer": optimizer[n]}) for n in range(2)])
    assert differences(runs) == {"optimizer.betas": ["[0.9,0.98]", "[0.9,0.99]"], "training.max_updates": ["null", "5"]}
    assert names(runs)[0].endswith("optimizer.betas=[0.9,0.98] training.max_updates=null")


def test_names_are_of_one_line_and_move_no_cursor(make_run) -> None:
    hostile = [f"/x\n/\x1b[2J{n}" for n in range(2)]
    dataset = {"source": "en", "target": "de"}
    runs = find([make_run(f"r{n}", {"dataset": dataset | {"folder": folder}}) for n, folder in enumerate(hostile)])
    assert [name.split("dataset.folder=")[1] for name in names(runs)] == [f"/x\\n/\\x1b[2J{n}" for n in range(2)]


def test_runs_of_one_configuration_go_by_their_folders(make_run) -> None:
    folders = [make_run("first", MONOTONIC), make_run("second", MONOTONIC | {"device": "cpu"})]
    assert names(find(folders)) == [f"monotonic {folder}" for folder in folders]


def test_a_run_is_chosen_by_folder_name_or_attention(make_run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [make_run("a", MONOTONIC), make_run("b", MOCHA | {"seed": 2}), make_run("c", MOCHA | {"seed": 3})]
    runs = find(folders)
    known = names(runs)
    monkeypatch.chdir(tmp_path)
    assert choose(runs, known, "monotonic") == 0
    assert choose(runs, known, "mocha seed=3") == 2
    assert choose(runs, known, "runs/b/") == 1
    with pytest.raises(UserError, match=r"^mocha is not one run, to be the baseline, but 2: give the folder, .+b or "):
        choose(runs, known, "mocha")
    with pytest.raises(UserError) as refusal:
        choose(runs, known, "mocah")
    assert str(refusal.value).startswith("no run is mocah, to be the baseline: did you mean mocha? ")
    assert str(refusal.value).endswith(": mocha, mocha seed=2, mocha seed=3, monotonic")


def test_refusals(make_run, tmp_path: Path) -> None:
    run = make_run("monotonic", MONOTONIC)
    with pytest.raises(UserError, match=r"absent holds no finished run \(a folder with checkpoints/ and"):
        find([tmp_path / "absent"])
    with pytest.raises(UserError, match=r"monotonic/hypotheses holds no finished run"):
        find([run / "hypotheses"])
    (run / "results.json").unlink()
    with pytest.raises(UserError) as refusal:
        find([run])
    assert str(refusal.value) == (
        f"{run} has no results.json, so its training has not ended: resume with `python train.py resume={run}`"
    )
