"""Every option with values that nobody wants: each is taken, or refused in one sentence; nothing else happens."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from omegaconf import OmegaConf

from mt.cli.choices import CONF, groups
from mt.cli.overrides import complaints_as_sentences, parse_overrides
from mt.common.options import parse
from mt.config import Config
from mt.errors import UserError
from tests.marks import chosen, exhaustive

from .conftest import Call

ODD = ["", "''", "null", "true", "x", ".", "..", "/", "../../x", "~", "'a b'", "'\t'", "'\n'", "é", "\udc80", "???"]
ODD += ["a:b", "%s", "0", "-1", "0.5", "-0.0", "1e-400", "1e999", "inf", "-inf", "nan", "0x10", "1_000", "1e3", "١"]
ODD += [str(10**30), "9" * 5000, "[]", "[1,2]", "[[]]", "[null]", "{}", "{a:1}", "{1:2}", "{null:1}", "x" * 10_000]
ODD += ["[" * 300 + "]" * 300, "[" * 2000 + "]" * 2000, "${seed}", "${", "${nothing}", "${oc.env:NOTHING}", "${now:%Y}"]
ODD += ["$x", "@x", "#x", "true,false", "1:2:3"]
# Choices that between them have every class of options, and the parts to try in each.
BASES: list[tuple[list[str], tuple[str, ...]]] = [
    (["attention=mocha", "attention/energy=concat", "encoder=conv", "decoder=luong", "search=beam"], ("",)),
    (
        ["attention=stochastic", "attention/energy=location", "encoder=none", "decoder=bahdanau", "search=online"],
        ("attention", "encoder", "decoder", "search"),
    ),
    (
        ["attention=local_p", "optimizer=sgd", "encoder=bigru", "dataset=multi30k"],
        ("attention", "encoder", "optimizer", "dataset.hub"),
    ),
    (["attention=none", "optimizer=adadelta", "optimizer/schedule=plateau"], ("attention", "optimizer")),
    (["optimizer=adagrad", "optimizer/schedule=inverse_sqrt", "search=greedy"], ("optimizer", "search")),
]


def options(plain: Any, prefix: str = "") -> Iterator[str]:
    """Every dotted key, of parts and of single options."""
    for key, value in plain.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from options(value, f"{prefix}{key}.")


@pytest.mark.parametrize(
    ("base", "parts", "turns"),
    [(*BASES[0], 4), *exhaustive(*((base, parts, 1) for base, parts in BASES))],
    ids=lambda value: value if isinstance(value, int) else value[0],
)
def test_every_option_takes_or_refuses_every_value(call: Call, base: list[str], parts: tuple[str, ...], turns: int):
    """turns: each option gets one value of so many, and the next option those after them."""
    ((plain, _),) = call(*base)
    values = []
    for value in ODD:
        try:
            values += [(value, override.value()) for override in parse_overrides([f"x={value}"], [CONF])]
        except UserError:
            continue
    count = 0
    own = {key: value for key, value in plain.items() if key not in ("folder", "resume", "corpora")}
    for number, option in enumerate(option for option in options(own) if option.startswith(parts)):
        for text, value in values[number % turns :: turns]:
            try:
                read(changed(plain, option.split("."), value))
            except UserError as refusal:
                assert len(str(refusal)) < 700, (option, text)
            count += 1
    assert count > 300


def changed(plain: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """What Hydra makes of `path=value`, for whole parts and single options alike, without its half a second."""
    if len(path) > 1:
        return plain | {path[0]: changed(plain[path[0]], path[1:], value)}
    if "${" in str(value) or isinstance(value, list):
        with complaints_as_sentences():
            resolved = OmegaConf.to_container(OmegaConf.create({"seed": 1, path[0]: value}), resolve=True)
        assert isinstance(resolved, dict)
        value = resolved[path[0]]
    return plain | {path[0]: value}


# Through Hydra, which takes its time: what the entry point takes for itself, and what OmegaConf complains about.
REFUSED = [
    *(f"folder={value}" for value in (".", "..", "/", "null", "{a:1}", "${nothing}")),
    "'folder=a\n'",
    "folder=a/..",
]
REFUSED += ["resume=true", "resume={a:1}", "seed=${seed}", "seed=" + "[" * 300 + "]" * 300]
TAKEN = ["folder='runs/é'", "folder=é", "folder=[a]", "resume=1", "resume=[a]", "resume=null"]


@pytest.mark.parametrize(("option", "status"), [*((each, 2) for each in REFUSED), *((each, 0) for each in TAKEN)])
def test_the_command_line_takes_or_refuses_them(
    call: Call, capfd: pytest.CaptureFixture[str], option: str, status: int
):
    assert with_one_sentence(lambda: call(option, body=read), capfd) == status


# The one choice of `online` is `true`, which is odd for all others.
GROUPS = [group for group in groups([CONF]) if group != "online"]


@pytest.mark.parametrize("group", chosen(GROUPS, "attention", "attention/energy", "dataset"))
def test_a_group_refuses_them(call: Call, capfd: pytest.CaptureFixture[str], group: str):
    for value in ODD:
        assert with_one_sentence(lambda value=value: call(f"{group}={value}", body=read), capfd) == 2


def read(plain: dict[str, Any]) -> None:
    parse({key: value for key, value in plain.items() if key not in ("folder", "resume", "corpora")}, Config)


def with_one_sentence(run: Callable[[], object], capfd: pytest.CaptureFixture[str]) -> int:
    """The status of a command; where it fails, it says so in one line."""
    try:
        run()
    except SystemExit as end:
        assert capfd.readouterr().err.count("\n") == 1
        assert isinstance(end.code, int)
        return end.code
    return 0
