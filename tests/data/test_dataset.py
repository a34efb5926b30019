import json

import pytest

from mt.data.dataset import DatasetConfig
from tests.refusals.sentences import require_refusal


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "set dataset.folder=DIR"),
        ({"generator": "phrasebook", "folder": "texts"}, "is generated and reads no folder, no hub and no references"),
        ({"generator": "phrasebook", "references": ["fr"]}, "is generated and reads no folder, no hub and no"),
        ({"folder": "texts", "source": "en"}, "has dataset.source='en' and dataset.target=''"),
        ({"folder": "x", "source": "a", "target": "b", "weight": 3}, "weight=3 counts beside .* none: leave it out"),
        ({"folder": "texts", "source": "en", "target": "en"}, "needs two different languages"),
        (
            {"folder": "x", "source": "a", "target": "b", "references": ["c", "b", "c"]},
            "has b, c, which is read already",
        ),
    ],
)
def test_contradictions_are_refused(settings: dict, sentence: str) -> None:
    require_refusal(lambda: DatasetConfig.model_validate_json(json.dumps(settings)), sentence)


def test_further_references_are_read_where_a_split_is_scored() -> None:
    config = DatasetConfig(folder="texts", source="a", target="b", references=("c",), test_size=5)
    assert config.cut == {"test": 5}
    # Test comes out of train.
    assert config.columns("train") == config.columns("dev") == ("a", "b", "c")
    whole = config.model_copy(update={"test_size": None})
    assert (whole.cut, whole.columns("train")) == ({}, ("a", "b"))
