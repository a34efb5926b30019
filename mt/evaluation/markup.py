"""How well tags are placed in translations: by the links of a model that reads a reference, against the reference's own
tags."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mt import markup
from mt.data.placeholders import SAFE, Placeholders, placeholders_of
from mt.decoding.documents import kept_placeholders, linked
from mt.decoding.translator import Translator
from mt.markup import html
from mt.markup.segments import Segment
from mt.markup.words import Linked
from mt.metrics.base import Score

_SAFE = placeholders_of(SAFE)
Places = dict[tuple[str, int, str], int]
"""The number of characters before each tag, by the tag's text, how often that text came before, and the tag's kind."""
KINDS = ("tags", "placeholders")


def markup_scores(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], *, shift: bool = False
) -> dict[str, Score]:
    """Scores texts in HTML; all scores are shares in percent.

    tags, placeholders: the share that links place where the reference has them; the model reads the reference without
    tags. Opening and closing tags count separately. tags_by_length, placeholders_by_length: the same for placing in
    proportion to length. complete: the share of translations that have each tag and placeholder as often as the source,
    and close tags in order. Placeholders are of the run's syntaxes.

    Only pairs count whose sides have the same tags and placeholders, and equally many sentences. shift: whether links
    are of the step that has read a word; see `Translator.align`.
    """
    # Pairs that can be compared.
    found = kept_placeholders(translator).found
    pairs = [*zip(sources, targets, strict=True)]
    alike = [pair for pair in pairs if _alike(translator, *pair)]
    read = [_read(translator, source) for source, _ in alike]
    segments = [*_segments(read)]
    texts = [segment.text for segment in segments]
    references = [segment.text for segment in _segments(_read(translator, target) for _, target in alike)]
    # Tags are put into the references by the model's links, and in proportion to length.
    aligned = translator.align(texts, references, shift=shift)
    links = {
        "": [linked(translator, *pair) for pair in zip(aligned, texts, strict=True)],
        "_by_length": [proportional(*pair) for pair in zip(texts, references, strict=True)],
    }
    # The share of tags at the places of the references.
    signature = f"format:html|pairs:{len(alike)}/{len(pairs)}|shift:{'yes' if shift else 'no'}"
    scores = {}
    for name, of_texts in links.items():
        waiting = iter(of_texts)
        written = [_written(document, waiting) for document in read]
        for kind in KINDS:
            share, count = _share(written, [target for _, target in alike], kind, found)
            scores[kind + name] = Score(share, f"{signature}|{kind}:{count}")
    # Translations that keep all tags.
    whole = [document.text for document in translator.translate(sources, format="html")]
    count = sum(is_complete(*pair, found) for pair in zip(sources, whole, strict=True))
    complete = 100 * count / max(len(sources), 1)
    scores["complete"] = Score(complete, f"format:html|texts:{len(sources)}")
    return scores


def _read(translator: Translator, text: str) -> list[str | Segment]:
    return markup.read(text, "html", kept_placeholders(translator))


def is_complete(source: str, translation: str, found: Placeholders = _SAFE) -> bool:
    """Returns whether a translation has each tag and placeholder of its source, closed in order, and words in each
    element that has words in the source. Only elements that may be split may occur more often."""
    # Tags that may be split may stand there more often, all others as often as in the source.
    wanted = places(source, found).keys()
    written = places(translation, found).keys()
    several = {event.raw for event in html.events(source) if event.splits}
    whole = wanted <= written and {raw for raw, _, _ in written - wanted} <= several
    return whole and filled(source) <= filled(translation)


def filled(document: str) -> Counter[str]:
    """Counts the elements that hold a letter or digit, by their opening tags."""
    # Each open element remembers how many letters came before it: it holds some if there are more when it closes.
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


def _share(written: Iterable[str], targets: Iterable[str], kind: str, found: Placeholders) -> tuple[float, int]:
    """Returns the percentage of tags that stand where the references have them, and how many there are. kind: of
    KINDS."""
    # A tag is right if as many characters stand before it as in the reference.
    right = []
    for result, target in zip(written, targets, strict=True):
        placed = places(result, found)
        wanted = places(target, found)
        counted = [key for key in wanted if (key[2] == "placeholder") == (kind == "placeholders")]
        right += [placed.get(key) == wanted[key] for key in counted]
    return 100 * sum(right) / max(len(right), 1), len(right)


def places(document: str, found_placeholders: Placeholders = _SAFE) -> Places:
    """Returns the places of the tags and placeholders of a text in HTML. A place is the number of characters before it,
    without blanks and placeholders. A tag that is closed out of order has the kind `crossed`."""
    found: Places = {}
    seen = Counter[str]()
    opened: list[tuple[str, tuple[str, int]]] = []
    length = 0
    for event in html.events(document):
        # Text, with the placeholders in it.
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
        # An end tag has the key of its start tag, which may occur several times.
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
