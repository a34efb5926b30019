"""What a person should look at in training text: where pairs stand in their files, and how many look wrong."""

import contextlib
import itertools
import unicodedata
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from data_prep.encode import SHOWN
from data_prep.ingest import RawShard
from data_prep.sources import Source
from data_prep.sources.base import hash_of_pair

Texts = tuple[str, str]
"""Source and target, cut after `SHOWN` characters."""
_VARIANCE = 6.8
"""Of the length of a translation, for each character of its source (Gale & Church 1993, section 3.1)."""
_FAR = 5.0
"""Standard deviations."""
_CODES = ("cp1252", "latin-1")
"""What UTF-8 is taken for where it becomes mojibake."""
_LEADS = frozenset("ÃÂÄÅÎÏÐÑâ")
"""What the first bytes of European letters and punctuation marks become then."""


def shown_texts(source: str, target: str) -> Texts:
    return source[:SHOWN], target[:SHOWN]


def places(source: Source, wanted: Collection[Texts]) -> dict[Texts, str]:
    """Returns where the first pair with each of these texts stands in the files of train; only of text in files."""
    left = {*wanted}
    found: dict[Texts, str] = {}
    records = itertools.chain.from_iterable(split.records() for split in source.training)
    while left and (record := next(records, None)):
        origin, example = record
        texts = shown_texts(example.source, example.target)
        if texts in left:
            left.remove(texts)
            found[texts] = origin
    return found


def hints(raw_shards: Sequence[RawShard], source: Source, *, duplicates: bool) -> Iterator[str]:
    """Yields one line that counts pairs of text to look at, with the place of the first of each kind; none where there
    are none.

    duplicates: whether they are to be counted, since cleaning keeps them.
    """
    counts: dict[str, int] = {}
    first: dict[str, Texts] = {}

    def count(kind: str, pairs: Sequence[Texts], chosen: np.ndarray) -> None:
        if chosen.any():
            counts[kind] = counts.get(kind, 0) + int(chosen.sum())
            first.setdefault(kind, shown_texts(*pairs[int(chosen.argmax())]))

    ratio = _length_ratio(raw_shards)
    keys = []
    for raw in raw_shards:
        pairs = _pairs(raw)
        count("with a tab", pairs, np.array(["\t" in one or "\t" in other for one, other in pairs]))
        count("with mojibake", pairs, np.array([is_mojibake(one) or is_mojibake(other) for one, other in pairs]))
        count("whose lengths do not fit", pairs, _far(pairs, ratio))
        if duplicates:
            keys.append(np.array([int.from_bytes(hash_of_pair(*pair), "little") for pair in pairs], np.uint64))
    # The first of equal pairs is none.
    repeated = sum(map(len, keys)) - len(np.unique(np.concatenate(keys))) if keys else 0
    told = [f"{repeated:,} duplicates (drop_duplicates)"] * bool(repeated)
    found = places(source, first.values())
    for kind, number in counts.items():
        place = found.get(first[kind])
        told.append(f"{number:,} {kind}{f' (the first: {place})' if place else ''}")
    if told:
        yield f"hints: of the training pairs {', '.join(told)}"


def is_mojibake(text: str) -> bool:
    """Returns whether a word of a text is UTF-8 that was read as another encoding (`Ã¼ber` for `über`). So are texts
    with U+FFFD, which stands for bytes that could not be read."""
    if text.isascii():
        return False
    return "\ufffd" in text or any(_is_twice_encoded(word) for word in text.split() if not _LEADS.isdisjoint(word))


def _is_twice_encoded(word: str) -> bool:
    for code in _CODES:
        with contextlib.suppress(UnicodeError):
            # What is no letter then, as a control character, was none before.
            return all(unicodedata.category(character) != "Cc" for character in word.encode(code).decode())
    return False


def _pairs(raw: RawShard) -> list[Texts]:
    table = raw.read()
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def _length_ratio(raw_shards: Sequence[RawShard]) -> float:
    """Returns the characters of targets for each of sources."""
    lengths = [(len(source), len(target)) for raw in raw_shards for source, target in _pairs(raw)]
    sources, targets = np.array(lengths).sum(axis=0)
    return float(targets / max(sources, 1))


def _far(pairs: Sequence[Texts], ratio: float) -> np.ndarray:
    """Returns which targets are much longer or shorter than their sources let expect (Gale & Church 1993)."""
    sources, targets = np.array([(len(source), len(target)) for source, target in pairs], np.float64).T
    mean = (sources + targets / max(ratio, 1e-9)) / 2
    return np.abs(ratio * sources - targets) > _FAR * np.sqrt(_VARIANCE * np.maximum(mean, 1))
