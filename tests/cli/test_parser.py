"""A mistake on any command line ends as one sentence on standard error, with status 2, and nothing is done."""

from pathlib import Path

import pytest

import mt
from mt.cli.arguments import add_search_options, chosen_search
from mt.cli.parser import Parser, whole_number
from mt.search.config import OnlineConfig

ROOT = Path(__file__).parents[2]


@pytest.fixture
def parser() -> Parser:
    made = Parser("What it does.", prog="do.py")
    made.add_argument("run", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    made.add_argument("--beam", type=int, metavar="K", help="hypotheses kept")
    made.add_argument("--penalty", type=float)
    made.add_argument("--plots", type=Path, metavar="DIR")
    made.add_argument("--search", choices=("beam", "greedy"))
    made.add_argument("--size", type=whole_number(1, 9))
    made.add_argument("--show", action="store_true")
    made.add_argument("--precision")
    return made


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("run --beem 3", "unknown option --beem: did you mean --beam? choices: --beam, --help, --penalty, "),
        ("-x run", "unknown option -x: choices: --beam, "),
        ("--help --beem", "unknown option --beem: did you mean --beam? "),
        ("run --beam", "--beam has no value: write --beam K (hypotheses kept); see --help"),
        ("run --search", "--search has no value: write --search beam|greedy; see --help"),
        ("run --beam x", "--beam x is not possible: give a whole number; see --help"),
        ("run --beam=", "--beam '' is not possible: give a whole number; see --help"),
        (f"run --beam {'9' * 9999}", f"--beam {'9' * 77}... is not possible: give a whole number; see --help"),
        ("run --penalty 1,5", "--penalty 1,5 is not possible: give a number; see --help"),
        ("run --size 10", "--size 10 is not a whole number from 1 to 9; see --help"),
        ("run --search beem", "--search beem is an invalid choice: did you mean beam? choices: beam, greedy; see"),
        ("run --show=1", "--show takes no value, and '1' is one: write --show alone; see --help"),
        ("run --beam 3 --beam=5", "--beam is given more than once: give it once; see --help"),
        ("run --p 3", "unknown option --p: "),
        ("run --dtype int8", "--dtype is gone: write --precision; see --help"),
        ("run search.beam_size=3", "search.beam_size=3 is how mt train has it: write a flag here, "),
        ("run --plots=", "--plots '' names no file and no folder: give a path; see --help"),
        ("--show", "RUN missing: write do.py RUN ...; see --help"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(parser: Parser, capfd: pytest.CaptureFixture[str], line: str, sentence: str):
    with pytest.raises(SystemExit) as end:
        parser.parse_args(line.split())
    out, err = capfd.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {sentence}")


@pytest.mark.parametrize("flag", ["--beam-size", "--beam_size"])
def test_a_flag_of_search_may_be_called_as_in_yaml(capfd: pytest.CaptureFixture[str], flag: str):
    made = Parser("What it does.")
    made.add_argument("--buffer-size")
    add_search_options(made)
    with pytest.raises(SystemExit):
        made.parse_args([flag, "5"])
    assert capfd.readouterr().err.startswith(f"error: unknown option {flag}: did you mean --beam? ")


@pytest.mark.parametrize(
    "line", ["one --beam 3 two", "--beam 3 one two", "one two --beam=3", "--beam 3 -- one two", "one --beam 3 -- two"]
)
def test_what_has_no_flag_may_stand_anywhere(parser: Parser, line: str):
    options = parser.parse_args(line.split())
    assert (options.run, options.beam) == ([Path("one"), Path("two")], 3)


def test_a_negative_number_is_a_value(parser: Parser):
    assert parser.parse_args(["run", "--penalty", "-1", "--beam=-3"]).penalty == -1


def test_no_script_has_another_parser():
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "scripts").glob("*.py")}
    assert len(texts) > 10
    assert not [name for name, text in texts.items() if "argparse.ArgumentParser(" in text]


def test_every_command_tells_the_version_of_the_package(parser: Parser, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parser.parse_args(["--version"])
    assert (left.value.code, capsys.readouterr().out) == (0, f"mt {mt.__version__}\n")


def test_null_takes_an_option_of_search_back():
    parser = Parser("What it does.")
    add_search_options(parser, ["threshold"])
    options = parser.parse_args(["--threshold", "null"])
    assert chosen_search(options, OnlineConfig(threshold=0.3)) == OnlineConfig()
