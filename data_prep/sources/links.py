"""Word links of training pairs from a file in Pharaoh format, with a line for each pair.

`link` adds links to sources. `_linked` reads the training pairs of one source together with its lines of the file.
"""

import functools
import itertools
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from data_prep.sources.base import RawSplit, Source
from mt.common.input_files import sha256
from mt.common.links import Link, join_first_word, links_of, require_inside
from mt.data.corpus import Example
from mt.data.dataset import EFLOMAL, LINK_UNITS, DatasetConfig
from mt.data.tokenizer import LinkUnit, units
from mt.errors import UserError
from mt.text_io import file_lines

_RULE = 2
"""The version of the rule that parts words, for the fingerprint. Until 0.3.0, any white space parted words."""


def link(sources: Sequence[Source], config: DatasetConfig) -> list[Source]:
    """Adds the links of the file `config.links` to the training pairs. Its first lines belong to the first source, the
    next to the second, and so on.

    Where preparation itself makes the links, only the identity of the first source changes.
    """
    first_source = sources[0]
    if config.links == EFLOMAL:
        linked_by_eflomal = replace(first_source, identity=lambda: json.dumps([first_source.identity(), EFLOMAL, ""]))
        return [linked_by_eflomal, *sources[1:]]
    path = Path(config.links or "")
    if not path.is_file():
        raise UserError(
            f"training.guided_alignment={path} is no file: give one in Pharaoh format with a line for each training "
            f"pair, or {EFLOMAL}, which makes the links"
        )
    # The pairs of all sources get their lines; the file itself belongs to the identity of the first source.
    texts = [source.splits["train"] for source in sources]
    linked = []
    for number, source in enumerate(sources):
        read = functools.partial(_linked, path, texts, number, config.link_unit or "spaced")
        linked.append(replace(source, splits={**source.splits, "train": replace(texts[number], read=read)}))

    def notes() -> list[str]:
        joined = join_first_word(map(links_of, file_lines(path)))
        told = f"no link in {path} joins word 0, the first one: take 1 from all numbers if its words count from 1"
        return [*first_source.notes(), *([] if joined else [told])]

    linked[0] = replace(
        linked[0],
        identity=lambda: json.dumps([first_source.identity(), config.link_words, _RULE, sha256(path)]),
        files=lambda: [*first_source.files(), path],
        notes=notes,
    )
    return linked


def _linked(path: Path, texts: Sequence[RawSplit], number: int, unit: LinkUnit) -> Iterator[Example]:
    """Yields the pairs of one of several texts with their links, which follow one another in one file.

    Raises UserError where the file has more or fewer lines than there are pairs.
    """
    # The lines of earlier texts are passed over.
    start = sum(1 for earlier in texts[:number] for _ in earlier.read())
    lines = itertools.islice(enumerate(file_lines(path), start=1), start, None)
    # Each pair has a line.
    for count, example in enumerate(texts[number].read(), start=1):
        place, line = next(lines, (0, ""))
        if not place:
            raise UserError(
                f"{path} ends before pair {count:,} of train, and must have a line for each, maybe empty: check that "
                "its links belong to this text"
            )
        _require_links(f"{path}, line {place}", line, example, unit)
        yield example._replace(links=line)
    # Each line has a pair.
    if number == len(texts) - 1 and (further := next(lines, None)):
        raise UserError(
            f"{path}, line {further[0]:,}: there is no training pair for it, since train has {further[0] - 1:,}: check "
            "that its links belong to this text"
        )


def _require_links(where: str, line: str, example: Example, unit: LinkUnit) -> None:
    """Raises UserError where a line is not in Pharaoh format, or links words beyond the end of a text."""
    links = links_of(line, where)
    lengths = [len(units(text, unit)) for text in (example.source, example.target)]
    require_inside(links, lengths, where, advice=lambda: _remedy(links.possible, example))


def _remedy(links: Collection[Link], example: Example) -> str:
    """Names the values of `link_words` with which the texts have all linked words."""
    fitting = []
    for name, unit in LINK_UNITS.items():
        counts = [len(units(text, unit)) for text in (example.source, example.target)]
        if all(place < count for link in links for place, count in zip(link, counts, strict=True)):
            fitting.append(name)
    has = f"dataset.link_words={' or '.join(fitting)} has" if fitting else "no dataset.link_words has"
    return f", and how their aligner parts words: {has} as many"
