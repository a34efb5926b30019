"""How well tags are placed by the links of a model that reads a reference, beside the reference's own tags."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from mt import markup
from mt.data.placeholders import Kept, Placeholders
from mt.decoding.documents import kept_placeholders, linked
from mt.decoding.translator import Translator
from mt.markup import html
from mt.markup.segments import Segment
from mt.markup.words import Linked
from mt.metrics.base import Score

_SAFE = Kept().found
Places = dict[tuple[str, int, str], int]
"""For each tag, by its text, how often that came before, and its kind, the characters before it."""


def markup_scores(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], *, shift: bool = False
) -> dict[str, Score]:
    """Returns shares in percent, by name, of texts in HTML.

    tags, placeholders: the share that links place at the gap of the reference, which the model reads without its tags.
    An opening tag and a closing one are two. tags_by_length, placeholders_by_length: likewise, placed in proportion to
    length. complete: the translations of the sources that have each tag and placeholder as often as the source, and
    close tags in order. Placeholders are of the syntaxes of the run.

    Pairs count whose sides have the same tags and placeholders, and as many sentences. shift: whether links are of the
    step that has read a word; see `Translator.align`.
    """
    found = kept_placeholders(translator).found
    pairs = [*zip(sources, targets, strict=True)]
    alike = [pair for pair in pairs if _alike(translator, *pair)]
    read = [_read(translator, source) for source, _ in alike]
    segments = [*_segments(read)]
    texts = [segment.text for segment in segments]
    references = [segment.text for segment in _segments(_read(translator, target) for _, target in alike)]
    # The links by which tags are put into the references, by each of the ways.
    links = {
        "": _by_links(translator, texts, references, shift=shift),
        "_by_length": [proportional(*pair) for pair in zip(texts, references, strict=True)],
    }
    # The tags that stand where those of the references do.
    signature = f"format:html|pairs:{len(alike)}/{len(pairs)}|shift:{'yes' if shift else 'no'}"
    scores = {}
    for name, of_texts in links.items():
        waiting = iter(of_texts)
        written = [_written(document, waiting) for document in read]
        for kind, is_kind in KINDS.items():
            share, count = _share(written, [target for _, target in alike], is_kind, found)
            scores[kind + name] = Score(share, f"{signature}|{kind}:{count}")
    # The tags of translations.
    whole = [document.text for document in translator.translate(sources, format="html")]
    count = sum(is_complete(*pair, found) for pair in zip(sources, whole, strict=True))
    complete = 100 * count / max(len(sources), 1)
    scores["complete"] = Score(complete, f"format:html|texts:{len(sources)}")
    return scores


def _by_links(translator: Translator, texts: Sequence[str], references: Sequence[str], *, shift: bool) -> list[Linked]:
    aligned = translator.align(texts, references, shift=shift)
    return [linked(translator, *pair) for pair in zip(aligned, texts, strict=True)]


KINDS: dict[str, Callable[[str], bool]] = {
    "tags": lambda kind: kind != "placeholder",
    "placeholders": lambda kind: kind == "placeholder",
}


def _read(translator: Translator, text: str) -> list[str | Segment]:
    return markup.read(text, "html", kept_placeholders(translator))


def is_complete(source: str, translation: str, found: Placeholders = _SAFE) -> bool:
    """Returns whether a translation has each tag and placeholder of its source, closed in order, and words in each
    element that held some. Only elements that may be written several times may stand there more often."""
    wanted = places(source, found).keys()
    written = places(translation, found).keys()
    several = {event.raw for event in html.events(source) if event.splits}
    whole = wanted <= written and {raw for raw, _, _ in written - wanted} <= several
    return whole and filled(source) <= filled(translation)


def filled(document: str) -> Counter[str]:
    """Returns how many elements of each opening tag hold a letter or digit."""
    counts = Counter[str]()
    opened: list[tuple[str, str, int]] = []
    length = 0
    for event in html.events(document):
        if event.kind == "text":
            length += sum(character.text.isalnum() for character in html.with_characters([event]))
        elif event.kind == "start":
            opened.append((event.name, event.raw, length))
        elif event.kind == "end" and opened and opened[-1][0] == event.name:
            _, raw, before = opened.pop()
            counts[raw] += length > before
    return counts


def _segments(documents: Iterable[Iterable[str | Segment]]) -> Iterator[Segment]:
    return (piece for document in documents for piece in document if isinstance(piece, Segment))


def _alike(translator: Translator, source: str, target: str) -> bool:
    counts = {len([*_segments([_read(translator, side)])]) for side in (source, target)}
    found = kept_placeholders(translator).found
    return len(counts) == 1 and places(source, found).keys() == places(target, found).keys()


def _written(document: Sequence[str | Segment], links: Iterator[Linked]) -> str:
    return markup.write(document, [next(links) for _ in _segments([document])])


def proportional(source: str, target: str) -> Linked:
    """Returns a target whose characters are linked to those of the source in proportion to length."""
    count = max(len(target), 1)
    return Linked(target, [(place * len(source) // count, place) for place in range(len(target))])


def _share(
    written: Iterable[str], targets: Iterable[str], is_kind: Callable[[str], bool], found: Placeholders
) -> tuple[float, int]:
    """Returns the share of tags of a kind that stand where those of the references do, and how many there are."""
    right = []
    for result, target in zip(written, targets, strict=True):
        own = places(result, found)
        right += [own.get(key) == place for key, place in places(target, found).items() if is_kind(key[2])]
    return 100 * sum(right) / max(len(right), 1), len(right)


def places(document: str, found_placeholders: Placeholders = _SAFE) -> Places:
    """Returns where the tags and placeholders of a text in HTML stand, by the characters before them, blanks and
    placeholders apart. A tag that is closed out of order is of the kind `crossed`."""
    found: Places = {}
    seen = Counter[str]()
    opened: list[tuple[str, tuple[str, int]]] = []
    length = 0
    for event in html.events(document):
        if event.kind == "text":
            text = "".join(character.text for character in html.with_characters([event]))
            end = 0
            for begin, new_end in found_placeholders.spans(text):
                length += len("".join(text[end:begin].split()))
                placeholder = text[begin:new_end]
                found[placeholder, seen[placeholder], "placeholder"] = length
                seen[placeholder] += 1
                end = new_end
            length += len("".join(text[end:].split()))
        # An end takes the name of its start, which may be there several times.
        elif event.kind == "end":
            crossed = not opened or opened[-1][0] != event.name
            key = (event.raw, seen[event.raw]) if crossed else opened.pop()[1]
            seen[event.raw] += crossed
            found[*key, "crossed" if crossed else "end"] = length
        else:
            found[event.raw, seen[event.raw], event.kind] = length
            if event.kind == "start":
                opened.append((event.name, (event.raw, seen[event.raw])))
            seen[event.raw] += 1
    return found
