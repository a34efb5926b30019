"""Plain data in, a frozen configuration or one sentence out."""

import json
import math
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from mt.cli.composition import CONF
from mt.common.options import Options, parse
from mt.config import Config
from mt.data.dataset import DatasetConfig
from mt.data.fields import FIELDS
from mt.models.attention import ATTENTIONS
from mt.models.attention.energy import ENERGIES, build_energy
from mt.models.attention.local import LocalMConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends import FRONTENDS
from tests.refusals.sentences import refusal_of, require_refusal

NAMES = f"choices: {', '.join(sorted(ATTENTIONS))}"
ENERGY = "choices: concat, dot, general, location"
MONOTONIC = {"name": "monotonic"}
NONE = {"name": "none"}
CHOICES = f"choices: {', '.join(sorted(Config.model_fields))}"


def sentence(plain: dict[str, Any]) -> str:
    return refusal_of(lambda: parse(plain, Config))


def test_what_was_dumped_is_parsed_again():
    optimizer = {"name": "adam", "betas": [0.8, 0.9]}
    config = parse({"attention": {"name": "mocha", "chunk_size": 3}, "optimizer": optimizer}, Config)
    assert isinstance(config.attention, MoChAConfig)
    assert config.optimizer.betas == (0.8, 0.9)
    assert parse(json.loads(json.dumps(config.model_dump(mode="json"))), Config) == config


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({"sed": 1}, "unknown option sed: did you mean seed? choices: aligner_size, attention, coverage_weight, "),
        ({"attention": {"name": "dot", "chunk_size": 3}}, "unknown option attention.chunk_size here: it is an option"),
        ({"attention": MONOTONIC | {"energy": {"name": "dot", "at": 3}}}, "unknown option attention.energy.at: "),
        ({"dataset": {"generator": "phrasebook", "hub": {"ids": "x"}}}, "unknown option dataset.hub.ids: did you mean"),
    ],
)
def test_an_unknown_option_is_named_with_its_neighbours(plain: dict[str, Any], expected: str):
    assert sentence(plain).startswith(expected)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({"attention": {"name": "mocah"}}, f"attention.name=mocah is an invalid choice: did you mean mocha? {NAMES}"),
        (
            {"attention": MONOTONIC | {"energy": {"name": "d"}}},
            f"attention.energy.name=d is an invalid choice: {ENERGY}",
        ),
        ({"attention": NONE | {"context": "x"}}, "attention.context=x is an invalid choice: choices: last, zeros"),
        ({"decoder": {"hidden_size": 8}}, "decoder does not say which kind: add decoder.name"),
        ({"precision": "fp17"}, "precision=fp17 is an invalid choice: did you mean fp16? choices: bf16, fp16, fp32"),
    ],
)
def test_an_unknown_choice_is_named_with_the_others(plain: dict[str, Any], expected: str):
    assert sentence(plain) == expected


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({"training": {"epochs": "3"}}, 'training.epochs="3" is not possible: input should be a valid integer'),
        ({"training": {"epochs": 0}}, "training.epochs=0 is not possible: input should be greater than 0"),
        ({"optimizer": {"name": "adam", "lr": float("nan")}}, "optimizer.lr=NaN is not possible: input should be "),
        ({"training": 3}, "training=3 is not possible: input should be an object"),
        ({"device": "gpu"}, 'device="gpu" is not possible: string should match pattern '),
        ({"optimizer": {"name": "adam", "betas": [0.9]}}, "optimizer.betas.1 is missing: give it a value"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_is_wanted(plain: dict[str, Any], expected: str):
    assert sentence(plain).startswith(expected)


def test_text_of_a_user_makes_no_second_line():
    assert sentence({"precision": "a\nb"}).startswith(r"precision=a\nb is an invalid choice: ")
    assert sentence({"seed\n": 1}) == rf"unknown option seed\n: did you mean seed? {CHOICES}"
    assert len(sentence({"seed": [1] * 1000})) < 200


def test_what_is_no_text_at_all_is_refused():
    assert sentence({"device": "\udc80"}) == (
        "an option holds bytes that are not UTF-8: give names in UTF-8, and set PYTHONUTF8=1 in other locales"
    )
    assert sentence({"device": b"cpu"}).startswith("the options cannot be read (Object of type bytes is not JSON ")
    assert sentence({"seed": 10**5000}).startswith("the options cannot be read (Exceeds the limit ")
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    assert sentence({"seed": nested}).startswith("the options cannot be read (recursion limit exceeded")


def test_a_value_without_which_nothing_goes_is_asked_for():
    class Needy(Options):
        folder: str

    require_refusal(lambda: parse({}, Needy), r"^folder is missing: give it a value$")


def test_the_place_that_it_comes_from_is_named():
    sentence = r"^run/config\.json: unknown option sede: did you mean seed\?"
    require_refusal(lambda: parse({"sede": 1}, Config, "run/config.json"), sentence)


def test_a_part_can_be_parsed_alone():
    assert parse({"generator": "phrasebook"}, DatasetConfig) == DatasetConfig(generator="phrasebook")
    plain = {"generator": "phrasebook", "cleaning": {"ratio": 2.0}}
    sentence = r"^dataset: unknown option cleaning\.ratio: did you mean max_ratio\?"
    require_refusal(lambda: parse(plain, DatasetConfig, "dataset"), sentence)


# Every number of every configuration class has bounds: a stranger's file cannot ask for all memory, or for ever.


def classes(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A configuration class and all that can stand in it."""
    yield kind
    for option in kind.model_fields.values():
        for leaf in leaves(option.annotation):
            if isinstance(leaf, type) and issubclass(leaf, BaseModel):
                yield from classes(leaf)


def leaves(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of."""
    if get_origin(annotation) is Literal:
        return
    parts = get_args(annotation)
    yield from (leaf for part in parts for leaf in leaves(part)) if parts else [annotation]


def numbers() -> list[Any]:
    """Each option that is a number, or has some in it, by its class and name."""
    options = {(kind, name, option) for kind in classes(Config) for name, option in kind.model_fields.items()}
    result = {(kind, name) for kind, name, option in options if {int, float} & set(leaves(option.annotation))}
    return sorted(result, key=lambda option: (option[0].__name__, option[1]))


HUGE = {int: (2**63, -(2**63), 10**30, -(10**30)), float: (1e30, -1e30, math.inf, -math.inf, math.nan)}


@pytest.mark.parametrize(("kind", "name"), numbers(), ids=lambda value: getattr(value, "__name__", value))
def test_every_number_has_bounds(kind: type[BaseModel], name: str):
    option = kind.model_fields[name]
    types = {int, float} & set(leaves(option.annotation))
    for value in (value for number in types for value in HUGE[number]):
        given = [value, *option.default[1:]] if isinstance(option.default, tuple) else value
        with pytest.raises(ValidationError) as refusal:
            kind.model_validate_json(json.dumps({name: given}))
        assert name in {error["loc"][0] for error in refusal.value.errors()}, given


def test_the_numbers_are_found():
    result = {f"{kind.__name__}.{name}" for kind, name in numbers()}
    assert result > {"Config.seed", "AdamConfig.betas", "DecayConfig.floor", "ConcatConfig.attention_dim"}


# The tables of components: their keys are the names that their options have.


@pytest.mark.parametrize("table", [ATTENTIONS, ENCODERS, DECODERS, FRONTENDS, FIELDS])
def test_a_table_is_keyed_by_the_names_of_its_configurations(table: dict[str, Any]):
    assert [kind.Config().name for kind in table.values()] == list(table)


def test_energies_are_keyed_by_the_names_of_their_configurations():
    configs = [LocalMConfig.model_validate({"energy": {"name": name}}).energy for name in ENERGIES]
    assert [type(build_energy(config, 4, 4)) for config in configs] == list(ENERGIES.values())
    assert sorted(ENERGIES) == sorted(path.stem for path in (CONF / "attention/energy").glob("*.yaml"))
