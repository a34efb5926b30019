"""`--help` is made of the comments of conf/."""

from pathlib import Path

import pytest

from mt.cli.choices import CONF, choices, compose as composed_of, groups
from mt.cli.manual import comments, manual

from .conftest import Call


def page(name: str, *typed: str, whole: bool = False) -> str:
    return manual(name, composed_of(name, typed, [CONF]), typed, [CONF], whole=whole)


def test_it_says_what_the_command_does_and_the_options_of_the_parts_that_are_named(call: Call, capfd):
    assert call("attention=mocha", "training.epochs=4", "--help") == []
    output = capfd.readouterr().out
    assert output.startswith("Prepare text, train an encoder-decoder with attention on it, ")
    for example in ("mt train attention=mocha dataset=multi30k ", "-m attention=dot,general,mocha seed=1,2 "):
        assert example in output
    assert "\n  attention.chunk_size=4" in output and "\n  training.epochs=4 " in output
    assert "encoder.hidden_size" not in output


def test_it_lists_every_choice_with_the_head_of_its_file():
    text = page("config", whole=True)
    for group in groups([CONF]):
        assert f"\n  {group}\n" in text or group == "attention/energy"  # which attention=general has not
    for choice in choices("attention", [CONF]):
        assert f" {choice} " in text
    assert "  * general " in text
    assert "\n    mocha                     MoChA (Chiu & Raffel 2018): soft attention " in text


def test_it_lists_every_option_with_its_value_and_comment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = page("config", "attention=mocha", "attention.chunk_size=7", "optimizer=sgd", whole=True)
    notes = comments(CONF / "attention" / "mocha.yaml")
    for option, note in (
        ("attention.chunk_size=7", notes["chunk_size"]),
        ("attention.noise_std=2", notes["noise_std"]),  # which goes on below
        ("optimizer.schedule.factor=0.5", "by which it is multiplied in each period"),
        ("training.epochs=3", "passes over the training split, at the most"),
        ("dataset.cleaning.max_ratio=9", ""),
        ("precision=fp32", "fp32; or bf16: "),
        ("resume=null", "a run folder: "),
    ):
        assert f"\n  {option:<42}{note[:60]}" in text
    assert max(map(len, text.splitlines())) <= 121


@pytest.mark.parametrize("name", ["config", "data_prep"])
def test_it_begins_with_two_screens(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = page(name)
    assert len(text.splitlines()) <= 90
    assert "\n  dataset=phrasebook          audio, bulletin, " in text
    assert "dataset.cleaning.max_ratio" not in text
    assert text.endswith("\n--help all: every choice in a line, and the options of all parts")


def test_comments_are_found_by_the_path_of_their_option(tmp_path: Path):
    file = tmp_path / "x.yaml"
    file.write_text(
        '# head\na: 1  # one\nb:  # two\n  c: "#"  # three # and more\n               # goes on\n'
        "  d: 4\n# five\ne: 5\nf: 6\n"
    )
    assert comments(file) == {
        "a": "one",
        "b": "two",
        "b.c": "three # and more goes on",
        "b.d": "",
        "e": "five",
        "f": "",
    }
