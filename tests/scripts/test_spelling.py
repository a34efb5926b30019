"""An option is spelt alike in every command, and as `train.py` spells it."""

from pathlib import Path

import pytest

from mt.__main__ import VERBS, main
from mt.cli.parser import _RENAMED, Parser

SCRIPTS = sorted({*VERBS} - {"train", "get", "prepare", "serve"})


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_command_has_an_option_under_its_old_name(call, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Parser] = []
    monkeypatch.setattr(Parser, "format_help", lambda parser: seen.append(parser) or "help")
    assert call(name, "--help").status == 0
    [parser] = seen
    options = set(parser._option_string_actions)
    assert not options & _RENAMED.keys()
    assert {"--out"} & options or name not in ("compare", "average", "export", "evaluate")


def test_an_old_name_is_answered_by_the_new_one(call, trained: Path) -> None:
    for words, sentence in (
        (["translate", trained, "--k", "3"], "--k is called --wait-k now: write that"),
        (["score", "--unit", "char"], "--unit is called --latency-unit now: write that"),
        (["score", "--tokenizer", "13a"], "--tokenizer is called --bleu-tokenizer now: write that"),
        (["export", trained, "--dtype", "bf16"], "--dtype is called --precision now: write that"),
        (["stream", trained, "--dtype", "bf16"], "unknown option --dtype: "),
        (["stream", trained, "--show"], "--show is gone: `python scripts/staircase.py RUN` draws what is read and"),
        (["export", trained, "--push", "A/B"], "--push is gone: `hf upload OWNER/NAME DIR` puts what is exported on"),
    ):
        done = call(*words)
        assert (done.status, done.out) == (2, "") and done.err.startswith(f"error: {sentence}")


def test_options_of_search_are_those_of_training(call, trained: Path) -> None:
    lines = "two cats see houses\nthe green birds find streets\n"

    def translate(*words: object) -> str:
        done = call("translate", trained, *words, stdin=lines)
        assert (done.status, done.err) == (0, "")
        return done.out

    assert translate("search.beam_size=3", "search.n_best=2") == translate("--beam", 3, "--n-best", 2)
    assert translate("search=greedy", "search.batch_tokens=9", "search.max_ratio=null") == translate(
        "--search", "greedy"
    )
    for words, sentence in (
        (["search.beam_sise=3"], "unknown option search.beam_sise: did you mean beam_size? "),
        (["search.beam_size=3", "--beam", "4"], "--beam is given more than once: give it once"),
        (["search.batch_tokens=3", "search.batch_tokens=4"], "search.batch_tokens is given more than once"),
        (["search.batch_tokens=x"], 'search.batch_tokens="x" is not possible: input should be a valid integer'),
        (["search=best"], "--search best is an invalid choice: choices: beam, "),
        (["search.wait=3"], "unknown option search.wait: "),
        (
            ["search=greedy", "search.length_penalty=null"],
            "--length-penalty is an option of --search retranslate or beam",
        ),
    ):
        done = call("translate", trained, *words, stdin=lines)
        assert (done.status, done.out) == (2, "") and done.err.startswith(f"error: {sentence}"), done.err


@pytest.mark.parametrize(
    ("words", "out", "error"),
    [
        (["mt"], "mt VERB ..., of which\n\n  train      prepare text, train, validate, test, draw\n  get ", ""),
        (["mt", "--help"], "mt VERB ..., of which", ""),
        (["mt", "--version"], "mt 0.", ""),
        (["mt", "trian"], "", "error: mt trian is no command: did you mean train? choices: align, average, "),
        (["mt", "align", "x"], "", "error: --source and --target missing: write mt align RUN --source FILE --target"),
        (["bin/mt-align", "x"], "", "error: --source and --target missing: write mt-align RUN --source FILE --target"),
        (["mt", "train", "attention=mocah"], "", "error: attention=mocah is an invalid choice: did you mean mocha? "),
        (["mt/__main__.py", "attention=mocah"], "", "error: attention=mocah is an invalid choice: did you mean mocha?"),
    ],
)
def test_one_door(words: list[str], out: str, error: str, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setattr("mt.cli.train.leave_at_once", lambda rank: None)
    try:
        main()
    except SystemExit as end:
        assert end.code == (2 if error else 0)
    printed = capsys.readouterr()
    assert printed.out.startswith(out) and printed.err.startswith(error)
    assert bool(printed.out) != bool(printed.err)
