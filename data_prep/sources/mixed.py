"""Several corpora as one to train on."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

from data_prep.sources.base import Source
from mt.data.corpus import Example


class Mixed(Source):
    """A source, with the training pairs of others after its own; dev and test are its own."""

    def __init__(self, first: Source, others: Sequence[Source]) -> None:
        self._first = first
        self._all = [first, *others]

    def identity(self) -> str:
        return json.dumps([source.identity() for source in self._all])

    def size(self, split: str) -> int:
        return sum(self.portions()) if split == "train" else self._first.size(split)

    def portions(self) -> list[int]:
        return [source.size("train") for source in self._all]

    def examples(self, split: str) -> Iterator[Example]:
        for source in self._all if split == "train" else [self._first]:
            yield from source.examples(split)

    def examples_at(self, split: str, rows: Iterable[range]) -> Iterator[Example]:
        if split != "train":
            yield from self._first.examples_at(split, rows)
            return
        runs, start = list(rows), 0
        for source, size in zip(self._all, self.portions(), strict=True):
            inside = [range(max(run.start, start) - start, min(run.stop, start + size) - start) for run in runs]
            yield from source.examples_at(split, [run for run in inside if run])
            start += size

    def columns(self, split: str) -> Collection[str]:
        return self._first.columns(split)

    def places(self, split: str) -> tuple[str, str]:
        return self._first.places(split)

    def notes(self) -> list[str]:
        return [note for source in self._all for note in source.notes()]
