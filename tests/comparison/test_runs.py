from pathlib import Path

import pytest

from mt.comparison.runs import choose, find, names
from mt.errors import UserError

DOT = {"attention": {"name": "general", "energy": {"name": "dot"}}}
GENERAL = {"attention": {"name": "general", "energy": {"name": "general"}}}
MOCHA = {"attention": {"name": "mocha"}}


def test_runs_are_found_at_and_below_folders_once_and_evaluations_are_none(make_run, tmp_path: Path) -> None:
    deep, other = make_run("dot/2020", DOT), make_run("mocha/2021", MOCHA)
    (deep / "evaluations/dev-beam").mkdir(parents=True)
    (deep / "evaluations/dev-beam/results.json").write_text("{}")
    (tmp_path / "runs/unfinished/checkpoints").mkdir(parents=True)
    assert [run.folder for run in find([tmp_path])] == [deep, other]
    assert [run.folder for run in find([other, tmp_path / "runs", deep])] == [other, deep]
    assert find([deep])[0].hypotheses[0] == "this is sentence number 0 of the test"


def test_names_say_what_tells_runs_apart(make_run) -> None:
    make = [
        make_run("a", DOT),
        make_run("b", MOCHA | {"attention": {"name": "mocha", "chunk_size": 2}}),
        make_run("c", MOCHA | {"attention": {"name": "mocha", "chunk_size": 8}, "seed": 5}),
    ]
    runs = find(make)
    assert names(runs) == ["dot", "mocha attention.chunk_size=2 seed=1", "mocha attention.chunk_size=8 seed=5"]
    runs = find(
        [
            make[0],
            make_run(
                "d", GENERAL | {"encoder": {"name": "lstm"}, "decoder": {"name": "luong", "init_hidden": "zeros"}}
            ),
        ]
    )
    assert names(runs) == ["dot", "general encoder=lstm"]
    concat = {"attention": {"name": "general", "energy": {"name": "concat"}}}
    bahdanau = make_run("g", concat | {"decoder": {"name": "bahdanau"}})
    assert names(find([make[0], make_run("h", concat), bahdanau])) == ["dot", "concat", "bahdanau"]
    energy = {"attention": {"name": "mocha", "energy": {"name": "concat"}}}
    runs = find([make_run("e", MOCHA), make_run("f", energy)])
    assert names(runs)[1].startswith("mocha attention.energy=concat")


def test_runs_of_one_configuration_go_by_their_folders(make_run) -> None:
    folders = [make_run("first", DOT), make_run("second", DOT | {"device": "cpu"})]
    assert names(find(folders)) == [f"dot {folder}" for folder in folders]


def test_a_run_is_chosen_by_folder_name_or_attention(make_run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [make_run("a", DOT), make_run("b", MOCHA | {"seed": 2}), make_run("c", MOCHA | {"seed": 3})]
    runs = find(folders)
    known = names(runs)
    monkeypatch.chdir(tmp_path)
    assert choose(runs, known, "dot") == 0
    assert choose(runs, known, "mocha seed=3") == 2
    assert choose(runs, known, "runs/b/") == 1
    with pytest.raises(UserError, match=r"^mocha is not one run, to be the baseline, but 2: give the folder, .+b or "):
        choose(runs, known, "mocha")
    sentence = (
        "no run is mocah, to be the baseline: did you mean mocha? There is: dot, mocha, mocha seed=2, mocha seed=3"
    )
    with pytest.raises(UserError) as refusal:
        choose(runs, known, "mocah")
    assert str(refusal.value) == sentence


def test_refusals(make_run, tmp_path: Path) -> None:
    run = make_run("dot", DOT)
    with pytest.raises(UserError, match=r"absent holds no finished run \(a folder with checkpoints/ and"):
        find([tmp_path / "absent"])
    with pytest.raises(UserError, match=r"dot/hypotheses holds no finished run"):
        find([run / "hypotheses"])
    for content in ("{", "[]", "{}", '{"search": null}', '{"search": {}}'):
        (run / "results.json").write_text(content)
        with pytest.raises(UserError, match=r"results.json does not hold the results of a run: copy the run again"):
            find([run])
    (run / "results.json").unlink()
    with pytest.raises(UserError) as refusal:
        find([run])
    assert str(refusal.value) == (
        f"{run} has no results.json, so its training has not ended: go on with `python train.py resume={run}`"
    )
