"""Translation of marked-up documents: sentences are decoded like other texts, and links between words place the tags.

`translate_documents` cuts a document into sentences, translates them, and joins their texts and links (`linked`,
`joined`). By these links `mt.markup` places the tags.
"""

import codecs
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

from mt import markup
from mt.common.terminal import note
from mt.data.fields import Raw, require_texts
from mt.data.glossary import Glossary, with_glossaries
from mt.data.placeholders import ADDRESS, placeholders_of
from mt.decoding.confidence import Unsure
from mt.decoding.request import LexicalConstraints, Request, names_of, requests_of
from mt.decoding.translation import Translation, in_units, links_between_pieces
from mt.decoding.translator import Translator
from mt.errors import UserError, shown, visible_lines
from mt.markup import html
from mt.markup.blocks import Kept
from mt.markup.segments import Segment
from mt.markup.sentences import gap_between, sentences as cut
from mt.markup.words import Linked, Span
from mt.search.config import SearchConfig
from mt.text_io import STANDARD_INPUT, ended_lines, input_bytes

_NOTED: WeakSet[Translator] = WeakSet()
"""The models that have been noted to have no symbols for placeholders."""


@dataclass(frozen=True)
class Document:
    """A translated document, or a line, with its tags."""

    text: str
    sentences: tuple[Translation, ...]
    """The translations of its sentences that have a letter, without tags, in order, and then of its attributes."""


def translate_documents(
    translator: Translator,
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
    names = names or names_of(documents)
    texts = [str(text) for text in documents]
    of_attributes: list[tuple[Translation, ...]] = [() for _ in texts]
    if format == "html":
        # Attributes first: a tag that a sentence holds is written with them.
        languages = (translator.config.dataset.source, translator.config.dataset.target)
        found = [html.read_attributes(text, kept, languages) for text in texts]
        # A prefix and phrases are asked of the text, and not of its attributes.
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
    translator: Translator,
    read: Sequence[Sequence[str | Segment]],
    search: SearchConfig | None,
    requests: Sequence[Request] | None,
    unsure: Unsure | None,
    *,
    progress: bool = False,
) -> list[Document]:
    """Returns the translations of documents. read: the parts of each, as `mt.markup.read` returns them."""
    # Each sentence of a block is translated on its own, if it says something, and the block has the links of all.
    language = translator.config.dataset.source
    blocks = [[sentences(part, language) for part in parts if isinstance(part, Segment)] for parts in read]
    plain = [one.text for of_document in blocks for of_block in of_document for one in of_block if one.has_words]
    if requests is not None:
        counts = [sum(one.has_words for of_block in of_document for one in of_block) for of_document in blocks]
        requests = _of_sentences(requests, counts)
    rows = translator.encoded(plain)
    waiting = iter(translator.decode(rows, search, texts=plain, requests=requests, progress=progress))
    results = []
    for parts, of_document in zip(read, blocks, strict=True):
        # Each block takes the translations of its sentences.
        pairs = [[(next(waiting)[0] if one.has_words else None, one) for one in of_block] for of_block in of_document]
        links = [joined([(_linked(translator, *pair, unsure), pair[1]) for pair in of_block]) for of_block in pairs]
        translations = tuple(one for of_block in pairs for one, _ in of_block if one is not None)
        results.append(Document(markup.write(parts, links), translations))
    return results


def _note_placeholders(translator: Translator, read: Sequence[Sequence[str | Segment]], kept: Kept) -> None:
    """Notes, once for a model, that it has no symbols for placeholders, where documents have some."""
    if kept.symbols or translator in _NOTED:
        return
    tags = (tag for parts in read for part in parts if isinstance(part, Segment) for tag in part.tags)
    words = (tag.opening for tag in tags if tag.kind == "word")
    # Kept elements are words as well, so the whole word must be a placeholder.
    example = next((raw for raw in words if kept.found.spans(raw) == [(0, len(raw))]), None)
    if example is not None:
        _NOTED.add(translator)
        note(
            f"this model has no symbols for placeholders, such as {shown(example)}: it does not see them, and "
            "word links say where they go (a run with dataset.tokenizer.placeholders=16 has some)"
        )


def kept_placeholders(translator: Translator, syntaxes: Sequence[str] | None = None) -> Kept:
    """Returns the placeholders of documents that are kept whole. syntaxes: by names; None: as in training."""
    names = tuple(syntaxes or translator.config.dataset.tokenizer.placeholder_syntaxes)
    return Kept(placeholders_of(names), min(side.placeholders for side in translator.tokenizers))


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
        of_sentences += [request if not place else _anywhere(request) for place in range(count)]
    return of_sentences


class Sentence(NamedTuple):
    """A sentence of a block, without its tags."""

    text: str
    gap: str = ""
    """The white space between it and the next one."""

    @property
    def has_words(self) -> bool:
        """Whether it is translated: one without a letter, as a number, or with addresses alone stays as it is."""
        return any(map(str.isalpha, ADDRESS.sub("", self.text)))


def sentences(block: Segment, language: str | None) -> list[Sentence]:
    """Returns the sentences of a block. language: of the text."""
    parts = cut(block.text, language) or [""]
    return [Sentence(text := part.rstrip(), part[len(text) :]) for part in parts]


def joined(sentences: Sequence[tuple[Linked, Sentence]]) -> Linked:
    """Joins the translations of the sentences of a block, with their links."""
    # Places in a sentence become places in the block: of the source by what was read, of the translation by its text.
    text = ""
    links: list[Span] = []
    unsure: list[Span] = []
    read = 0
    gap = ""
    for translation, sentence in sentences:
        # A sentence without a translation leaves no blank of its own.
        text += gap if translation.text else ""
        links += [(i + read, j + len(text)) for i, j in translation.links]
        unsure += [(begin + len(text), end + len(text)) for begin, end in translation.unsure]
        text += translation.text
        read += len(sentence.text) + len(sentence.gap)
        if translation.text:
            gap = gap_between(sentence.text, sentence.gap, translation.text)
    return Linked(text, links, unsure)


def _linked(translator: Translator, found: Translation | None, sentence: Sentence, unsure: Unsure | None) -> Linked:
    """Returns the translation of a sentence with the marks of words that are probably wrong, or the sentence itself
    where it has none, or is left out."""
    # Then each character is linked to itself.
    if found is None or (unsure and unsure.leaves_out(found)):
        return Linked(sentence.text, [(place, place) for place in _visible_characters(sentence.text)])
    spans = unsure.spans(translator, found) if unsure else ()
    return linked(translator, found, sentence.text)._replace(unsure=spans)


def linked(translator: Translator, translation: Translation, source: str) -> Linked:
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
    backwards = reversed(translation.units.target)
    return [*accumulate(backwards, lambda after, unit: after if unit is None else unit, initial=count)][::-1]


# Documents in files, in their own encoding, with their byte-order mark and line ends: all that is not translated stays
# byte for byte.

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"<\0?\0": "utf-16-le",
    b"\0<\0?": "utf-16-be",
}
"""The encodings of first bytes: of a byte-order mark, or of `<?`."""
_XML = rb"^\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:+-]+)"
_DECLARED = {
    "html": re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([\w.:+-]+)|" + _XML, re.IGNORECASE),
    "xliff": re.compile(_XML),
}
_DECLARED_WITHIN = 1024
"""Bytes in which a browser looks for the encoding of a page."""
_WESTERN = frozenset(["ascii", "iso8859-1"])
"""Encodings that in HTML stand for that of Windows."""


def translate_file(
    translator: Translator,
    path: Path | None,
    search: SearchConfig,
    format: str,
    glossary: Glossary | list[Glossary] | None = None,
    unsure: Unsure | None = None,
    placeholders: Sequence[str] | None = None,
    *,
    lines_at_once: int | None,
) -> None:
    """Writes the translation of a document to standard output.

    path: None or `-`: standard input. glossary: the terms of all sentences; a list: of each line. unsure: what becomes
    of words that are probably wrong. placeholders: names of their syntaxes; None: as in training. lines_at_once: how
    many lines are read at once, where each is a document of its own; None: the file is one document. Raises UserError
    where the text cannot be read, or is not of the format.
    """
    name = str(path) if path and path != Path("-") else STANDARD_INPUT

    # Documents are translated together, so that their sentences share batches.
    def translated(texts: list[str], names: list[str], terms: Any) -> list[str]:
        requests = None if glossary is None else requests_of(names, alone=False, glossary=terms)
        options: Any = {"names": names, "placeholders": placeholders, "unsure": unsure}
        found = translate_documents(translator, texts, format, search, requests, **options)
        return [document.text for document in found]

    # One document in a file, or a document in each line.
    if lines_at_once is None:
        text, encoding = _decoded(input_bytes(path), name, format)
        (translation,) = translated([text], [name], glossary)
        _write(_encoded(translation, encoding, name, format))
        return
    lines = enumerate(with_glossaries(ended_lines(path), glossary), start=1)
    while chunk := [*islice(lines, lines_at_once)]:
        names = [f"{name}, line {number}" for number, _ in chunk]
        read, terms = zip(*(line for _, line in chunk), strict=True)
        texts = translated([text for text, _ in read], names, terms)
        _write("".join(f"{text}{end}" for text, (_, end) in zip(texts, read, strict=True)).encode())


def _decoded(data: bytes, name: str, format: str) -> tuple[str, str]:
    """Returns the text of a document and its encoding. Raises UserError where it is not of that encoding, or could not
    be written again in it."""
    # The encoding is that of the first bytes, or the declared one, or UTF-8.
    encoding = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), "")
    declared = _DECLARED[format].search(data[:_DECLARED_WITHIN]) if format in _DECLARED and not encoding else None
    if declared:
        encoding = next(filter(None, declared.groups())).decode()
        if encoding.lower().startswith("utf-16"):
            encoding = "utf-8"  # else the declaration could not have been read
    # What cannot be written back byte for byte is refused before it is translated.
    try:
        encoding = codecs.lookup(encoding or "utf-8").name
        if format == "html" and encoding in _WESTERN:
            encoding = "cp1252"
        text = data.decode(encoding)
        # Several byte sequences may stand for one character in old encodings, as in those of East Asia.
        is_same = text.encode(encoding) == data
    except LookupError:
        raise UserError(f"{name} declares the encoding {encoding}, which is unknown: convert it to UTF-8") from None
    except UnicodeError as error:
        line = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise UserError(f"{name}, line {line} is not {encoding.upper()}: convert the document to UTF-8") from None
    if not is_same:
        raise UserError(f"{name} is of {encoding.upper()}, which writes some of it otherwise: convert it to UTF-8")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(f"{name}, line {line} holds a NUL character: remove it, or convert the document to UTF-8")
    return text, encoding


def _encoded(text: str, encoding: str, name: str, format: str) -> bytes:
    """Returns the bytes of a translation. A character that the encoding lacks becomes a reference in HTML. In other
    formats it raises UserError."""
    try:
        return text.encode(encoding, "xmlcharrefreplace" if format == "html" else "strict")
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise UserError(
            f"the translation of {name} holds {wrong}, which {encoding.upper()} has not: convert the document to UTF-8"
        ) from None


def _write(data: bytes) -> None:
    """Writes bytes as they are, or on a terminal what is safe to show."""
    if sys.stdout.isatty():
        print(visible_lines(data.decode(errors="replace")), end="")
    else:
        sys.stdout.buffer.write(data)
    sys.stdout.flush()
