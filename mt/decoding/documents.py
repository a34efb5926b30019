"""Translation of marked-up documents: sentences by the one path by which anything is decoded, tags by its links."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import regex

from mt import markup
from mt.common.terminal import output
from mt.data.fields import Raw, as_list, require_texts
from mt.data.glossary import Glossary
from mt.decoding.translation import Translation, in_units, links_between_pieces
from mt.errors import UserError
from mt.markup.words import Linked
from mt.search.config import SearchConfig
from mt.text_io import input_lines

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


@dataclass(frozen=True)
class Document:
    """A translated document, or a line: the tags stand where the word links of its sentences say."""

    text: str
    sentences: tuple[Translation, ...]
    """The translations of its sentences, without tags, in order."""


def translate_documents(
    translator: "Translator",
    texts: Raw | Iterable[Raw],
    format: str,
    search: SearchConfig | None,
    asked: Mapping[str, object],
    *,
    progress: bool,
) -> Document | list[Document]:
    """Returns the translation of each text of a format; see `Translator.translate`."""
    markup.require_format(format)
    glossary = asked["glossary"]
    for name in (name for name, value in asked.items() if value is not None):
        if name == "glossary" and not isinstance(glossary, list):
            continue  # One for all sentences.
        raise UserError(f"{name} is asked of a sentence, and a document has several: leave it out, or leave out format")
    if not translator.field.written:
        raise UserError(f"format={format} is of text, and this model reads {translator.config.dataset.field.name}")
    documents, alone = as_list(texts)
    require_texts(documents)
    symbols = min(side.placeholders for side in translator.tokenizers)
    read = [markup.read(str(text), format, symbols) for text in documents]
    # Each sentence of a block is translated on its own, and the block has the links of all.
    blocks = [[cut(part.text) for part in parts if isinstance(part, markup.Segment)] for parts in read]
    sentences = [text for of_document in blocks for of_block in of_document for text in of_block]
    waiting = iter(translator.translate(sentences, search, glossary=glossary, progress=progress))
    results = []
    for parts, of_document in zip(read, blocks, strict=True):
        translations: list[Translation] = []
        links = []
        for of_block in of_document:
            pairs = [(next(waiting), text) for text in of_block]
            translations += [translation for translation, _ in pairs]
            links.append(joined([(linked(in_units(translator, *pair, "char"), pair[1]), pair[1]) for pair in pairs]))
        results.append(Document(markup.write(parts, links, format), tuple(translations)))
    return results[0] if alone else results


_END = regex.compile(r"(?:(?:\p{Ll}{2}|\p{Lu}{2}|[\p{N}\W])\.|[!?…])[.!?…]*[\"'”’»)\]]*\K +(?=[\"'“‘«(\[]*\p{Lu})")
"""The blank between two sentences: before a capital; a full stop is behind two letters of one case, or no letter."""


def cut(text: str) -> list[str]:
    """Returns the sentences of a block of text, which joined by blanks are the text.

    >>> cut("Mr. X has two. (One is red.) So?")
    ['Mr. X has two.', '(One is red.)', 'So?']
    """
    return _END.split(text)


def joined(sentences: Sequence[tuple[Linked, str]]) -> Linked:
    """Returns the translation of a block from those of its sentences and their sources."""
    texts: list[str] = []
    links: list[tuple[int, int]] = []
    begin = [0, 0]
    for (text, of_sentence), source in sentences:
        links += [(i + begin[0], j + begin[1]) for i, j in of_sentence]
        texts.append(text)
        begin = [begin[0] + len(source) + 1, begin[1] + len(text) + bool(text)]
    return Linked(" ".join(filter(None, texts)), links)


def linked(translation: Translation, source: str) -> Linked:
    """Returns a translation with the links of its characters: each piece to the one that it attended to most.

    translation: with links between characters.
    """
    if not translation.tokens:
        return Linked(translation.text, ())
    sides = [
        [place for place, character in enumerate(text) if not character.isspace()]
        for text in (source, translation.text)
    ]
    # A piece reaches to where the next one begins.
    ends = []
    end = len(sides[1])
    for first_place in reversed(translation.target_units):
        ends.append(end)
        end = end if first_place is None else first_place
    links = []
    for position, step in links_between_pieces(translation.windows, translation.extract, translation.shift):
        origin = translation.source_units[position]
        first_place = translation.target_units[step]
        if origin is not None and first_place is not None:
            links += [(sides[0][origin], sides[1][place]) for place in range(first_place, ends[-1 - step])]
    return Linked(translation.text, links)


def translate_file(
    translator: "Translator",
    path: Path | None,
    search: SearchConfig,
    format: str,
    glossary: Glossary | list[Glossary] | None = None,
    *,
    lines_at_once: int | None,
) -> None:
    """Writes the translation of a document to standard output.

    path: None or `-`: standard input. glossary: of all sentences; a list is refused. lines_at_once: how many lines
    are read at once where each is a document of its own; None: all is one. Raises UserError where the
    text cannot be read, or is not of the format.
    """
    lines = input_lines(path)
    if lines_at_once is None:
        document = "".join(f"{line}\n" for line in lines)
        print(output(translator.translate(document, search, format=format, glossary=glossary).text), end="", flush=True)
        return
    while chunk := list(islice(lines, lines_at_once)):
        for translated in translator.translate(chunk, search, format=format, glossary=glossary):
            print(output(translated.text))
        sys.stdout.flush()
