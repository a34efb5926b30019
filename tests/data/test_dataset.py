import json

import pytest

from mt.data.dataset import DatasetConfig
from mt.errors import UserError


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
        (
            {"folder": "texts", "source": "a", "target": "b", "weight": 3},
            "dataset.weight=3 counts beside the corpora of dataset.mix, and files mixes none: leave it out, or set",
        ),
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


def test_further_references_are_read_where_a_split_is_scored() -> None:
    config = DatasetConfig(folder="texts", source="a", target="b", references=("c",), test_size=5)
    assert config.cut == {"test": 5}
    # Test comes out of train.
    assert config.columns("train") == config.columns("dev") == ("a", "b", "c")
    whole = config.model_copy(update={"test_size": None})
    assert (whole.cut, whole.columns("train")) == ({}, ("a", "b"))
