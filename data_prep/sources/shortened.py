"""Long texts cut to what a model is to read."""

from collections.abc import Collection, Iterable, Iterator

from data_prep.sources.base import Source
from mt.data.corpus import Example
from mt.data.words import first_words


class Shortened(Source):
    """Another source, with its sources cut in all splits and its targets in train alone: references stay whole.

    See et al. 2017, section 4: 400 words of an article, 100 of its summary.
    """

    def __init__(self, whole: Source, source: int | None, target: int | None) -> None:
        self._whole = whole
        self._limits = source, target

    def identity(self) -> str:
        return self._whole.identity()

    def size(self, split: str) -> int:
        return self._whole.size(split)

    def examples(self, split: str) -> Iterator[Example]:
        return self._cut(split, self._whole.examples(split))

    def examples_at(self, split: str, rows: Iterable[range]) -> Iterator[Example]:
        return self._cut(split, self._whole.examples_at(split, rows))

    def portions(self) -> list[int]:
        return self._whole.portions()

    def columns(self, split: str) -> Collection[str]:
        return self._whole.columns(split)

    def places(self, split: str) -> tuple[str, str]:
        return self._whole.places(split)

    def notes(self) -> list[str]:
        return self._whole.notes()

    def _cut(self, split: str, examples: Iterable[Example]) -> Iterator[Example]:
        source_limit, target_limit = self._limits
        for example in examples:
            source = first_words(example.source, source_limit)
            target = first_words(example.target, target_limit if split == "train" else None)
            whole = (source, target) == (example.source, example.target)
            # Links could point beyond the cut.
            yield example if whole else Example(source, target, more_references=example.more_references)
