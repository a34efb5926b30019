import json
import os
import random
import re
from functools import partial
from pathlib import Path

import pytest

from mt.comparison.runs import choose, differences, find, names, read_curves
from mt.errors import UserError
from mt.evaluation.results import read_results
from tests.refusals.sentences import require_refusal

MONOTONIC = {"attention": {"name": "monotonic"}}
MOCHA = {"attention": {"name": "mocha"}}
RECORDS = ["results.json", "metrics.jsonl", "hypotheses/test.txt", "evaluations/test-best-beam/results.json"]
RECORDS += ["checkpoints/best/config.json", "checkpoints/best/meta.json"]


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
    first = make_run("a", MONOTONIC)
    others = [{"training": {"epochs": 2}}, {"training": {"epochs": 8}, "seed": 5}]
    runs = find([first, *(make_run(f"b{n}", MOCHA | other) for n, other in enumerate(others))])
    assert names(runs) == ["monotonic", "mocha training.epochs=2 seed=1", "mocha training.epochs=8 seed=5"]
    assert differences(runs[1:]) == {"training.epochs": ["2", "8"], "seed": ["1", "5"]}
    assert differences(runs)["attention.name"] == ["monotonic", "mocha", "mocha"]
    encoder = {"encoder": {"name": "lstm"}, "decoder": {"name": "bahdanau"}}
    runs = find([first, make_run("d", MOCHA | encoder), make_run("e", MOCHA)])
    assert names(runs) == ["monotonic", "mocha encoder=lstm decoder=bahdanau", "mocha"]
    # Settings that only some of them have.
    assert "-" in [value for values in differences(runs).values() for value in values]


def test_names_are_of_one_line_and_move_no_cursor(make_run) -> None:
    hostile = [f"/x\n/\x1b[2J{n}" for n in range(2)]
    dataset = {"source": "en", "target": "de"}
    runs = find([make_run(f"r{n}", {"dataset": dataset | {"folder": folder}}) for n, folder in enumerate(hostile)])
    assert [name.split("dataset.folder=")[1] for name in names(runs)] == [f"/x\\n/\\x1b[2J{n}" for n in range(2)]


def test_a_run_is_chosen_by_folder_name_or_attention(make_run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [make_run("a", MONOTONIC), make_run("b", MOCHA | {"seed": 2}), make_run("c", MOCHA | {"seed": 3})]
    runs = find(folders)
    known = names(runs)
    monkeypatch.chdir(tmp_path)
    assert choose(runs, known, "monotonic") == 0
    assert choose(runs, known, "mocha seed=3") == 2
    assert choose(runs, known, "runs/b/") == 1
    several = "^mocha is not one run, to be the baseline, but 2: give the folder, .+b or "
    require_refusal(lambda: choose(runs, known, "mocha"), several)
    choices = r"choices: mocha, mocha seed=2, mocha seed=3, monotonic$"
    nearest = r"^no run is mocah, to be the baseline: did you mean mocha\? "
    require_refusal(lambda: choose(runs, known, "mocah"), nearest + choices)


def test_refusals(make_run, tmp_path: Path) -> None:
    run = make_run("monotonic", MONOTONIC)
    for folder in (tmp_path / "absent", run / "hypotheses"):
        require_refusal(
            partial(find, [folder]), rf"/{folder.name} holds no finished run \(a folder with checkpoints/ and"
        )
    (run / "results.json").unlink()
    reason = "so its training has not ended, or training.test=false left the test out"
    remedy = f"resume with `mt train resume={run} training.test=true`$"
    require_refusal(lambda: find([run]), f"^{run} has no results.json, {reason}: {remedy}")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("name", RECORDS)
def test_a_pipe_or_a_device_among_the_records_is_refused_before_it_is_read(make, name: str, make_run) -> None:
    run = make_run("a")
    (run / name).unlink(missing_ok=True)
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    make(run / name)
    require_refusal(lambda: find([run]), r"no regular file|has no results.json|holds no file")


# Files of runs that were damaged, or made by somebody who wishes us ill: always one sentence, never anything else.
SCORES = {"bleu": {"score": 12.5, "signature": "nrefs:1"}, "perplexity": 2.5, "attention": {"entropy": 1.5}}
SCORES["aer"] = {"score": 30.5, "signature": "n:2", "precision": 1.0, "recall": 2.0}
SEARCH = {"name": "beam", "beam_size": 5, "mode": "soft", "length_penalty": 0.6}
WHOLE = {"split": "test", "search": SEARCH, **SCORES, "peak_memory_mb": 100, "parameters": 1_500_000}
WRONG = [None, True, -1, 1e308, 10**400, "x", "<b>", [], {}, [[1]], {"score": "x"}, {"name": 3, "mode": []}]


def test_what_a_run_says(tmp_path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(WHOLE))
    result = read_results(path)
    assert str(result.search) == "soft, beam 5" and result.number("aer") == 30.5
    assert (result.parameters, result.peak_memory_mb, result.perplexity, result.latency) == (1_500_000, 100, 2.5, {})
    path.write_text('{"search": {"name": "greedy", "mode": "hard"}, "perplexity": NaN}')
    result = read_results(path)
    assert str(result.search) == "hard, greedy" and result.number("aer") is None


def test_latency_and_what_it_is_counted_in(tmp_path) -> None:
    path = tmp_path / "results.json"
    lag = {"score": 2.5, "signature": "n:9|unit:word|length:longer"}
    path.write_text(json.dumps(WHOLE | {"al": lag, "dal": lag | {"score": 3}, "swf": lag, "yaal": {"score": "x"}}))
    result = read_results(path)
    assert result.latency == {"al": 2.5, "dal": 3.0} and result.latency_unit == "word"
    assert {key: score.score for key, score in result.scores.items()}.items() >= {"bleu": 12.5, "swf": 2.5}.items()
    for wrong in (float("nan"), 10**400, True, None, -1e300):
        path.write_text(json.dumps(WHOLE | {"al": {"score": wrong}, "dal": {"score": 1.0}}))
        assert read_results(path).latency == {"dal": 1.0} and read_results(path).latency_unit == "token"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("results.json", b"{", "invalid JSON: EOF while parsing an object at line 1 column 1"),
        ("results.json", b"[]", "input should be an object"),
        ("results.json", b'{"search": {}}', "search.name: field required"),
        ("results.json", b'{"search": {"name": "beam", "mode": "soft"}, "aer": 3}', "aer: input should be an object"),
        ("results.json", b'{"a":' * 200_000, "invalid JSON: recursion limit exceeded at line 1 column 1006"),
        ("metrics.jsonl", b'{"x": "\xff"}', "invalid JSON: invalid unicode code point at line 1 column 8"),
        ("metrics.jsonl", b"[" * 200_000, "invalid JSON: recursion limit exceeded at line 1 column 202"),
        ("metrics.jsonl", b"3", "input should be an object"),
        ("metrics.jsonl", b'{"kind": "dev"}', "update: input should be a valid integer"),
        ("metrics.jsonl", b'{"kind": "dev", "update": -1}', "update: input should be greater than or equal to 0"),
        ("metrics.jsonl", b'{"kind": "dev", "update": 1, "bleu": [3]}', "scores.bleu: input should be a valid number"),
    ],
)
def test_a_damaged_file_is_one_sentence(make_run, name: str, content: bytes, reason: str) -> None:
    run = make_run("a")
    path = run / name
    path.write_bytes(content if name == "results.json" else LINE.encode() + b"\n" + content)
    what = "does not hold the results of a run" if name == "results.json" else "line 2 is no record of a run"
    require_refusal(lambda: find([run]), rf"^{path},? {what} \({re.escape(reason)}\): copy the run again")


def test_any_wrong_value_anywhere_is_read_or_one_sentence(tmp_path) -> None:
    path = tmp_path / "results.json"
    draw = random.Random(1)
    refused = 0
    for _ in range(400):
        results = json.loads(json.dumps(WHOLE))
        place = draw.choice([results, results, results["search"], results["aer"]])
        place[draw.choice(list(place))] = draw.choice(WRONG)
        content = json.dumps(results).encode()
        if draw.random() < 0.5:
            cut = draw.randrange(len(content))
            content = content[:cut] + bytes([draw.randrange(256)]) + content[cut + draw.randrange(20) :]
        path.write_bytes(content)
        try:
            assert isinstance(str(read_results(path).search), str)
        except UserError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 100 < refused < 400


LINE = '{"kind": "dev", "update": 50, "loss": 2.5, "perplexity": 12.1, "bleu": 3}'


def curves(path: Path, *lines: str | bytes) -> dict[str, dict[int, float]]:
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return read_curves(path, ("loss", "bleu"))


def test_curves_of_dev(tmp_path) -> None:
    path = tmp_path / "metrics.jsonl"
    train = '{"kind": "train", "update": 20, "loss": 9.0, "ends_epoch": true}'
    later = '{"kind": "dev", "update": 100, "loss": NaN, "bleu": 4.5}'
    shown = curves(path, train, LINE, '{"kind": "attention", "update": 50}', later)
    assert shown == {"loss": {50: 2.5}, "bleu": {50: 3.0, 100: 4.5}}
    assert curves(path) == {} and read_curves(tmp_path / "absent", ("loss",)) == {}
