"""How well tags are placed by the links of a model that reads a reference, beside the reference's own tags."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from mt import markup
from mt.data.placeholders import SAFE, Placeholders, placeholders_of
from mt.decoding.documents import Sentence, TagPlacement, kept_placeholders, linked, placed, sentences, with_learnt_tags
from mt.decoding.translator import Translator
from mt.markup import html
from mt.markup.segments import Segment
from mt.markup.words import Linked
from mt.metrics.base import Score
from mt.search.config import BeamConfig, is_online
from mt.search.spelling import TagsInText
from mt.search.steering import TokenConstraints

_BEAM = 16
"""Hypotheses of where tags may stand in a reference."""

_SAFE = placeholders_of(SAFE)
Places = dict[tuple[str, int, str], int]
"""For each tag, by its text, how often that came before, and its kind, the characters before it."""


def markup_scores(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], *, shift: bool = False
) -> dict[str, Score]:
    """Returns shares in percent, by name, of texts in HTML.

    tags, placeholders: the share that links place at the gap of the reference, which the model reads without its tags.
    An opening tag and a closing one are two. tags_by_length, placeholders_by_length: likewise, placed in proportion to
    length. complete: the translations of the sources that have each tag and placeholder as often as the source, and
    close tags in order.

    A run that has learnt tags has more scores. `tags_learnt` and `placeholders_learnt`: likewise, put where the model
    is surest of them while it writes the reference. `complete_learnt`: as complete. `tags_written`: the tags of the
    sources that the model itself writes, well-formed, so that links need not put them.

    Pairs count whose sides have the same tags and placeholders, and as many sentences. shift: whether links are of the
    step that has read a word; see `Translator.align`.
    """
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
    learns = translator.config.training.learnt_tags > 0 and not is_online(translator.config.search)
    if learns:
        links["_learnt"] = forced_tags(translator, segments, references)
    # The tags that stand where those of the references do.
    signature = f"format:html|pairs:{len(alike)}/{len(pairs)}|shift:{'yes' if shift else 'no'}"
    scores = {}
    for name, of_texts in links.items():
        waiting = iter(of_texts)
        written = [_written(document, waiting) for document in read]
        for kind, is_kind in KINDS.items():
            share, count = _share(written, [target for _, target in alike], is_kind)
            scores[kind + name] = Score(share, f"{signature}|{kind}:{count}")
    # The tags of translations.
    placements: dict[str, TagPlacement] = {"complete": "links", **({"complete_learnt": "learnt"} if learns else {})}
    for name, tags in placements.items():
        whole = [document.text for document in translator.translate(sources, format="html", tags=tags)]
        complete = 100 * sum(map(is_complete, sources, whole)) / max(len(sources), 1)
        scores[name] = Score(complete, f"format:html|texts:{len(sources)}")
    if learns:
        scores["tags_written"] = _written_tags(translator, sources)
    return scores


def _by_links(translator: Translator, texts: Sequence[str], references: Sequence[str], *, shift: bool) -> list[Linked]:
    unit = translator.link_unit
    translator.link_unit = "char"
    aligned = translator.align(texts, references, shift=shift)
    translator.link_unit = unit
    return [linked(*pair) for pair in zip(aligned, texts, strict=True)]


def forced_tags(translator: Translator, segments: Sequence[Segment], references: Sequence[str]) -> list[Linked]:
    """Returns references with the tags of their sources, where the model is surest of them.

    A beam writes each reference, and between its tokens the tags, nested as those of the source.
    """
    marked = [
        Sentence(segment.text, {n: (tag.begin, tag.end) for n, tag in enumerate(segment.tags)}) for segment in segments
    ]
    source = translator.tokenizers.source.tags
    symbols = translator.tokenizers.target.tags.tolist()
    asked = []
    # Each reference is a prefix that must be written; a tag names the one around it, or -1 for none.
    targets = translator.target_ids(references, [segment.text for segment in segments])
    for segment, sentence, ids in zip(segments, marked, targets, strict=True):
        numbers = [*sentence.tags][: len(source)]
        tags = []
        for number, tag in zip(symbols, numbers, strict=False):
            pair = segment.tags[tag].kind == "pair"
            parent = segment.tags[tag].parent
            tags.append((number[:2] if pair else number[2:], numbers.index(parent) if parent in numbers else -1))
        text = TagsInText(ids, tags)
        asked.append(TokenConstraints("the reference", translator.constraint_encoder.spelling, prefix=text))
    longest = max((constraints.fewest for constraints in asked), default=1)
    search = BeamConfig(beam_size=_BEAM, length_penalty=0, max_length=max(longest, 2))
    translations = with_learnt_tags(translator, marked, search, asked)
    return [placed(translator, *pair) for pair in zip(translations, marked, strict=True)]


def _written_tags(translator: Translator, sources: Sequence[str]) -> Score:
    """Returns the share of the tags of sources that the model writes itself, once, and closed after its opening."""
    segments = _segments(_read(translator, source) for source in sources)
    language = translator.config.dataset.source
    marked = [sentence for segment in segments for sentence in sentences(segment, language)]
    translations = with_learnt_tags(translator, marked)
    written = sum(len(placed(translator, *pair).tags) for pair in zip(translations, marked, strict=True))
    count = sum(len(sentence.tags) for sentence in marked)
    return Score(100 * written / max(count, 1), f"format:html|tags:{count}")


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
    return len(counts) == 1 and places(source).keys() == places(target).keys()


def _written(document: Sequence[str | Segment], links: Iterator[Linked]) -> str:
    return markup.write(document, [next(links) for _ in _segments([document])])


def proportional(source: str, target: str) -> Linked:
    """Returns a target whose characters are linked to those of the source in proportion to length."""
    count = max(len(target), 1)
    return Linked(target, [(place * len(source) // count, place) for place in range(len(target))])


def _share(written: Iterable[str], targets: Iterable[str], is_kind: Callable[[str], bool]) -> tuple[float, int]:
    """Returns the share of tags of a kind that stand where those of the references do, and how many there are."""
    right = []
    for result, target in zip(written, targets, strict=True):
        found = places(result)
        right += [found.get(key) == place for key, place in places(target).items() if is_kind(key[2])]
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
