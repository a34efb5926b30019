"""Sentences of a text by the rules of its language: sentencex (Wikimedia) finds their ends, a few rules correct them.

Documents, the server and its page all cut by `sentences`, whose parts joined are the text.

>>> sentences("Im 19. Jahrhundert kam Fr. Roth. Sie blieb.", "de")
['Im 19. Jahrhundert kam Fr. Roth. ', 'Sie blieb.']
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import regex

from mt.common.about import required

WINDOW = 4_000
"""How many characters are cut at once: after an open quotation mark, sentencex takes quadratic time."""
_TAIL = 60
"""How many characters before an end the rules look at."""

_STRANGE_BLANK = regex.compile(r"[^\S\x00-\x7f](?=[.。．])")
"""A blank beyond ASCII in front of a full stop, at which sentencex breaks down behind initials."""
_WORD = regex.compile(r"\w")
_CAPITAL_FIRST = regex.compile(r"\P{L}*\p{Lu}")
_LOWER_CASE = regex.compile(r"\W*\p{Ll}")
_NUMBER = regex.compile(r"\p{Ps}?(?:\p{N}|[IVXLC]+\b)")
_NO_WORD = regex.compile(r"\W*(?:\p{N}{1,3}|[IVXLC]+|\p{L}\p{M}*)[.)]\s*")
_LAST_WORD = regex.compile(r"(?<![^\s\p{Ps}\p{Pi}\"'’])([\p{L}\p{M}\p{N}º.-]+)\.\s+\Z")
_INITIAL = regex.compile(r"(?:^|\p{Lu}[^\s.]*\s|\.\s*)\P{L}*\p{Lu}\.\s+\Z")
_CAPITAL = regex.compile(r"\p{Lu}")
_OPENING = regex.compile(r"(?<=\s)[\"'`“„«‘]+\Z")
_ORDINALS = regex.compile("bs|cs|da|de|et|fi|hr|hu|is|lb|lv|mk|no|pl|sk|sl|sr|tr")
"""The languages that write a full stop after an ordinal number, so after the number of a king."""
_ROMAN = regex.compile(r"[IVXLC]{2,}")
# Of scripts that write no blanks between sentences.
_ASIAN_END = regex.compile(r"[。！？｡][\p{Pe}\p{Pf}\"]*\s*\Z")
_ASIAN_INNER = regex.compile(r"(?<=[。！？｡])(?=[^\W\p{Han}\p{Hiragana}\p{Katakana}])")
_QUOTED_ON = regex.compile(r"と|って|という|、|との")
_WIDE = frozenset("。！？｡」』”）")
# Of German, whose ordinals have a full stop and stand before nouns, which have capitals.
_ORDINAL = regex.compile(
    r"(?:^|(?<before>\p{L}+)\s+|[,(]\s*)(?:\p{N}{1,3}\.,? (?:und |oder |bis |[-–]))?\p{N}{1,3}\.\s+\Z"
)
_MONTH = regex.compile(r"Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez")
_DETERMINER = regex.compile(
    r"(?i)d(?:e[rmns]|ie|as)|[iav]m|vo[mr]|zu[mr]|beim|ins|ans|bis|ab|seit|nach|und|oder|mit|in|auf|gegen|sowie|als"
    r"|(?:k?ein|[msd]ein|ihr|unser|eur|euer|jed|dies|jen|letzt|nächst|vergangen|kommend|erst)(?:e[rmns]?|es)?"
)
_OPENER = regex.compile(
    r"(?:D(?:er|ie|as|en|em|u|och|ann|anach|a|ort|enn|iese[rsmn]?)|Ein(?:e[rnms]?)?|Ich|Er|Sie|Es|Wir|Ihre?|Man|Und|Aber"
    r"|Oder|Hier|Heute|Gestern|Jetzt|Nun|So|Wenn|Als|Weil|Ob|We[rn]|Was|Wo|Wie|Warum|I[nm]|A[nmu][sf]?|Auch|Bei|Beim|Mit"
    r"|Nach|Vo[nmr]|Zu[mr]?|Für|Um|Seit|Nur|Nicht|Noch|Schon|[MS]eine?)\b"
)


def sentences(text: str, language: str | None) -> list[str]:
    """Returns the sentences of a text, each with the white space after it: joined, they are the text.

    language: its code; without one the rules for English hold. Raises UserError without sentencex.
    """
    # Both written forms of Norwegian have one set of rules.
    code = regex.split("[-_]", language or "en")[0].lower()
    code = {"nb": "no", "nn": "no"}.get(code, code)
    capitals = bool(_CAPITAL_FIRST.match(text))
    found: list[str] = []
    begin = end = 0
    for part in _opened(_parts(text, code)):
        if end > begin and not _goes_on(text[max(begin, end - _TAIL) : end], part, code, capitals=capitals):
            found.append(text[begin:end])
            begin = end
        end += len(part)
    return [*found, text[begin:]] if text else []


def sentences_of_lines(text: str, language: str | None) -> list[str]:
    """Returns the sentences of a text in which the end of a line ends a sentence, too. Joined, they are the text; blank
    lines belong to the sentence before."""
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        if found and line.isspace():
            found[-1] += line
        else:
            found += sentences(line, language)
    return found


def gap_between(source: str, gap: str, translation: str) -> str:
    """Returns the white space between the translation of a sentence and the next one.

    The source's white space is kept, unless only one of the two languages writes blanks there: Chinese and Japanese
    do not.

    source: the sentence. gap: the white space after it.
    """
    wide = translation[-1:] in _WIDE
    if wide == (source[-1:] in _WIDE) or not gap.isprintable():
        return gap
    return "" if wide else " "


def _goes_on(tail: str, after: str, language: str, *, capitals: bool) -> bool:
    """Returns whether a sentence goes on where sentencex ends it.

    tail: its last characters. after: the next part. capitals: whether sentences of this text begin with capitals.
    """
    # Scripts without blanks between sentences; then parts without words, and small letters.
    if _ASIAN_END.search(tail):
        return language == "ja" and tail[-1] in "」』）" and bool(_QUOTED_ON.match(after))
    if not tail[-1].isspace() or not _WORD.search(after) or _NO_WORD.fullmatch(tail):
        return True
    if capitals and _LOWER_CASE.match(after):
        return True
    # A full stop after an abbreviation, an initial or an ordinal number.
    word = _LAST_WORD.search(tail)
    if word is None:
        return False
    kinds = ("any", "number") if _NUMBER.match(after) else ("any",)
    if any(word[1] in _abbreviations(language, kind) for kind in kinds):
        return True
    # A letter that is part of a name; sentencex knows the English word I.
    if language != "en" and _INITIAL.search(tail) and _CAPITAL.match(after):
        return True
    if _ORDINALS.fullmatch(language) and _ROMAN.fullmatch(word[1]) and _CAPITAL.match(after):
        return True
    # In German a noun follows an ordinal number, and has a capital as the beginning of a sentence has.
    ordinal = _ORDINAL.search(tail) if language == "de" else None
    if ordinal is None:
        return False
    determined = not ordinal["before"] or _DETERMINER.fullmatch(ordinal["before"])
    return bool(_MONTH.match(after) or (determined and not _OPENER.match(after)))


@cache
def _abbreviations(language: str, kind: str) -> frozenset[str]:
    """Returns the abbreviations of `abbreviations.txt`, as they stand there and with a capital. kind: before any word,
    or before numbers only."""
    lines = Path(__file__).with_name("abbreviations.txt").read_text(encoding="utf-8").splitlines()
    words = [word for line in lines if line.startswith(f"{language} {kind} ") for word in line.split()[2:]]
    return frozenset(words) | {word[0].upper() + word[1:] for word in words}


def _parts(text: str, language: str) -> Iterator[str]:
    """Yields the parts of a text that sentencex takes for sentences, in time that is proportional to its length."""
    with required("a text is cut into sentences by sentencex", "markup"):
        from sentencex import segment  # Not above: it is optional.
    begin = 0
    width = WINDOW
    while begin < len(text):
        parts = segment(language, _STRANGE_BLANK.sub(" ", text[begin : begin + width]))
        if begin + width < len(text):
            # The last part may go on behind the window.
            if len(parts) == 1:
                width *= 2
                continue
            parts.pop()
        for part in parts:
            yield from _asian_parts(text[begin : begin + len(part)])
            begin += len(part)
        width = WINDOW


def _opened(parts: Iterable[str]) -> Iterator[str]:
    """Yields parts, each with its opening quotation mark, which sentencex leaves at the end of the part before."""
    # A mark that opens a quotation belongs to the sentence after it.
    opening = ""
    for part in parts:
        part = opening + part
        match = _OPENING.search(part[-_TAIL:])
        closes = match is not None and match[0] in "\"'" and part.count(match[0]) % 2 == 0
        opening = match[0] if match and not closes else ""
        yield part.removesuffix(opening)
    if opening:
        yield opening


def _asian_parts(part: str) -> Iterator[str]:
    """Yields the sentences of a part that sentencex has not parted before a digit or a Latin letter."""
    begin = counted = depth = 0
    for match in _ASIAN_INNER.finditer(part):
        read = part[counted : match.start()]
        depth += sum(map(read.count, "「『（“")) - sum(map(read.count, "」』）”"))
        counted = match.start()
        # Within brackets or quotation marks no sentence ends.
        if depth <= 0:
            yield part[begin:counted]
            begin = counted
    yield part[begin:]
