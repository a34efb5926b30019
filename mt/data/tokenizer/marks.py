"""What SentencePiece cuts in place of a text, so that decoding gives back every text, even one that holds its marks.

SentencePiece writes `▁` where a blank is, and learns nothing from lines with `▅`; a vocabulary of words has a mark of
its own. A text may hold these characters as well. A word has no white space in it, so that the separators U+001C to
U+001F, which are white space, are free to stand for them.
"""

import re
from collections.abc import Mapping

from mt.data.words import runs

SPACE = "▁"
"""SentencePiece's mark on a piece that starts a word."""
JOINER = "￭"
"""Marks a token of a vocabulary of words that follows without a blank."""
ESCAPED_SPACE = "\x1c"
ESCAPED_BLOCK = "\x1d"
_ESCAPED_JOINER = "\x1e"
RESERVED = "\x1f"
"""Stands before names of special pieces while a vocabulary is learnt, so that no text holds them."""

Escapes = Mapping[int, str]
ESCAPES: Escapes = {ord(SPACE): ESCAPED_SPACE, ord("▅"): ESCAPED_BLOCK}
ESCAPES_OF_WORDS: Escapes = {**ESCAPES, ord(JOINER): _ESCAPED_JOINER}
_RESTORED = {ord(escape): chr(mark) for mark, escape in ESCAPES_OF_WORDS.items()}
_JOINED = re.compile(rf"(?: +|^){JOINER}")


def prepared(word: str, escapes: Escapes, *, of_words: bool) -> str:
    """Returns what SentencePiece is to cut for what stands between blanks.

    escapes: for the characters that it would not give back. of_words: whether punctuation
    marks are set apart by blanks that can be undone: `ja!` becomes `ja ￭!`.
    """
    if of_words:
        return f" {JOINER}".join(run.translate(escapes) for run in runs(word))
    return word.translate(escapes)


def restored(text: str) -> str:
    """Returns the text with the characters that escapes stand for."""
    return text.translate(_RESTORED)


def text_of(decoded: str, *, of_words: bool) -> str:
    """Returns the text of what SentencePiece decoded, with one blank between words."""
    if of_words:
        decoded = _JOINED.sub("", decoded)
    return " ".join(restored(decoded).split())


def offsets_of_characters(text: str, *, of_words: bool) -> list[int]:
    """Returns where the characters, blanks apart, stand in a text as SentencePiece cuts or decodes it."""
    joiners = {match.end() - 1 for match in _JOINED.finditer(text)} if of_words else ()
    return [i for i, character in enumerate(restored(text)) if not (character.isspace() or i in joiners)]
