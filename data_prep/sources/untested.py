"""A corpus without a test split."""

from collections.abc import Collection, Iterable, Iterator

from data_prep.sources.base import Source
from mt.data.corpus import Example


class Untested(Source):
    """Another source, with a test split that is empty."""

    def __init__(self, whole: Source) -> None:
        self._whole = whole

    def identity(self) -> str:
        return self._whole.identity()

    def size(self, split: str) -> int:
        return 0 if split == "test" else self._whole.size(split)

    def examples(self, split: str) -> Iterator[Example]:
        return iter(()) if split == "test" else self._whole.examples(split)

    def examples_at(self, split: str, rows: Iterable[range]) -> Iterator[Example]:
        return iter(()) if split == "test" else self._whole.examples_at(split, rows)

    def columns(self, split: str) -> Collection[str]:
        return () if split == "test" else self._whole.columns(split)

    def places(self, split: str) -> tuple[str, str]:
        return self._whole.places("dev" if split == "test" else split)

    def notes(self) -> list[str]:
        return self._whole.notes()
