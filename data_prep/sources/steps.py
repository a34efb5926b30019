"""Steps between reading and cleaning. Each takes a source, and returns it with some of its splits changed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from data_prep.sources.base import RawSplit, Read, Source, from_list, reading
from mt.data.corpus import Example
from mt.data.words import first_words


def without_test(source: Source) -> Source:
    """Returns a source with an empty test split."""
    empty = from_list(tuple, source.splits["dev"].sides)
    return replace(source, splits={**source.splits, "test": empty})


def spread(source: Source) -> Source:
    """Returns a source with each reference of a training example as a further pair, one after another."""
    train = source.splits["train"]

    def examples() -> Iterator[Example]:
        for example in train.read():
            yield example._replace(more_references=())
            further = example._replace(links="", more_references=())
            yield from (further._replace(target=text) for text in example.more_references)

    wide = replace(train, read=reading(examples), size=lambda: sum(1 for _ in examples()))
    return replace(source, splits={**source.splits, "train": wide})


def mix(source: Source, others: Sequence[Source]) -> Source:
    """Returns a source with the training pairs of other sources after those of the first; dev and test are the
    first's."""
    sources = [source, *others]
    trains = tuple(one.splits["train"] for one in sources)

    def read(rows: Iterable[range] | None = None) -> Iterator[Example]:
        runs = None if rows is None else list(rows)
        start = 0
        for train in trains:
            if runs is None:
                yield from train.read()
                continue
            end = start + train.size()
            inside = (range(max(run.start, start) - start, min(run.stop, end) - start) for run in runs)
            yield from train.read([run for run in inside if run])
            start = end

    return Source(
        splits={
            **source.splits,
            "train": replace(trains[0], read=read, size=lambda: sum(one.size() for one in trains)),
        },
        identity=lambda: json.dumps([one.identity() for one in sources]),
        notes=lambda: [note for one in sources for note in one.notes()],
        mixed=trains,
    )


def shorten(source: Source, source_limit: int | None, target_limit: int | None) -> Source:
    """Returns a source with only the first words of its sources, and of its targets in train: references stay whole.

    See et al. 2017, section 4: 400 words of an article, 100 of its summary.
    """

    def shortened(split: RawSplit, limit: int | None) -> RawSplit:
        return replace(split, read=_first_words(split.read, source_limit, limit))

    splits = {
        name: shortened(split, target_limit if name == "train" else None) for name, split in source.splits.items()
    }
    return replace(source, splits=splits)


def _first_words(whole: Read, source_limit: int | None, target_limit: int | None) -> Read:
    def read(rows: Iterable[range] | None = None) -> Iterator[Example]:
        for example in whole(rows):
            source = first_words(example.source, source_limit)
            target = first_words(example.target, target_limit)
            unchanged = (source, target) == (example.source, example.target)
            # Links could point beyond what stays.
            yield example if unchanged else Example(source, target, more_references=example.more_references)

    return read
