"""Hints of a dry run: how many training pairs look wrong in some way, and where the first of each kind stands."""

import contextlib
import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from data_prep.encode import DroppedPair, shown_pair
from data_prep.sources import Source
from data_prep.sources.base import Records, key_of
from data_prep.sources.entities import entities
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.text_io import is_quoted

_VARIANCE = 6.8
"""Variance of the length of a translation for each character of its source (Gale & Church 1993, section 3.1)."""
_FAR = 5.0
"""Standard deviations."""
_CODES = ("cp1252", "latin-1")
"""The encodings that UTF-8 is usually mistaken for."""
_LEADS = frozenset("ÃÂÄÅÎÏÐÑâ")
"""The characters that the first bytes of European letters and punctuation marks become then."""


def hints(source: Source, config: DatasetConfig) -> Iterator[str]:
    """Yields a line that counts the training pairs that look wrong, with the place of the first of each kind, and one
    on HTML entities. Yields nothing where all is well.

    Reads the text twice, since a pair's lengths are judged by the ratio of all lengths.
    """
    # Count the pairs of each kind of sign.
    ratio = _length_ratio(source, config.limit)
    counts = Counter[str]()
    first_places: dict[str, str] = {}
    entity_counts = Counter[str]()
    pairs_with_entities = 0
    seen: set[int] = set()
    for place, pair in _placed(source, config.limit):
        kinds = [*_signs(pair, ratio)]
        if not config.cleaning.drop_duplicates:
            key = key_of(pair.source, pair.target)
            kinds += ["repeated, which drop_duplicates leaves out"] * (key in seen)
            seen.add(key)
        counts.update(kinds)
        for kind in kinds:
            first_places.setdefault(kind, place)
        found = entities(pair.source) + entities(pair.target)
        entity_counts.update(found)
        pairs_with_entities += bool(found)
    if counts:
        listed = [f"{count:,} {kind} (the first: {first_places[kind]})" for kind, count in counts.items()]
        yield f"hints: of the training pairs {', '.join(listed)}"
    if pairs_with_entities and not config.unescape:
        usual = " ".join(name for name, _ in entity_counts.most_common(3))
        yield (
            f"note: {pairs_with_entities:,} training pairs hold HTML entities ({usual}), which metrics cut into "
            "pieces: dataset.unescape=true reads their characters, unless the text is to be HTML"
        )


def _signs(pair: Example, ratio: float) -> Iterator[str]:
    """Names what looks wrong in a pair. ratio: characters of all targets for each of all sources."""
    if "\t" in pair.source or "\t" in pair.target:
        yield "with a tab"
    if is_quoted(pair.source, (",",)) != is_quoted(pair.target, (",",)):
        yield "with one side in quotation marks"
    if is_mojibake(pair.source) or is_mojibake(pair.target):
        yield "with mojibake"
    if _is_far(len(pair.source), len(pair.target), ratio):
        yield "whose lengths do not fit"


def places(source: Source, limit: int | None, dropped: Iterable[DroppedPair]) -> dict[tuple[str, str], str]:
    """Returns where the first training pairs with these texts stand, by the texts as they are shown; without those that
    a step has changed.

    Reads the text once for all of them, up to the last one. limit: training pairs that are read.
    """
    found: dict[tuple[str, str], str] = {}
    left = {(one, other) for number, one, other in dropped if number}
    for place, example in _placed(source, limit):
        if not left:
            break
        texts = shown_pair(None, example.source, example.target)[1:]
        if texts in left:
            left.remove(texts)
            found[texts] = place
    return found


def is_mojibake(text: str) -> bool:
    """Returns whether a text has a word of UTF-8 that was read as another encoding (`Ã¼ber` for `über`), or U+FFFD,
    which stands for bytes that could not be read."""
    if text.isascii():
        return False
    return "\ufffd" in text or any(_is_twice_encoded(word) for word in text.split() if not _LEADS.isdisjoint(word))


def _is_twice_encoded(word: str) -> bool:
    for code in _CODES:
        with contextlib.suppress(UnicodeError):
            # Decoding may succeed by chance. Real text gives no control characters.
            return all(unicodedata.category(character) != "Cc" for character in word.encode(code).decode())
    return False


def _placed(source: Source, limit: int | None) -> Records:
    """Yields the training pairs with their places."""
    return itertools.islice(itertools.chain.from_iterable(split.records() for split in source.training), limit)


def _length_ratio(source: Source, limit: int | None) -> float:
    """Returns the ratio of all characters of targets to all of sources."""
    sources = targets = 0
    for _, pair in _placed(source, limit):
        sources += len(pair.source)
        targets += len(pair.target)
    return targets / max(sources, 1)


def _is_far(source: int, target: int, ratio: float) -> bool:
    """Returns whether a target is much longer or shorter than its source predicts (Gale & Church 1993).

    source, target: their characters.
    """
    mean = (source + target / max(ratio, 1e-9)) / 2
    return abs(ratio * source - target) > _FAR * (_VARIANCE * max(mean, 1)) ** 0.5
