"""Translation of marked-up documents: sentences are decoded like other texts, and links between words place the tags.

`translate_documents` cuts a document into sentences, translates them, and joins their texts and links (`linked`,
`joined`). By these links `mt.markup` places the tags.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from mt import markup
from mt.common.terminal import say
from mt.data.fields import Raw, require_texts
from mt.data.placeholders import Kept, placeholders_of
from mt.decoding.confidence import Unsure
from mt.decoding.request import LexicalConstraints, Request, names_of
from mt.decoding.translation import Translation, in_units, links_between_pieces
from mt.errors import UserError, shown
from mt.markup import attributes
from mt.markup.segments import Segment
from mt.markup.sentences import gap_between, sentences as cut
from mt.markup.words import Linked, Span
from mt.search.config import SearchConfig

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


_NOTED: "WeakSet[Translator]" = WeakSet()
"""The models that have been noted to have no symbols for placeholders."""


@dataclass(frozen=True)
class Document:
    """A translated document, or a line, with its tags."""

    text: str
    sentences: tuple[Translation, ...]
    """The translations of its sentences, without tags, in order, and then of its attributes."""


def translate_documents(
    translator: "Translator",
    documents: Sequence[Raw],
    format: str,
    search: SearchConfig | None,
    requests: Sequence[Request] | None = None,
    *,
    names: Sequence[str] | None = None,
    placeholders: Sequence[str] | None = None,
    unsure: Unsure | None = None,
    progress: bool = False,
) -> list[Document]:
    """Returns the translation of each text of a format; see `Translator.translate`.

    requests: what is asked of the translation of each. names: what to call the texts in errors. placeholders: the
    syntaxes of placeholders that are kept whole; None: as in training. unsure: what becomes of words that are probably
    wrong; a sentence that is left out stays as it is.
    """
    markup.require_format(format)
    if not translator.field.written:
        raise UserError(f"format={format} is of text, and this model reads {translator.config.dataset.field.name}")
    require_texts(documents)
    # What a format and a model make of placeholders holds for all documents.
    kept = kept_placeholders(translator, placeholders)
    if names is None:
        names = names_of(documents)
    texts = [str(text) for text in documents]
    of_attributes: list[tuple[Translation, ...]] = [() for _ in texts]
    if format == "html":
        # Attributes first: a tag that a sentence holds is written with them.
        languages = (translator.config.dataset.source, translator.config.dataset.target)
        found = [attributes.read(text, kept, languages) for text in texts]
        anywhere = None if requests is None else [_anywhere(request) for request in requests]
        translated = _translated(translator, found, search, anywhere, unsure)
        texts = [one.text for one in translated]
        of_attributes = [one.sentences for one in translated]
    read = [markup.read(text, format, kept, name) for text, name in zip(texts, names, strict=True)]
    _note_placeholders(translator, read, kept)
    translated = _translated(translator, read, search, requests, unsure, progress=progress)
    pairs = zip(translated, of_attributes, strict=True)
    return [replace(one, sentences=(*one.sentences, *others)) for one, others in pairs]


def _translated(
    translator: "Translator",
    read: Sequence[Sequence[str | Segment]],
    search: SearchConfig | None,
    requests: Sequence[Request] | None,
    unsure: Unsure | None,
    *,
    progress: bool = False,
) -> list[Document]:
    """Returns the translations of documents. read: the parts of each, as `mt.markup.read` returns them."""
    # Each sentence of a block is translated on its own, and the block has the links of all.
    language = translator.config.dataset.source
    blocks = [[sentences(part, language) for part in parts if isinstance(part, Segment)] for parts in read]
    plain = [sentence.text for of_document in blocks for of_block in of_document for sentence in of_block]
    if requests is not None:
        requests = _of_sentences(requests, [sum(map(len, of_document)) for of_document in blocks])
    found: list[list[Translation]] = []
    if plain:
        rows = translator.encoded(plain)
        found = translator.decode(rows, search, texts=plain, requests=requests, progress=progress)
    waiting = iter(found)
    results = []
    for parts, of_document in zip(read, blocks, strict=True):
        # Each block takes the translations of its sentences.
        pairs = [[(next(waiting)[0], sentence) for sentence in of_block] for of_block in of_document]
        links = [joined([(_linked(translator, *pair, unsure), pair[1]) for pair in of_block]) for of_block in pairs]
        translations = tuple(translation for of_block in pairs for translation, _ in of_block)
        results.append(Document(markup.write(parts, links), translations))
    return results


def _note_placeholders(translator: "Translator", read: Sequence[Sequence[str | Segment]], kept: Kept) -> None:
    """Notes, once for a model, that it has no symbols for placeholders, where documents have some."""
    if kept.symbols or translator in _NOTED:
        return
    tags = (tag for parts in read for part in parts if isinstance(part, Segment) for tag in part.tags)
    words = (tag.opening for tag in tags if tag.kind == "word")
    example = next((raw for raw in words if kept.found.spans(raw) == [(0, len(raw))]), None)
    if example is not None:
        _NOTED.add(translator)
        say(
            f"note: this model has no symbols for placeholders, such as {shown(example)}: it does not see them, and "
            "word links say where they go (a run with dataset.tokenizer.placeholders=16 has some)",
            sys.stderr,
        )


def kept_placeholders(translator: "Translator", syntaxes: Sequence[str] | None = None) -> Kept:
    """Returns the placeholders of documents that are kept whole. syntaxes: by names; None: as in training."""
    symbols = min(side.placeholders for side in translator.tokenizers)
    names = tuple(syntaxes or translator.config.dataset.tokenizer.placeholder_syntaxes)
    return Kept(placeholders_of(names), symbols)


def _anywhere(request: Request) -> Request:
    """Returns the part of a request that holds for every sentence of a document: phrases to avoid, and terms."""
    return request._replace(lexical=LexicalConstraints(avoid=request.lexical.avoid))


def _of_sentences(requests: Sequence[Request], counts: Sequence[int]) -> list[Request]:
    """Returns the requests for the sentences of documents. The prefix of a document is asked of its first sentence.

    counts: how many sentences each document has. Raises UserError for phrases that must appear in a document of several
    sentences.
    """
    of_sentences: list[Request] = []
    for request, count in zip(requests, counts, strict=True):
        if request.lexical.constraints and count != 1:
            raise UserError(
                f"{request.name} has {count} sentences, and constraints are asked of one: give each sentence as a text"
            )
        if request.lexical.prefix and not count:
            raise UserError(f"{request.name} has no sentence that could begin with its prefix: leave the prefix out")
        of_sentences += [request if not place else _anywhere(request) for place in range(count)]
    return of_sentences


class Sentence(NamedTuple):
    """A sentence of a block, without its tags."""

    text: str
    gap: str = ""
    """The white space between it and the next one."""


def sentences(block: Segment, language: str | None) -> list[Sentence]:
    """Returns the sentences of a block. language: of the text."""
    whole = cut(block.text, language) or [""]
    texts = [part.rstrip() for part in whole]
    return [Sentence(text, part[len(text) :]) for part, text in zip(whole, texts, strict=True)]


def joined(sentences: Sequence[tuple[Linked, Sentence]]) -> Linked:
    """Joins the translations of the sentences of a block, with their links."""
    text = ""
    links: list[Span] = []
    unsure: list[Span] = []
    read = 0
    gap = ""
    for translation, sentence in sentences:
        text += gap if translation.text else ""
        links += [(i + read, j + len(text)) for i, j in translation.links]
        unsure += [(begin + len(text), end + len(text)) for begin, end in translation.unsure]
        text += translation.text
        read += len(sentence.text) + len(sentence.gap)
        if translation.text:
            gap = gap_between(sentence.text, sentence.gap, translation.text)
    return Linked(text, links, unsure)


def _linked(translator: "Translator", translation: Translation, sentence: Sentence, unsure: Unsure | None) -> Linked:
    """Returns the translation of a sentence with the marks of words that are probably wrong, or the sentence itself
    where it is left out."""
    if unsure is None:
        return linked(translator, translation, sentence.text)
    # A sentence that is left out keeps its source, each character linked to itself.
    if unsure.leaves_out(translation):
        return Linked(sentence.text, [(place, place) for place in _visible_characters(sentence.text)])
    spans = unsure.spans(translator, translation)
    return linked(translator, translation, sentence.text)._replace(unsure=spans)


def linked(translator: "Translator", translation: Translation, source: str) -> Linked:
    """Returns a translation with links between characters: of each piece with the piece that it attended to most."""
    translation = in_units(translator, translation, source, "char")
    if not translation.tokens:
        return Linked(translation.text, ())
    # Links of pieces become links of the characters in them.
    read, written = map(_visible_characters, (source, translation.text))
    firsts = _first_characters(translation, len(written))
    links = []
    for position, step in links_between_pieces(translation.windows):
        origin = translation.units.source[position]
        if origin is not None and translation.units.target[step] is not None:
            # A piece reaches to where the next one begins.
            links += [(read[origin], place) for place in written[firsts[step] : firsts[step + 1]]]
    return Linked(translation.text, links)


def _visible_characters(text: str) -> list[int]:
    """Returns the places of the visible characters."""
    return [place for place, character in enumerate(text) if not character.isspace()]


def _first_characters(translation: Translation, count: int) -> list[int]:
    """Returns the first character of each token, or of the next token where it has none, and at last `count`. count:
    of the visible characters."""
    firsts = [count]
    for unit in reversed(translation.units.target):
        firsts.append(firsts[-1] if unit is None else unit)
    return firsts[::-1]
