"""Translation of a text line by line to standard output, with files of links and drawings beside it.

`LineFiles` writes the files. `translate_lines` reads, translates and prints some lines at a time.
"""

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, TextIO

from mt.common.backdrop import PlotFormat
from mt.common.input_files import parse_json_line
from mt.common.links import Links, to_pharaoh
from mt.common.options import parse
from mt.common.terminal import note, output
from mt.data.glossary import Glossary, with_glossaries
from mt.decoding.confidence import Unsure
from mt.decoding.request import LexicalConstraints, Request
from mt.decoding.translation import Translation, in_units
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError, counted, unwritten
from mt.search.config import SearchConfig
from mt.search.options import CUT_REMEDY, cut_note
from mt.storage import require_writable
from mt.text_io import STANDARD_INPUT, input_lines, is_blank

# Files beside the translations of lines: word links, and drawings of the attention.


@dataclass
class LineFiles:
    """Writes a line of word links for each translation into one file, and a drawing of the best translation of each
    line into a folder."""

    alignments: Path | None = None
    """The file of word links; None: there is none."""
    plots: Path | None = None
    """The folder of drawings; None: nothing is drawn."""
    plot_format: PlotFormat | None = None
    """None: png."""
    plot_words: bool = False
    """Whether drawings are of words, in place of pieces."""
    _links: TextIO | None = field(default=None, init=False)

    @contextlib.contextmanager
    def opened(self, source: Path | None) -> Iterator[None]:
        """Opens the file of word links, for as long as the context lasts. source: the file that is translated. Raises
        UserError where both are one file, or where this one or the folder of drawings cannot be written."""
        if self.plots:
            require_writable(self.plots, f"--plots {self.plots}")
        path = self.alignments
        if path is None:
            yield
            return
        with _naming(f"--alignments {path}"):
            if source and path.exists() and source.exists() and path.samefile(source):
                raise UserError(
                    f"--alignments {path} is the file to translate, and would overwrite it: give another file"
                )
            self._links = path.open("w", encoding="utf-8")
        try:
            yield
        finally:
            # All was flushed, or could not be, which was reported then.
            with contextlib.suppress(OSError):
                self._links.close()

    def write(
        self,
        translator: Translator,
        texts: Sequence[str],
        translations: Sequence[Sequence[Translation]],
        first_index: int,
    ) -> None:
        """Writes links and drawings of some lines. translations: of each line, best first. first_index: the number of
        the first line, counted from 0. Raises UserError where something cannot be written."""
        if self.plots:
            pairs = zip(translations, texts, strict=True)
            self.draw([in_units(translator, of_line[0], text, "word") for of_line, text in pairs], first_index)
        if self._links:
            with _naming(f"--alignments {self.alignments}"):
                self._links.writelines(
                    f"{to_pharaoh(translation.links)}\n" for of_line in translations for translation in of_line
                )
                # Within `_naming`, as a full disk often shows only here.
                self._links.flush()

    def draw(self, translations: Sequence[Translation], first_index: int = 0, gold: Sequence[Links] = ()) -> None:
        """Draws the translations with attention; a blank line has none. gold: the links to compare each with."""
        folder = self.plots
        if folder is None:
            return
        with _naming(f"--plots {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
        for number, translation in enumerate(translations):
            if translation.alignment.any():
                path = folder / f"{first_index + number:04d}.{self.plot_format or 'png'}"
                translation.plot(path, words=self.plot_words, gold=gold[number].possible if gold else None)


@contextlib.contextmanager
def _naming(output: str) -> Iterator[None]:
    """Turns an OSError into a UserError that names this output."""
    try:
        yield
    except OSError as error:
        raise UserError(unwritten(output, error, "give another")) from error


# What lines say is asked of their translations.

LineForm = Literal["json", "tab"]
"""How a line says what is asked of its translation: as an object of JSON, or by phrases after TAB characters."""
_FORM = '{"text": "...", "constraints": ["...", {"any_of": ["...", "..."]}], "avoid": ["..."], "prefix": "..."}'


class _Line(LexicalConstraints):
    text: str


def parse_line(line: str, form: LineForm, name: str) -> tuple[str, LexicalConstraints]:
    """Returns the text of a line, and what is asked of its translation. name: what to call the line. Raises UserError
    where it is not of this form."""
    # Phrases after TAB characters are a short form of the same.
    if form == "tab":
        text, *phrases = line.split("\t")
        return text, LexicalConstraints(constraints=tuple(phrases))
    if is_blank(line):
        return "", LexicalConstraints()
    plain = parse_json_line(line, name, f"write {_FORM}")
    if not isinstance(plain, Mapping):
        raise UserError(f"{name} is no object of JSON: write {_FORM}")
    asked = parse(plain, _Line, name)
    return asked.text, asked


# Translation of a text line by line, to standard output.

_DOCUMENTS = (".html", ".htm", ".xlf", ".xliff")
_DOCUMENT = re.compile(r"\s*<(!doctype|html|\?xml|xliff)\b", re.IGNORECASE)
"""How documents are named, and how they begin."""


def translate_lines(
    translator: Translator,
    path: Path | None,
    search: SearchConfig,
    files: LineFiles,
    unknown_words: UnknownWords | None,
    *,
    lines_at_once: int,
    numbered: bool = False,
    form: LineForm | None = None,
    glossary: Glossary | list[Glossary] | None = None,
    unsure: Unsure | None = None,
) -> None:
    """Writes the translations of each line of a text to standard output, in order. Standard error gets the numbers of
    hypotheses that were cut, and of unknown words that were replaced.

    path: a file or pipe, or a single source that is a file, as a sound; None or `-`: standard input. files: what else
    is written. unknown_words: replaces those of translations. numbered: whether translations are written as
    `index ||| text ||| score`, where index counts lines from 0. form: how lines say what is asked of their
    translations; None: they are texts. glossary: of all lines, or of each. unsure: what becomes of words that are
    probably wrong. Raises UserError where a line cannot be read, or is too long, or something cannot be written."""
    name = f"{path or STANDARD_INPUT}, line"
    is_source = path is not None and path.suffix.lower() in translator.field.endings
    asked = _asked([str(path)] if is_source else input_lines(path), form, glossary, name)
    count = cut = replaced = 0
    with files.opened(path):
        # Lines are written chunk by chunk: a reader has the first ones while later ones are decoded.
        while read := list(islice(asked, lines_at_once)):
            chunk = [text for text, _ in read]
            requests = None if form is None and glossary is None else [request for _, request in read]
            if not count and (Path(path or "").suffix.lower() in _DOCUMENTS or _DOCUMENT.match("".join(chunk))):
                note(f"{path or STANDARD_INPUT} has tags, which are read as text: --format html or xliff keeps them")
            translator.refuse_long(chunk, name, count + 1)
            translations = translator.decode(translator.encoded(chunk), search, texts=chunk, requests=requests)
            if unknown_words is not None:
                translations = unknown_words.replaced_all(translations, chunk)
            for index, of_line in enumerate(translations, start=count):
                for one in of_line:
                    text = one.text if unsure is None else unsure.shown(translator, one)
                    print(output(f"{index} ||| {text} ||| {one.score:.4f}" if numbered else text))
            sys.stdout.flush()
            files.write(translator, chunk, translations, count)
            # For the notes at the end.
            count += len(chunk)
            cut += sum(one.cut for of_line in translations for one in of_line)
            replaced += sum(one.replaced_unknown for of_line in translations for one in of_line)
    if unknown_words is not None:
        note(f"{counted(replaced, 'unknown word')} replaced")
    if cut:
        note(cut_note(cut, translator.search_for(search).limit, CUT_REMEDY))


def _asked(
    lines: Iterable[str], form: LineForm | None, glossary: Glossary | list[Glossary] | None, name: str
) -> Iterator[tuple[str, Request]]:
    """Yields the text of each line, and what is asked of its translation. name: what to call each line, before its
    number. Raises UserError where a line is of another form, and as `with_glossaries`."""
    for number, (line, terms) in enumerate(with_glossaries(lines, glossary), start=1):
        place = f"{name} {number}"
        text, asked = (line, LexicalConstraints()) if form is None else parse_line(line, form, place)
        yield text, Request(place, asked, terms)
