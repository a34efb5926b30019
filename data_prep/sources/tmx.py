"""Translation memories (TMX 1.4), read piece by piece: memory holds one unit."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from data_prep.sources.base import Records
from data_prep.sources.cells import Columns
from data_prep.sources.languages import choose, normalised
from data_prep.sources.segments import Segment, character
from data_prep.sources.tables import TableFile
from mt.data.corpus import Example
from mt.errors import UserError, nearest
from mt.text_io import opened

_BLOCK = 1 << 16


class TmxFile(TableFile):
    """A unit is a pair where it has both languages, `en` also as `EN-GB` or `en_gb`; others are left out. Of several
    variants in one language the first is read; a unit with several regions of one is refused, where none is named.
    Where one unit has one region and another unit another, both are read, and `notes` says so."""

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        self._codes: dict[str, set[str]] = {side: set() for side in columns[:2]}
        """The codes of languages that each side has been read as so far."""

    def records(self) -> Records:
        for line, unit in self._units():
            origin = f"{self._path}, line {line}"
            source, target = (choose(side, unit, origin) for side in self._columns[:2])
            if source is not None and target is not None and source != target:
                for side, code in zip(self._columns, (source, target), strict=False):
                    self._codes[side].add(code)
                yield origin, Example(unit[source], unit[target])

    def notes(self) -> list[str]:
        """Says which sides are in several regions or scripts, as far as the file has been read."""
        return [
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
        elif name == "tuv":
            self._full = False
            self._language = normalised(attributes.get("xml:lang", attributes.get("lang", "")))
        elif name == "seg":
            if self._full:
                raise UserError(
                    f"{self._name}, line {self._expat.CurrentLineNumber} has a second <seg> in one <tuv>, whose text "
                    "would be lost: make it a variant or a unit of its own"
                )
            self._segment = Segment()
            self._full = True
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
