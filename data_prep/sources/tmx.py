"""Translation memories (TMX 1.4).

`TmxFile` reads one unit after another. `segment_text` removes the codes of word processors from a segment. `choose`
finds the language of a column among the languages of a unit.
"""

import html.entities
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import regex

from data_prep.sources.base import Records
from data_prep.sources.cells import Columns
from data_prep.sources.tables import TableFile
from mt.data.corpus import Example
from mt.errors import UserError, nearest
from mt.text_io import opened

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements whose contents are codes of a word processor."""
_FORMATS = {"bold", "color", "dulined", "font", "italic", "scap", "ulined"}
"""Types of codes that change how letters look, also inside of a word."""
_LINE_END = re.compile(r"\s*[\r\n]\s*")
_LETTER = r"[[\w\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
"""Letters of scripts that put blanks between words."""
_BETWEEN_LETTERS = regex.compile(rf"(?<={_LETTER})\0+(?={_LETTER})", regex.V1)


class TmxFile(TableFile):
    """Each unit with both languages is a pair; `EN-GB` or `en_gb` is also `en`. Other units are left out.

    Of several variants in one language, the first is read. A unit with several regions of a language is refused, unless
    the column names one of them. `notes` says where units have different regions.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        self._codes: dict[str, set[str]] = {side: set() for side in columns[:2]}
        """The language codes found so far for each side."""
        self._left_out = self._count = 0

    def records(self) -> Records:
        self._left_out = self._count = 0
        for origin, unit in self._units():
            source, target = (choose(side, unit, origin) for side in self._columns[:2])
            self._count += 1
            if source is None or target is None or source == target:
                self._left_out += 1
                continue
            for side, code in zip(self._columns, (source, target), strict=False):
                self._codes[side].add(code)
            yield origin, Example(unit[source], unit[target])

    def notes(self) -> list[str]:
        """Says how many units are left out, and which sides have several regions or scripts, as far as the file has
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
        """Returns the languages of the units, also without their regions."""
        languages = [language for _, unit in self._units() for language in unit]
        return dict.fromkeys(name for language in languages for name in (language, language.partition("-")[0]))

    def _emptiness(self) -> str:
        languages = self.columns()
        sides = self._columns[:2]
        missing = [side for side in sides if normalised(side) not in languages]
        expected = nearest(missing[0], languages) if missing and languages else "expected units of both languages"
        return (
            f"{self._path} has no units in {' and '.join(missing or sides)}: {expected}; set dataset.source "
            "and dataset.target"
        )

    def _units(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yields the place of each unit, and its texts by language."""
        # Expat itself stops at entities that unfold to far more text than the file has, and opens no other files.
        parser = ElementTree.XMLParser()
        parser.entity.update(html.entities.entitydefs)
        number = 0
        body = ElementTree.Element("body")
        try:
            with opened(self._path) as file:
                for event, element in ElementTree.iterparse(file, ("start", "end"), parser):
                    if event == "start" and _name(element) == "body":
                        body = element
                    if event == "end" and _name(element) == "tu":
                        number += 1
                        origin = f"{self._path}, unit {number}"
                        yield origin, _texts(element, origin)
                        body.clear()  # units that have been read take no memory
        except ElementTree.ParseError as error:
            reason = str(error).partition(": line")[0]
            raise UserError(
                f"{self._path}, line {error.position[0]} is not XML ({reason}): copy the file again, or make it again"
            ) from error
        except (ValueError, LookupError) as error:  # of an encoding that its first line names
            raise UserError(
                f"{self._path} says that it is in an encoding that cannot be read ({error}): convert it to UTF-8, and "
                "say so in its first line"
            ) from error


def _name(element: ElementTree.Element) -> str:
    """Returns the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _texts(unit: ElementTree.Element, origin: str) -> dict[str, str]:
    """Returns the texts of a unit by language."""
    texts: dict[str, str] = {}
    for variant in unit.iterfind("{*}tuv"):
        segments = [*variant.iterfind(".//{*}seg")]
        if len(segments) > 1:
            raise UserError(
                f"{origin} has a second <seg> in one <tuv>, whose text would be lost: make it a variant or a unit of "
                "its own"
            )
        # Versions of the format have two spellings of the attribute that names the language.
        language = normalised(variant.get(_LANGUAGE, variant.get("lang", "")))
        for segment in segments:
            texts.setdefault(language, segment_text(segment))
    return texts


def segment_text(segment: ElementTree.Element) -> str:
    """Returns the text of a segment without codes (TMX 1.4b, "Content markup"), and with a blank for each line end.

    A code between two letters leaves a blank, so that words on both sides of, say, a line break stay apart. A code that
    only formats, such as `<bpt type="bold">`, leaves none.
    """
    text = _BETWEEN_LETTERS.sub(" ", _with_codes(segment, set())).replace("\0", "")
    return _LINE_END.sub(" ", text).strip()


def _with_codes(element: ElementTree.Element, formats: set[str | None]) -> str:
    """Returns the text of an element, with NUL in place of each code that parts words.

    formats: the numbers of the formatting codes that are open.
    """
    text = element.text or ""
    for child in element:
        name = _name(child)
        # `sub` is text of another flow, as of a footnote; `hi` only marks text.
        if name == "sub":
            text += f"\0{_with_codes(child, formats)}\0"
        elif name not in _CODES:
            text += _with_codes(child, formats)
        elif child.get("type", "").lower() in _FORMATS:
            formats.add(child.get("i"))
        elif name != "ept" or child.get("i") not in formats:
            text += "\0"
        text += child.tail or ""
    return text


# Codes of languages as files write them: `zh-CN`, `zh_cn` and `ZH-CN` are one (RFC 5646, section 2.1.1).


def normalised(code: str) -> str:
    """Returns the one spelling of a code: `zh-cn`."""
    return code.strip().lower().replace("_", "-")


def choose(code: str, known: Iterable[str], where: str) -> str | None:
    """Returns the known code that a code stands for: the same one, or the only one with a further script or region.
    `zh` stands for `zh-CN`, and `zh-CN` for `zh-Hans-CN` (RFC 4647, section 3.3.2).

    Returns None where no code fits. where: the place of the known codes, for errors.

    Raises:
        UserError: several codes fit.
    """
    wanted = normalised(code)
    language, *subtags = wanted.split("-")
    meant = []
    for candidate in known:
        if candidate == wanted:
            return candidate
        # All parts of the code are among those of the longer one, in their order.
        longer = iter(candidate.split("-"))
        if next(longer) == language and all(subtag in longer for subtag in subtags):
            meant.append(candidate)
    if len(meant) > 1:
        raise UserError(
            f"{where} has {' and '.join(sorted(meant))}, and {code} may be either: set dataset.source and "
            "dataset.target to one of them"
        )
    return meant[0] if meant else None
