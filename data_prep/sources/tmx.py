"""Translation memories (TMX 1.4).

A `TmxFile` is read piece by piece. Its `_Parser` makes units, and a `Segment` collects their text among the codes of a
word processor. `choose` finds the languages of a unit.
"""

import html.entities
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import regex

from data_prep.sources.base import Records
from data_prep.sources.cells import Columns
from data_prep.sources.tables import TableFile
from mt.data.corpus import Example
from mt.errors import UserError, nearest
from mt.text_io import opened

_BLOCK = 1 << 16
_BUFFER = 1 << 20
_CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements whose contents are codes, and no text; `sub` inside them is text of another flow, as of a footnote."""
_FORMATS = {"bold", "color", "dulined", "font", "italic", "scap", "ulined"}
"""Types of codes that change how letters look, also inside of a word."""
_LINE_END = re.compile(r"\s*[\r\n]\s*")
_SPACED = regex.compile(r"[[\w\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1)
"""Letters of scripts whose words stand apart by blanks."""


class TmxFile(TableFile):
    """A unit is a pair where it has both languages, `en` also as `EN-GB` or `en_gb`; others are left out. Of several
    variants in one language the first is read; a unit with several regions of one is refused, where none is named.
    Where one unit has one region and another unit another, both are read, and `notes` says so."""

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        self._codes: dict[str, set[str]] = {side: set() for side in columns[:2]}
        """The codes of languages that each side has been read as so far."""
        self._left_out = self._count = 0

    def records(self) -> Records:
        self._left_out = self._count = 0
        for line, unit in self._units():
            origin = f"{self._path}, line {line}"
            source, target = (choose(side, unit, origin) for side in self._columns[:2])
            self._count += 1
            if source is not None and target is not None and source != target:
                for side, code in zip(self._columns, (source, target), strict=False):
                    self._codes[side].add(code)
                yield origin, Example(unit[source], unit[target])
            else:
                self._left_out += 1

    def notes(self) -> list[str]:
        """Says how many units are left out, and which sides are in several regions or scripts, as far as the file has
        been read."""
        source, target = self._columns[:2]
        lack = f"{self._left_out:,} of {self._count:,} units have no {source} or no {target}"
        left_out = f"{self._path}: {lack}, and are left out"
        return [left_out] * bool(self._left_out) + [
            f"{self._path}: {side} is {' in some units, '.join(sorted(codes))} in others: set dataset.source and "
            "dataset.target to one of them to read that alone"
            for side, codes in self._codes.items()
            if len(codes) > 1
        ]

    def columns(self) -> dict[str, None]:
        """Names the languages, also without their regions."""
        languages: dict[str, None] = {}
        for _, unit in self._units():
            for language in unit:
                languages |= {language: None, language.partition("-")[0]: None}
        return languages

    def _emptiness(self) -> str:
        languages = self.columns()
        sides = self._columns[:2]
        missing = [side for side in sides if normalised(side) not in languages]
        expected = nearest(missing[0], languages) if missing and languages else "expected units of both languages"
        return (
            f"{self._path} has no units in {' and '.join(missing or sides)}: {expected}; set dataset.source "
            "and dataset.target"
        )

    def _units(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yields the texts of each unit by language, with the line on which it begins."""
        parser = _Parser(str(self._path))
        with opened(self._path) as file:
            while True:
                block = file.read(_BLOCK)
                parser.feed(block)
                yield from parser.pop_units()
                if not block:
                    return


class _Parser:
    """Makes units of what is fed in. No entity may be declared: a few can stand for more text than memory holds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._read
        self._expat.EntityDeclHandler = self._refuse
        # Whatever is not declared is reported, and not left out; nothing outside of the file is read.
        self._expat.UseForeignDTD(True)
        self._expat.SkippedEntityHandler = self._stand_for
        self._units: list[tuple[int, dict[str, str]]] = []
        self._unit: dict[str, str] = {}
        self._line = 0
        self._language = ""
        self._segment: Segment | None = None  # that is being read
        self._full = False  # whether the variant has one

    def feed(self, block: bytes) -> None:
        """Parses a block; an empty one is the end. Raises UserError where it is no XML."""
        try:
            self._expat.Parse(block, not block)
        except expat.ExpatError as error:
            raise UserError(
                f"{self._name}, line {error.lineno} is not XML ({expat.ErrorString(error.code)}): copy the file again, "
                "or make it again"
            ) from error
        except (ValueError, LookupError) as error:  # of an encoding that its first line names
            raise UserError(
                f"{self._name} says that it is in an encoding that cannot be read ({error}): convert it to UTF-8, and "
                "say so in its first line"
            ) from error

    def pop_units(self) -> list[tuple[int, dict[str, str]]]:
        """Returns the units that are complete, each once."""
        units = self._units
        self._units = []
        return units

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit = {}
            self._line = self._expat.CurrentLineNumber
        # A variant names its language in an attribute, of which versions of the format have two spellings.
        elif name == "tuv":
            self._full = False
            self._language = normalised(attributes.get("xml:lang", attributes.get("lang", "")))
        # A variant has one segment of text, so a second would be lost and is refused.
        elif name == "seg":
            if self._full:
                raise UserError(
                    f"{self._name}, line {self._expat.CurrentLineNumber} has a second <seg> in one <tuv>, whose text "
                    "would be lost: make it a variant or a unit of its own"
                )
            self._segment = Segment()
            self._full = True
        # Elements inside a segment are markup, and the segment decides what text they leave.
        elif self._segment is not None:
            self._segment.begin(name, attributes)

    def _end(self, name: str) -> None:
        if name == "tu":
            self._units.append((self._line, self._unit))
        elif name == "seg" and self._segment is not None:
            self._unit.setdefault(self._language, self._segment.text())
            self._segment = None
        elif self._segment is not None:
            self._segment.end(name)

    def _read(self, text: str) -> None:
        if self._segment is not None:
            self._segment.read(text)

    def _stand_for(self, name: str, parameter: bool) -> None:
        """Reads what nothing declares as a character by its name in HTML; else refuses it, since text would be lost."""
        if self._segment is None or parameter:
            return
        if (text := character(name)) is None:
            raise UserError(
                f"{self._name}, line {self._expat.CurrentLineNumber} has &{name};, which is neither declared nor a "
                "character of HTML: write the character itself"
            )
        self._segment.read(text)

    def _refuse(self, *_: object) -> NoReturn:
        raise UserError(
            f"{self._name}, line {self._expat.CurrentLineNumber} declares an entity, which can stand for more text "
            "than memory holds: remove the declaration, and write the characters themselves"
        )


# The text of a segment, among the codes of a word processor (TMX 1.4b, "Content markup").


def character(name: str) -> str | None:
    """Returns what an entity of HTML stands for, as `nbsp` or `euro`; None where there is no such."""
    return html.entities.html5.get(f"{name};")


class Segment:
    """Collects the text between codes. A code between two letters leaves a blank, so that words before and after a line
    break, say, stay apart. A code of a format leaves none, as `<bpt type="bold">`. `hi` marks text, and takes nothing
    out of it."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._depth = 0  # how many elements of codes are open
        self._formats: set[str] = set()  # the numbers of those that wait for their other end
        self._apart = False  # whether what follows is another word

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Reads the beginning of an element inside the segment."""
        if name in _CODES:
            self._depth += 1
            number = attributes.get("i", "")
            formats = attributes.get("type", "").lower() in _FORMATS or (name == "ept" and number in self._formats)
            if formats and name == "bpt":
                self._formats.add(number)
            self._apart = self._apart or (self._depth == 1 and not formats)
        elif name == "sub":
            self._apart = self._apart or not self._depth

    def end(self, name: str) -> None:
        if name in _CODES:
            self._depth -= 1
        elif name == "sub":
            self._apart = self._apart or not self._depth

    def read(self, text: str) -> None:
        if self._depth or not text:
            return
        if self._apart and self._text and _SPACED.match(self._text[-1][-1]) and _SPACED.match(text[0]):
            self._text.append(" ")
        self._text.append(text)
        self._apart = False

    def text(self) -> str:
        """Returns the text, with a blank for each line end in it."""
        return _LINE_END.sub(" ", "".join(self._text)).strip()


# Codes of languages as files write them: `zh-CN`, `zh_cn` and `ZH-CN` are one (RFC 5646, section 2.1.1).


def normalised(code: str) -> str:
    """Returns the one spelling of a code: `zh-cn`."""
    return code.strip().lower().replace("_", "-")


def choose(code: str, known: Iterable[str], where: str) -> str | None:
    """Returns the known code that a code means: the same, another spelling, or the only one with a script or region
    besides. `zh` means `zh-CN`, and `zh-CN` means `zh-Hans-CN` (RFC 4647, section 3.3.2).

    None where there is none. where: what to call the place that knows them, in an error.

    Raises:
        UserError: several are meant.
    """
    codes = [*dict.fromkeys(known)]
    if code in codes:
        return code
    spelling = normalised(code)
    same = [known_code for known_code in codes if normalised(known_code) == spelling]
    meant = same or [known_code for known_code in codes if _means(spelling, known_code)]
    if len(meant) > 1:
        raise UserError(
            f"{where} has {' and '.join(sorted(meant))}, and {code} may be either: set dataset.source and "
            "dataset.target to one of them"
        )
    return meant[0] if meant else None


def _means(code: str, longer: str) -> bool:
    """Returns whether all parts of a code are among those of a longer one, in their order, and both begin with one
    language."""
    language, *subtags = code.split("-")
    longer_subtags = iter(normalised(longer).split("-"))
    return bool(language) and next(longer_subtags) == language and all(subtag in longer_subtags for subtag in subtags)
