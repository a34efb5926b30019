import json

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from pydantic import BaseModel, ValidationError

from mt.cli import CONF
from mt.data.dataset import DatasetConfig
from mt.errors import UserError

_NAMES = sorted(path.stem for path in (CONF / "dataset").glob("*.yaml"))


def _keys(config: BaseModel) -> dict:
    return {
        name: _keys(value) if isinstance(value, BaseModel) else None
        for name, value in ((name, getattr(config, name)) for name in type(config).model_fields)
    }


def _yaml_keys(plain: dict) -> dict:
    return {name: _yaml_keys(value) if isinstance(value, dict) else None for name, value in plain.items()}


@pytest.mark.parametrize("name", _NAMES)
def test_every_yaml_has_every_option(name: str) -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        plain = OmegaConf.to_container(compose("data_prep", [f"dataset={name}"])["dataset"])
    assert isinstance(plain, dict)
    needed = {"folder": "somewhere", "source": "en", "target": "de"} if name == "files" else {}
    config = DatasetConfig.model_validate_json(json.dumps(plain | needed))
    assert config.name == name
    assert _yaml_keys(plain) == _keys(config)


def test_the_known_datasets_are_there() -> None:
    translation = {"multi30k", "wmt14", "wmt16_roen", "iwslt14_deen", "iwslt15_envi", "iwslt2017", "opus_books"}
    assert {*_NAMES} >= translation | {"gigaword", "cnn_dailymail", "xsum", "samsum", "phrasebook", "files"}


def test_columns_may_be_numbers() -> None:
    config = DatasetConfig.model_validate_json('{"folder": "texts", "source": 1, "target": 2, "references": [4, 3]}')
    assert config.columns("train") == ("1", "2")
    assert config.columns("dev") == config.columns("test") == ("1", "2", "4", "3")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "set dataset.folder=DIR"),
        ({"generator": "phrasebook", "folder": "texts"}, "is generated and reads no folder, no hub and no references"),
        (
            {"generator": "phrasebook", "references": ["fr"]},
            "is generated and reads no folder, no hub and no references",
        ),
        ({"folder": "texts", "source": "en"}, "has dataset.source='en' and dataset.target=''"),
        ({"folder": "texts", "source": "en", "target": "en"}, "needs two different languages"),
        (
            {"folder": "texts", "source": "a", "target": "b", "references": ["c", "b", "d", "c"]},
            r"dataset\.references of files has b, c, which is read already: give further references alone, each once",
        ),
    ],
)
def test_contradictions_are_refused(settings: dict, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        DatasetConfig.model_validate_json(json.dumps(settings))


@pytest.mark.parametrize(
    "settings",
    [{"folder": "x", "source": "a", "target": "b", "nam": "n"}, {"name": "../up", "generator": "phrasebook"}],
)
def test_unknown_options_and_names_that_are_paths_are_refused(settings: dict) -> None:
    with pytest.raises(ValidationError):
        DatasetConfig.model_validate_json(json.dumps(settings))


def test_only_generated_text_has_word_links() -> None:
    assert DatasetConfig(generator="phrasebook").word_links
    assert not DatasetConfig(folder="texts", source="en", target="de").word_links
