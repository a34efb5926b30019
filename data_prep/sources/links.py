"""Word links of training pairs that stand in a file beside them, in Pharaoh format."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from data_prep.sources.base import RawSplit, Read, Source
from mt.common.input_files import sha256
from mt.data.corpus import Example
from mt.data.dataset import EFLOMAL, DatasetConfig
from mt.data.links import links_of
from mt.data.tokenizer import LinkUnit, units
from mt.errors import UserError
from mt.text_io import file_lines


def link(sources: Sequence[Source], config: DatasetConfig) -> list[Source]:
    """Returns sources whose training pairs have the links of `config.links`: its lines are for the pairs of the first
    source, then for those of the second. Where preparation makes the links, only the identity of the first is another.
    """
    made = config.links == EFLOMAL
    path = Path(config.links or "")
    if not made and not path.is_file():
        raise UserError(
            f"training.guided_alignment={path} is no file: give one in Pharaoh format with a line for each training "
            f"pair, or {EFLOMAL}, which makes the links"
        )
    trains = [source.splits["train"] for source in sources]

    def linked(number: int, source: Source) -> Source:
        read = trains[number].read if made else _linked(path, trains, number, config.link_unit or "spaced")
        split = replace(trains[number], read=read)
        if number:
            return replace(source, splits={**source.splits, "train": split})
        kind = EFLOMAL if made else config.link_words
        return replace(
            source,
            splits={**source.splits, "train": split},
            identity=lambda: json.dumps([source.identity(), kind, "" if made else sha256(path)]),
            files=lambda: [*source.files(), *([] if made else [path])],
        )

    return [linked(number, source) for number, source in enumerate(sources)]


def _linked(path: Path, trains: Sequence[RawSplit], number: int, unit: LinkUnit) -> Read:
    """Returns what reads the training pairs of a source with their links. trains: those of all sources, whose links are
    in the file one after another."""

    def read() -> Iterator[Example]:
        lines = enumerate(file_lines(path), start=1)
        before = itertools.chain.from_iterable(train.read() for train in trains[:number])
        for _, _ in zip(before, lines, strict=False):
            pass
        last = 0
        for last, example in enumerate(trains[number].read(), start=1):
            place, line = next(lines, (0, ""))
            if not place:
                raise UserError(
                    f"{path} ends before pair {last:,} of train, and must have a line for each, also an empty one: "
                    "check that its links belong to this text"
                )
            yield example._replace(links=_checked(f"{path}, line {place}", line, example, unit))
        if number == len(trains) - 1 and (rest := next(lines, None)):
            raise UserError(
                f"{path}, line {rest[0]:,}: there is no training pair for it, since train has {rest[0] - 1:,}: check "
                "that its links belong to this text"
            )

    return read


def _checked(where: str, line: str, example: Example, unit: LinkUnit) -> str:
    """Returns a line. Raises UserError where it is not in Pharaoh format, or links words that the pair has not."""
    try:
        links = links_of(line)
    except ValueError as error:
        raise UserError(
            f"{where}: {error.args[0]!r} is not a link: write i-j, where i is a source and j a target word, both "
            "counted from 0"
        ) from None
    counts = len(units(example.source, unit)), len(units(example.target, unit))
    for i, j in links:
        if i >= counts[0] or j >= counts[1]:
            other = "marks if punctuation marks are words" if unit == "spaced" else "blanks if words are between blanks"
            raise UserError(
                f"{where}: the link {i}-{j} joins a word that is not there, since the pair has {counts[0]} source and "
                f"{counts[1]} target words, which count from 0: check that the links belong to this text, and set "
                f"dataset.link_words={other} for them"
            )
    return line
