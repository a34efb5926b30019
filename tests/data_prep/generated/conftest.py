import pytest

from mt.data.corpus import Example


@pytest.fixture(scope="module")
def examples(splits: dict[str, list[Example]]) -> list[Example]:
    """All examples of the splits that a module of tests generates."""
    return [example for split in splits.values() for example in split]
