"""Every option with values that nobody wants: each is taken, or refused in one sentence; nothing else happens."""

from collections.abc import Iterator
from typing import Any

import pytest
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mt.cli.composition import parse_overrides
from mt.common.options import parse
from mt.config import Config
from mt.errors import UserError
from tests.marks import exhaustive

from .conftest import Call

ODD = ["", "''", "null", "true", "x", ".", "..", "/", "../../x", "~", "'a b'", "'\t'", "'\n'", "é", "\udc80", "???"]
ODD += ["a:b", "%s", "0", "-1", "0.5", "-0.0", "1e-400", "1e999", "inf", "-inf", "nan", "0x10", "1_000", "1e3", "١"]
ODD += [str(10**30), "9" * 5000, "[]", "[1,2]", "[[]]", "[null]", "{}", "{a:1}", "{1:2}", "{null:1}", "x" * 10_000]
ODD += ["[" * 40 + "]" * 40, "${seed}", "${", "${nothing}", "${oc.env:NOTHING}", "${now:%Y}"]
ODD += ["$x", "@x", "#x", "true,false", "1:2:3"]
# Choices that between them have every class of options, and the parts to try in each.
BASES: list[tuple[list[str], tuple[str, ...]]] = [
    (["attention=mocha", "attention/energy=concat", "encoder=gru", "decoder=luong", "search=beam"], ("",)),
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
            values += [(value, override.value()) for override in parse_overrides([f"x={value}"])]
        except (HydraException, ValueError, RecursionError):
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
        try:
            resolved = OmegaConf.to_container(OmegaConf.create({"seed": 1, path[0]: value}), resolve=True)
        except OmegaConfBaseException as error:
            raise UserError("") from error
        assert isinstance(resolved, dict)
        value = resolved[path[0]]
    return plain | {path[0]: value}


def read(plain: dict[str, Any]) -> None:
    parse({key: value for key, value in plain.items() if key not in ("folder", "resume", "corpora")}, Config)
