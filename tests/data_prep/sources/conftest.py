import pytest

from data_prep.sources import open_source
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig

PAIRS = {
    # What a reader of tables that guesses would take for something else than text.
    "train": [("a house", "ein Haus"), ("null", "NA"), ("3.10", "TRUE")],
    "dev": [("a cat", "eine Katze")],
    "test": [("a bird", "ein Vogel")],
}


@pytest.fixture
def pairs() -> dict[str, list[tuple[str, str]]]:
    return PAIRS


@pytest.fixture
def read():
    """All examples of a dataset."""

    def everything(config: DatasetConfig) -> dict[str, list[tuple[str, str]]]:
        source = open_source(config)
        result = {split: list(source.splits[split].read()) for split in SPLITS}
        assert all(isinstance(example, Example) and example.links == "" for rows in result.values() for example in rows)
        return {split: [(example.source, example.target) for example in rows] for split, rows in result.items()}

    return everything
