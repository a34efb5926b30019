"""What the four sets have in common: they are functions of seed and sizes, the same everywhere and for ever."""

import hashlib
from types import ModuleType

import pytest

from data_prep.generated import bulletin, morse, phrasebook, scenes
from tests.marks import exhaustive

SETS = [bulletin, morse, phrasebook, scenes]
SMALL = {"train": 60, "dev": 10, "test": 10}


def digest(data: ModuleType, *arguments: object) -> str:
    """Says what a set holds, in 16 digits."""
    splits = data.generate(*arguments)
    rows = [(split, *example[:3], *example[3]) for split, examples in splits.items() for example in examples]
    return hashlib.sha256("\n".join(map("\t".join, rows)).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (scenes, "47f290a3a242b663"),
        *exhaustive((bulletin, "71c93d6f67a676ab"), (morse, "dcd37778eb1ea698"), (phrasebook, "0f12677f751a1596")),
    ],
)
def test_the_default_set_is_what_the_figures_of_record_are_of(data: ModuleType, expected: str) -> None:
    assert digest(data) == expected


@pytest.mark.parametrize("data", SETS)
def test_a_set_is_a_function_of_seed_and_sizes(data: ModuleType) -> None:
    assert list(data.SIZES) == ["train", "dev", "test"]
    drawn = data.generate(2, {"train": 50, "test": 10})
    assert {split: len(examples) for split, examples in drawn.items()} == {"train": 50, "test": 10}
    assert digest(data, 2, SMALL) == digest(data, 2, SMALL) != digest(data, 3, SMALL)


@pytest.mark.parametrize("data", SETS)
def test_nothing_of_one_split_occurs_in_another(data: ModuleType) -> None:
    splits = data.generate(3, {"train": 2_000, "dev": 200, "test": 200})
    sources = [{example.target if data is morse else example.source for example in split} for split in splits.values()]
    assert sum(map(len, sources)) == len(set().union(*sources))
    if data is not morse:  # whose short texts come again in train
        assert sum(map(len, sources)) == 2_400
