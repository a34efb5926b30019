"""How well tags are placed by the links of a model that reads a reference, beside the reference's own tags."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mt import markup
from mt.data.placeholders import PLACEHOLDER
from mt.decoding.documents import linked
from mt.decoding.translator import Translator
from mt.markup.placing import Linked
from mt.markup.segments import Segment

Places = dict[tuple[str, int, str], int]
"""For each tag, by its text, how often that came before, and which of a pair it is, the characters before it."""


@dataclass(frozen=True)
class Placed:
    """Shares of tags and placeholders, in percent, that stand at the gap of the reference."""

    tags: float
    placeholders: float
    counted: tuple[int, int]
    """Tags (an opening and a closing one are two), and placeholders."""


def placed(translator: Translator, sources: Sequence[str], targets: Sequence[str], format: str) -> dict[str, Placed]:
    """Returns how well tags are placed by links, and in proportion to length, the baseline.

    Pairs count whose sides have the same tags and placeholders, and as many sentences. The model reads the reference
    without its tags, and placeholders that it has no symbols for are placed as tags are.
    """
    translator.link_unit = "char"
    symbols = min(side.placeholders for side in translator.tokenizers)
    pairs = []
    texts: list[str] = []
    references: list[str] = []
    for source, target in zip(sources, targets, strict=True):
        read = markup.read(source, format, symbols)
        sides = [_sentences(read), _sentences(markup.read(target, format, symbols))]
        if places(source, format).keys() == places(target, format).keys() and len(sides[0]) == len(sides[1]):
            pairs.append((target, read, len(sides[0])))
            texts += sides[0]
            references += sides[1]
    aligned = translator.align(texts, references)
    by_links = [linked(one, text) for one, text in zip(aligned, texts, strict=True)]
    in_proportion = [proportional(*pair) for pair in zip(texts, references, strict=True)]
    results = {}
    for name, links in (("links", by_links), ("length", in_proportion)):
        waiting = iter(links)
        written = [
            (target, markup.write(read, [next(waiting) for _ in range(count)], format)) for target, read, count in pairs
        ]
        results[name] = _shares(written, format)
    return results


def _sentences(read: Sequence[str | Segment]) -> list[str]:
    return [part.text for part in read if isinstance(part, Segment)]


def proportional(source: str, target: str) -> Linked:
    """Returns a target whose characters are linked to those of the source in proportion to length."""
    count = max(len(target), 1)
    return Linked(target, [(place * len(source) // count, place) for place in range(len(target))])


def _shares(written: Sequence[tuple[str, str]], format: str) -> Placed:
    right = Counter[bool]()
    total = Counter[bool]()
    for target, result in written:
        gold = places(target, format)
        found = places(result, format)
        for key, place in gold.items():
            total[key[2] == "placeholder"] += 1
            right[key[2] == "placeholder"] += found.get(key) == place
    shares = [100 * right[kind] / max(total[kind], 1) for kind in (False, True)]
    return Placed(shares[0], shares[1], (total[False], total[True]))


def places(text: str, format: str) -> Places:
    """Returns where the tags and placeholders of a text stand, by the characters before them, blanks and placeholders
    apart."""
    found: Places = {}
    seen = Counter[str]()
    opened: dict[str, list[tuple[str, int]]] = {}
    length = 0
    chosen = markup.require_format(format)
    for event in chosen.events(text):
        if event.kind == "text":
            end = 0
            for match in PLACEHOLDER.finditer(event.raw):
                length += len("".join(event.raw[end : match.start()].split()))
                found[match[0], seen[match[0]], "placeholder"] = length
                seen[match[0]] += 1
                end = match.end()
            length += len("".join(event.raw[end:].split()))
            continue
        key = (event.raw, seen[event.raw])
        if event.kind == "end" and opened.get(event.name):
            key = opened[event.name].pop()
        else:
            seen[event.raw] += 1
        if event.kind == "start":
            opened.setdefault(event.name, []).append(key)
        found[*key, event.kind] = length
    return found
