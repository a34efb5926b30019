"""Glossaries: the terms of a source text, and how each is to be translated.

A file has a line `source<TAB>target[|target...]` for each entry. In a `.jsonl` file line n is an object of the entries
for text n alone, `{"source": "target" or ["target", ...]}`. Terms are found over words (`mt.data.words.term_words`)
from left to right, the longest first: in scripts without blanks each letter is a word. An entry with a capital letter
matches as it is written, others whatever the case.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from mt.common.input_files import parse_json_line
from mt.data.words import term_words
from mt.errors import UserError
from mt.text_io import composed, file_lines, is_blank, is_quoted

_FORM = "write source, TAB, target, with further targets after |"
_JSON_FORM = 'write {"source": "target", "source": ["target", "target"]}'


class Entry(NamedTuple):
    """How a term is translated."""

    targets: tuple[str, ...]
    """Each will do, such as inflected forms."""
    name: str
    """What to call the entry in errors: its line."""
    source: str = ""


class Term(NamedTuple):
    """A term at its place in a text."""

    begin: int
    """Its first word."""
    end: int
    """The word behind its last one."""
    entry: Entry


class Glossary:
    """Terms, by the words of their sources."""

    def __init__(self, entries: Iterable[tuple[str, Sequence[str], str]] = ()) -> None:
        """entries: source, targets and name of each; of entries with one source, each target will do. Raises UserError
        where a source or a target is blank."""
        self.entries: list[Entry] = []
        self.met: set[Entry] = set()
        """The entries that were found in some text."""
        self._root: dict[str, Any] = {}
        """What follows each word of a source, and at "" the number of the entry that ends there."""
        for source, targets, name in entries:
            # The words of a source are a path in a tree, so that one walk finds the longest entry.
            words = term_words(composed(source))
            if not words or not targets or any(is_blank(target) for target in targets):
                raise UserError(f"{name} has a blank source or target: write both, or leave the entry out")
            node = self._root
            for word in words:
                node = node.setdefault(word, {})
            # No word is empty: this key has the number of the entry that ends here.
            number = node.setdefault("", len(self.entries))
            if number == len(self.entries):
                self.entries.append(Entry((), name, source))
            # Entries of the same source are one entry with all their targets.
            joined = dict.fromkeys((*self.entries[number].targets, *map(composed, targets)))
            self.entries[number] = self.entries[number]._replace(targets=tuple(joined))

    def terms(self, text_words: Sequence[str], begin: int = 0, *, complete: bool = True) -> tuple[list[Term], int]:
        """Returns the terms among words from `begin` on, and up to which word they are certain.

        complete: whether no more words come, with which a term at the end might be a longer one.
        """
        # Greedily from left to right: the words of a term belong to no other.
        found = []
        while begin < len(text_words):
            term, certain = self._longest(text_words, begin)
            if not (certain or complete):
                break
            if term:
                found.append(term)
            begin = term.end if term else begin + 1
        self.met.update(term.entry for term in found)
        return found, begin

    def _longest(self, text_words: Sequence[str], begin: int) -> tuple[Term | None, bool]:
        """Returns the longest term that begins at a word, and whether it cannot be longer with more words."""
        longest = None
        exact = lower = self._root
        for end in range(begin + 1, len(text_words) + 1):
            # As it is written, and in lower case; entries with a capital letter come first.
            word = text_words[end - 1]
            exact = exact.get(word, {})
            lower = lower.get(word.lower(), {})
            number = exact.get("", lower.get(""))
            longest = longest if number is None else Term(begin, end, self.entries[number])
            if not (exact.keys() | lower.keys()) - {""}:
                return longest, True
        return longest, False


def read_glossary(path: Path) -> Glossary | list[Glossary]:
    """Reads a file: a glossary for all texts, or of a `.jsonl` file one for each. Raises UserError where a line is of
    another form; names it."""
    lines = [(f"{path}, line {number}", line) for number, line in enumerate(file_lines(path, pipes=True), start=1)]
    if ".jsonl" in path.suffixes:
        texts = ((name, "{}" if is_blank(line) else line) for name, line in lines)
        return [_of_mapping(parse_json_line(text, name, _JSON_FORM), name) for name, text in texts]
    # A TAB between source and targets, and | between targets.
    rows = [(name, line.split("\t")) for name, line in lines if not is_blank(line)]
    quotes_all = all(is_quoted(field, ("",)) for _, fields in rows for field in fields)
    entries = []
    for name, (source, *targets) in rows:
        if any(is_quoted(field, ("",) if quotes_all else ('""', ",")) for field in (source, *targets)):
            raise UserError(
                f"{name} has a field in quotation marks, as spreadsheets write it, and no text has the term with them: "
                "write the table without quoting, or as CSV, of which a command of docs/steering.md makes a glossary"
            )
        if len(targets) != 1:
            raise UserError(f"{name} has {len(targets)} TAB characters, and an entry has one: {_FORM}")
        entries.append((source, targets[0].split("|"), name))
    return Glossary(entries)


def _of_mapping(plain: Any, name: str) -> Glossary:
    entries = []
    for source, targets in plain.items() if isinstance(plain, Mapping) else [(None, None)]:
        # A single target may stand without a list.
        targets = [targets] if isinstance(targets, str) else targets
        if not isinstance(source, str) or not isinstance(targets, Sequence) or {*map(type, targets)} - {str}:
            raise UserError(f"{name} is no glossary: {_JSON_FORM}")
        entries.append((source, targets, name))
    return Glossary(entries)


def glossaries_of(given: Any, count: int, *, alone: bool = False) -> list[Glossary]:
    """Returns a glossary for each of some texts. given: a file, a mapping of sources to targets, or a list of a mapping
    for each text, in which None has no terms. alone: whether there is one text, for which no list is given. Raises
    UserError for what is none."""
    # A file, one glossary for all texts, or a list with one for each.
    if isinstance(given, str | Path):
        given = read_glossary(Path(given))
    if isinstance(given, Mapping) or (alone and not isinstance(given, list | Glossary)):
        given = _of_mapping(given, "glossary")
    if isinstance(given, Glossary):
        return [given] * count
    if not isinstance(given, Sequence) or len(given) != count:
        raise UserError(
            f"glossaries of single texts are one for each, here {count}, as a list or as lines of a .jsonl file: give "
            "that many, or one glossary for all"
        )
    return [
        one if isinstance(one, Glossary) else _of_mapping(one or {}, f"glossary {number}")
        for number, one in enumerate(given, start=1)
    ]


def with_glossaries(lines: Iterable[Any], glossary: Glossary | list[Glossary] | None) -> Iterator[tuple[Any, Any]]:
    """Returns lines, each with its glossary. Of a glossary for each all lines are read first, and UserError is raised
    where one has none, so that nothing is written before."""
    if not isinstance(glossary, list):
        return zip(lines, repeat(glossary))
    read = [*lines]
    return zip(read, glossaries_of(glossary[: len(read)], len(read)), strict=True)
