"""scripts/score.py --task simultaneous."""

import json

import pytest

LINES = [
    {"prediction": "aa b c d", "delays": [3, 4, 4, 4], "reference": "aa b c d\n", "source_length": 4},
    {"prediction": "a b c d e f", "delays": [3, 4, 5, 6, 6, 6], "reference": "a b c d e\n", "source_length": 6},
    {"prediction": "a b", "delays": [2, 2], "reference": "a b c\n", "source_length": 2},
    {"prediction": "", "delays": [], "reference": "a\n", "source_length": 3},
]


def written(folder, *lines):
    path = folder / "instances.log"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def refusal(call, *arguments):
    done = call("score", *arguments)
    assert (done.status, done.out) == (2, "") and done.err.count("\n") == 1
    return done.err


@pytest.fixture
def log(tmp_path):
    return written(
        tmp_path, *({"index": index, "elapsed": [], "source": ""} | line for index, line in enumerate(LINES))
    )


def test_a_log_of_simultaneous_translation(call, log):
    scores = json.loads(call("score", "--task", "simultaneous", "--json", "--log", log).out)
    assert list(scores) == ["bleu", "chrf", "ap", "al", "laal", "dal", "yaal", "erasure", "swf", "efsw"]
    actual = [scores[name]["score"] for name in ("ap", "al", "laal", "dal", "yaal", "swf", "efsw")]
    expected = [(0.9375 + 1 + 2 / 3) / 3, (3 + 2.7 + 2) / 3, 8 / 3, 8 / 3, 3, 100 / 3, 40]
    assert actual == pytest.approx(expected, abs=1e-9)
    assert scores["al"]["signature"].startswith("n:3|empty:1|unit:word|length:reference|")
    lines = call(
        "score", "--task", "simultaneous", "--metrics", "chrf", "--no-use-ref-len", "--log", log
    ).out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["ap", "0.92"], ["al", "2.67"]]


def test_a_log_without_references_and_a_degenerate_one(call, tmp_path):
    lines = [
        {"index": i, "prediction": "a b", "delays": [d, 20], "reference": None, "source_length": 20}
        for i, d in enumerate((1, 20, 20, 20))
    ]
    done = call("score", "--task", "simultaneous", "--json", "--log", written(tmp_path, *lines))
    assert list(json.loads(done.out)) == ["ap", "al", "laal", "dal", "yaal", "erasure", "swf", "efsw"]
    assert done.err == "note: SWF and EFSW are more than 20 apart: likely a degenerate policy, by OmniSTEval\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--task", "simultaneous", "{log}"],
            "--task simultaneous takes a log, which holds the references: write --log {log}",
        ),
        (
            ["--task", "simultaneous", "--lead", "3", "--log", "{log}"],
            "--task simultaneous takes a log, which holds the",
        ),
        (
            ["--task", "simultaneous", "--latency-unit", "subword", "--log", "{log}"],
            "--latency-unit subword and --spm-model FILE go together",
        ),
        (
            ["--task", "simultaneous", "--spm-model", "{log}", "--log", "{log}"],
            "--latency-unit subword and --spm-model FILE go together",
        ),
        (
            ["--task", "simultaneous", "--latency-unit", "char", "--log", "{log}"],
            "{log}, line 1 is no line of an instances.log (it has",
        ),
        (["--task", "simultaneous", "--log", "{log}x"], "{log}x cannot be read (No such file or directory)"),
        (["{log}"], "--task translation compares with references: give HYPOTHESES, then files"),
        (
            ["--latency-unit", "char", "{log}", "{log}"],
            "--latency-unit is an option of --task simultaneous: leave it out",
        ),
        (["--no-use-ref-len", "{log}", "{log}"], "--no-use-ref-len is an option of --task simultaneous"),
    ],
)
def test_refusals(call, arguments, sentence, log):
    message = refusal(call, *[argument.format(log=log) for argument in arguments])
    assert message.startswith(f"error: {sentence.format(log=log)}")


def test_a_log_of_empty_hypotheses_and_a_garbled_one(call, tmp_path):
    path = written(tmp_path, {"index": 0} | LINES[3])
    message = refusal(call, "--task", "simultaneous", "--log", path)
    assert message == f"error: {path} has no hypothesis with a word, so there is no latency to measure\n"
    written(tmp_path, {"index": 0} | LINES[3], "nonsense")
    assert refusal(call, "--task", "simultaneous", "--log", path).startswith(f"error: {path}, line 2 is no line of an ")
