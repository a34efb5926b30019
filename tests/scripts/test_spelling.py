"""An option is spelt alike in every command, and as `train.py` spells it."""

from pathlib import Path

import pytest

from mt.__main__ import VERBS, main
from mt.cli.parser import RENAMED, Parser

SCRIPTS = sorted({*VERBS} - {"train", "get", "prepare", "serve"})


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_command_has_an_option_under_its_old_name(call, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Parser] = []
    monkeypatch.setattr(Parser, "format_help", lambda parser: seen.append(parser) or "help")
    assert call(name, "--help").status == 0
    [parser] = seen
    options = set(parser._option_string_actions)
    assert not options & RENAMED.keys()
    assert {"--out"} & options or name not in ("compare", "average", "export", "evaluate")


def test_options_of_search_are_those_of_training(call, trained: Path) -> None:
    lines = "two cats see houses\nthe green birds find streets\n"
    by_flags = call("translate", trained, "--beam", 3, "--n-best", 2, stdin=lines)
    greedy = call("translate", trained, "--search", "greedy", stdin=lines)
    words = ["--search=greedy", "--batch-tokens=9", "--max-ratio=null"]
    assert call("translate", trained, *words, stdin=lines) == greedy
    assert (greedy.err, greedy.status) == ("", 0) and greedy.out != by_flags.out


@pytest.mark.parametrize(
    ("words", "out", "error"),
    [
        (["mt"], "mt VERB ..., of which\n\n  train      prepare text, train, validate, test, draw\n  get ", ""),
        (["mt", "--help"], "mt VERB ..., of which", ""),
        (["mt", "--version"], "mt 0.", ""),
        (["mt", "trian"], "", "error: mt trian is no command: did you mean train? choices: align, average, "),
        (["mt", "align", "x"], "", "error: --source and --target missing: write mt align RUN --source FILE --target"),
        (["bin/mt-align", "x"], "", "error: --source and --target missing: write mt-align RUN --source FILE --target"),
        (["mt", "train", "attention=mocah"], "", "error: In 'config': Could not find 'attention/mocah' "),
        (["mt/__main__.py", "tarnslate", "RUN"], "", "error: mt tarnslate is no command: did you mean translate? "),
        (["mt/__main__.py", "RUN", "seed=1"], "", "error: mt RUN is no command: choices: align, average, "),
        (["mt/__main__.py", "--version"], "mt 0.", ""),
        (["mt/__main__.py", "~attenton"], "", "error: Could not delete from config. 'attenton' does not exist"),
        (["mt/__main__.py", "attention=mocah"], "", "error: In 'config': Could not find 'attention/mocah' "),
    ],
)
def test_one_door(words: list[str], out: str, error: str, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setattr("mt.cli.train.leave_at_once", lambda rank: None)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "")
    try:
        main()
    except SystemExit as end:
        assert end.code == ((1 if "config" in error else 2) if error else 0)
    printed = capsys.readouterr()
    assert printed.out.startswith(out) and printed.err.startswith(error)
    assert bool(printed.out) != bool(printed.err)


def test_what_is_served_is_what_is_asked_for(call, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra `serve`")
    asked: list[object] = []
    monkeypatch.setattr("mt.cli.arguments.load", lambda run, **options: asked.append((run, options)))
    monkeypatch.setattr("mt.serve.app.build", lambda named, *_, **options: asked.append(([*named], options["local"])))
    monkeypatch.setattr("mt.serve.server.serve", lambda app, listening, limits: listening.close())
    options = ["--checkpoint", "last", "--precision", "int8", "--device", "cpu", "--port", 0]
    assert call("serve", f"mine={trained}", *options).status == 0
    chosen = {"checkpoint": "last", "device": "cpu", "engine": "torch", "precision": "int8"}
    assert asked == [([trained], chosen), (["mine"], True)]
