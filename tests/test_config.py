"""Plain data in, a frozen configuration or one sentence out."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from mt.common.options import Options, parse
from mt.config import Config
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from mt.evaluation.scoring import metrics_of
from mt.metrics import METRICS
from mt.metrics.base import Settings
from mt.models.attention import ATTENTIONS
from mt.models.attention.mocha import MoChAConfig
from mt.search.config import BeamConfig, revised_search

CHOICES = f"choices: {', '.join(sorted(Config.model_fields))}"


def sentence(plain: dict[str, Any]) -> str:
    with pytest.raises(UserError) as refusal:
        parse(plain, Config)
    return str(refusal.value)


def test_nothing_gives_the_defaults():
    assert parse({}, Config) == Config()


def test_what_was_dumped_is_parsed_again():
    config = parse(
        {"attention": {"name": "mocha", "chunk_size": 3}, "optimizer": {"name": "adam", "betas": [0.8, 0.9]}}, Config
    )
    assert isinstance(config.attention, MoChAConfig)
    assert config.optimizer.betas == (0.8, 0.9)
    assert parse(json.loads(json.dumps(config.model_dump(mode="json"))), Config) == config


def test_it_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        Config().seed = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({"sed": 1}, "unknown option sed: did you mean seed? choices: aligner_size, attention, coverage_weight, "),
        (
            {"training": {"epoch": 3}},
            "unknown option training.epoch: did you mean epochs? choices: average_checkpoints, ",
        ),
        (
            {"attention": {"name": "mocha", "chunk_siz": 3}},
            "unknown option attention.chunk_siz: did you mean chunk_size? choices: chunk_size, energy, energy_bias, ",
        ),
        (
            {"attention": {"name": "general", "chunk_size": 3}},
            "unknown option attention.chunk_size here: it is an option of attention.name=mocha; choose that, ",
        ),
        (
            {"attention": {"name": "mocha", "energy": {"name": "concat", "attention_di": 3}}},
            "unknown option attention.energy.attention_di: did you mean attention_dim? choices: attention_dim, name",
        ),
        (
            {"optimizer": {"name": "sgd", "schedule": {"name": "plateau", "factr": 0.1}}},
            "unknown option optimizer.schedule.factr: did you mean factor? choices: factor, name, patience",
        ),
        (
            {"dataset": {"generator": "phrasebook", "hub": {"ids": "x"}}},
            "unknown option dataset.hub.ids: did you mean id? choices: config, id, revision, splits",
        ),
        (
            {"dataset": {"generator": "phrasebook", "tokenizer": {"model_typ": "bpe"}}},
            "unknown option dataset.tokenizer.model_typ: did you mean model_type? choices: ",
        ),
    ],
)
def test_an_unknown_option_is_named_with_its_neighbours(plain: dict[str, Any], expected: str):
    assert sentence(plain).startswith(expected)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        (
            {"attention": {"name": "mocah"}},
            f"attention.name=mocah is an invalid choice: did you mean mocha? choices: {', '.join(sorted(ATTENTIONS))}",
        ),
        (
            {"attention": {"name": "monotonic", "energy": {"name": "genral"}}},
            "attention.energy.name=genral is an invalid choice: did you mean general? "
            "choices: concat, dot, general, location",
        ),
        (
            {"attention": {"name": "none", "context": "lst"}},
            "attention.context=lst is an invalid choice: did you mean last? choices: last, zeros",
        ),
        (
            {"decoder": {"name": "bahdenau"}},
            "decoder.name=bahdenau is an invalid choice: did you mean bahdanau? choices: bahdanau, gnmt, luong, ssru",
        ),
        ({"decoder": {"hidden_size": 8}}, "decoder does not say which kind: add decoder.name"),
        ({"precision": "fp17"}, "precision=fp17 is an invalid choice: did you mean fp16? choices: bf16, fp16, fp32"),
    ],
)
def test_an_unknown_choice_is_named_with_the_others(plain: dict[str, Any], expected: str):
    assert sentence(plain) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"metrics": ["bleu", "chr"]}, "dataset.metrics=chr is an invalid choice: did you mean chrf?"),
        ({"metrics": []}, "dataset.metrics is empty: name at least one of bleu, chrf, "),
        ({"bleu_tokenizer": "13b"}, "dataset.bleu_tokenizer=13b is an invalid choice: did you mean 13a?"),
    ],
)
def test_metrics_are_those_of_the_table(options: dict[str, Any], expected: str):
    assert sentence({"dataset": {"generator": "phrasebook", **options}}).startswith(expected)


def test_metrics_are_set_up_for_the_target_language():
    dataset = {"source": "en", "target": "zh", "folder": "x", "metrics": [*METRICS]}
    metrics = metrics_of(parse({"dataset": dataset}, Config).dataset)
    assert [metric.name for metric in metrics] == [*METRICS]
    assert metrics[0].settings == Settings(target_language="zh")
    assert "|tok:zh|" in metrics[0].score(["a"], [["a"]])["bleu"].signature


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({"training": {"epochs": "3"}}, 'training.epochs="3" is not possible: input should be a valid integer'),
        ({"training": {"epochs": 2.5}}, "training.epochs=2.5 is not possible: input should be a valid integer"),
        ({"training": {"epochs": True}}, "training.epochs=true is not possible: input should be a valid integer"),
        ({"training": {"epochs": 0}}, "training.epochs=0 is not possible: input should be greater than 0"),
        (
            {"attention": {"name": "mocha", "chunk_size": 0}},
            "attention.chunk_size=0 is not possible: input should be greater than 0",
        ),
        (
            {"optimizer": {"name": "adam", "lr": None}},
            "optimizer.lr=null is not possible: input should be a valid number",
        ),
        (
            {"optimizer": {"name": "adam", "lr": float("nan")}},
            "optimizer.lr=NaN is not possible: input should be ",
        ),
        ({"training": 3}, "training=3 is not possible: input should be an object"),
        (
            {"attention": {"chunk_size": 3}},
            "attention does not say which kind: add attention.name",
        ),
        ({"device": "gpu"}, 'device="gpu" is not possible: string should match pattern '),
        ({"optimizer": {"name": "adam", "betas": [0.9]}}, "optimizer.betas.1 is missing: give it a value"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_is_wanted(plain: dict[str, Any], expected: str):
    assert sentence(plain).startswith(expected)


def test_refusals_of_several_options_together_come_through():
    assert sentence({"search": {"name": "beam", "n_best": 9}}).startswith("search.n_best=9 ")


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

    with pytest.raises(UserError, match=r"^folder is missing: give it a value$"):
        parse({}, Needy)


def test_the_place_that_it_comes_from_is_named():
    with pytest.raises(UserError, match=r"^run/config\.json: unknown option sede: did you mean seed\?"):
        parse({"sede": 1}, Config, "run/config.json")


def test_a_part_can_be_parsed_alone():
    assert parse({"generator": "phrasebook"}, DatasetConfig) == DatasetConfig(generator="phrasebook")
    with pytest.raises(UserError, match=r"^dataset: unknown option cleaning\.ratio: did you mean max_ratio\?"):
        parse({"generator": "phrasebook", "cleaning": {"ratio": 2.0}}, DatasetConfig, "dataset")


def test_a_revision_is_as_valid_as_what_was_read():
    search = BeamConfig(beam_size=4)
    assert revised_search(search, {"n_best": 3}) == BeamConfig(beam_size=4, n_best=3)
    with pytest.raises(UserError, match="n_best=5 asks for more"):
        revised_search(search, {"n_best": 5})
