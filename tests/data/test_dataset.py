import json
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from mt.data.dataset import DatasetConfig
from mt.errors import UserError

_CONF = Path(__file__).parents[2] / "conf" / "dataset"
_FILES = sorted(_CONF.glob("*.yaml"))


def _keys(config: BaseModel) -> dict:
    return {
        name: _keys(value) if isinstance(value, BaseModel) else None
        for name, value in ((name, getattr(config, name)) for name in type(config).model_fields)
    }


def _yaml_keys(plain: dict) -> dict:
    return {name: _yaml_keys(value) if isinstance(value, dict) else None for name, value in plain.items()}


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_every_yaml_lists_every_option(path: Path) -> None:
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    needed = {"folder": "somewhere", "source": "en", "target": "de"} if path.stem == "files" else {}
    config = DatasetConfig.model_validate_json(json.dumps(plain | needed))
    assert config.name == path.stem
    assert _yaml_keys(plain) == _keys(config)


def test_the_known_datasets_are_there() -> None:
    assert {path.stem for path in _FILES} >= {"phrasebook", "multi30k", "files"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "set dataset.folder=DIR"),
        ({"generator": "phrasebook", "folder": "texts"}, "is generated and reads no folder and no hub"),
        ({"folder": "texts", "source": "en"}, "has dataset.source='en' and dataset.target=''"),
        ({"folder": "texts", "source": "en", "target": "en"}, "needs two different languages"),
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
