"""Translation memories (TMX 1.4), read piece by piece: memory holds one unit."""

from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from data_prep.sources.languages import choose, normalised
from data_prep.sources.segments import Segment, character
from data_prep.sources.tables import TableFile
from mt.data.corpus import Example
from mt.errors import UserError, nearest
from mt.text_io import opened

_BLOCK = 1 << 16


class TmxFile(TableFile):
    """A unit is a pair where it has both languages, `en` also as `EN-GB` or `en_gb`; others are left out. Of several
    variants in one language the first is read; a unit with several regions of one is refused, where none is named."""

    def examples(self) -> Iterator[Example]:
        return (pair for _, pair in self._units())

    def located(self) -> Iterator[tuple[str, Example]]:
        return ((f"{self._path}, line {number}", pair) for number, pair in self._units())

    def size(self) -> int:
        count = sum(1 for _ in self._units())
        if count == 0:
            languages = self.columns()
            missing = [side for side in self._sought[:2] if normalised(side) not in languages]
            told = nearest(missing[0], languages) if missing and languages else "expected units of both languages"
            raise UserError(
                f"{self._path} has no units in {' and '.join(missing or self._sought[:2])}: {told}; set dataset.source "
                "and dataset.target"
            )
        return count

    def columns(self) -> dict[str, None]:
        """Languages, also without their regions."""
        found: dict[str, None] = {}
        for _, unit in self._parsed():
            for language in unit:
                found |= {language: None, language.partition("-")[0]: None}
        return found

    def _units(self) -> Iterator[tuple[int, Example]]:
        """Pairs, each with the line on which its unit begins."""
        for line, unit in self._parsed():
            source, target = (choose(side, unit, f"{self._path}, line {line}") for side in self._sought[:2])
            if source is not None and target is not None and source != target:
                yield line, Example(unit[source], unit[target])

    def _parsed(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The texts of each unit by language, with the line on which it begins."""
        parser = _Parser(str(self._path))
        with opened(self._path) as file:
            while True:
                block = file.read(_BLOCK)
                parser.feed(block)
                yield from parser.taken()
                if not block:
                    return


class _Parser:
    """What is fed in gives units. No entity may be declared: a few can stand for more text than memory holds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._read
        self._expat.EntityDeclHandler = self._refuse
        # Whatever is not declared is told, and not left out; nothing outside of the file is read.
        self._expat.UseForeignDTD(True)
        self._expat.SkippedEntityHandler = self._stand_for
        self._found: list[tuple[int, dict[str, str]]] = []
        self._unit: dict[str, str] = {}
        self._line = 0
        self._language = ""
        self._segment: Segment | None = None  # that is being read
        self._full = False  # whether the variant has one

    def feed(self, block: bytes) -> None:
        """An empty block is the end. Raises UserError where it is no XML."""
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

    def taken(self) -> list[tuple[int, dict[str, str]]]:
        found, self._found = self._found, []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit, self._line = {}, self._expat.CurrentLineNumber
        elif name == "tuv":
            self._full = False
            self._language = normalised(attributes.get("xml:lang", attributes.get("lang", "")))
        elif name == "seg":
            if self._full:
                raise UserError(
                    f"{self._name}, line {self._expat.CurrentLineNumber} has a second <seg> in one <tuv>, whose text "
                    "would be lost: make it a variant or a unit of its own"
                )
            self._segment, self._full = Segment(), True
        elif self._segment is not None:
            self._segment.begin(name, attributes)

    def _end(self, name: str) -> None:
        if name == "tu":
            self._found.append((self._line, self._unit))
        elif name == "seg" and self._segment is not None:
            self._unit.setdefault(self._language, self._segment.text())
            self._segment = None
        elif self._segment is not None:
            self._segment.end(name)

    def _read(self, text: str) -> None:
        if self._segment is not None:
            self._segment.read(text)

    def _stand_for(self, name: str, parameter: bool) -> None:
        """What nothing declares: a character by its name in HTML, else it is refused, since text would be lost."""
        if self._segment is None or parameter:
            return
        if (found := character(name)) is None:
            raise UserError(
                f"{self._name}, line {self._expat.CurrentLineNumber} has &{name};, which is neither declared nor a "
                "character of HTML: write the character itself"
            )
        self._segment.read(found)

    def _refuse(self, *_: object) -> NoReturn:
        raise UserError(
            f"{self._name}, line {self._expat.CurrentLineNumber} declares an entity, which can stand for more text "
            "than memory holds: remove the declaration, and write the characters themselves"
        )
