"""The form in which texts are compared: one composition and one notion of a blank, for both sides of every metric.

A model reads and writes composed text with single blanks, whatever its training text was. So a reference is brought
into the same form before it is compared, as a hypothesis of anybody else's is; in files both stay as they are.

A blank is what `str.split` takes for one: all of Unicode's White_Space (tab, no-break space, ideographic space, line
separators) and U+001C to U+001F. Zero-width characters are none of it: they are characters, and a model can write them.
"""

import unicodedata
from collections.abc import Iterable

COMPOSED = "unicode:nfc"
"""The field of a signature where texts were composed that were not."""


def normalize(text: str) -> str:
    """Returns a text as a model reads and writes it: composed (NFC), each run of white space one U+0020, none at the
    ends."""
    # Most text is so already, and preparation sees millions of lines. U+0020 is the only printable white space.
    blanks = text.isprintable() and "  " not in text and text == text.strip()
    if blanks and unicodedata.is_normalized("NFC", text):
        return text
    return " ".join(unicodedata.normalize("NFC", text).split())


def comparable(text: str, *, lowercase: bool = False, newlines: bool = False) -> str:
    r"""Returns a text in the form that both sides of a metric are brought to: that of `normalize`.

    lowercase: whether capitals are compared as small letters; both small sigmas of Greek are one then, since which of
    them a capital stands for depends on its neighbours. newlines: whether lines stay apart.

    >>> comparable(" Cafe\u0301\u00a0 au\tlait")
    'Café au lait'
    >>> comparable("ΟΔΟΣ", lowercase=True) == comparable("οδος", lowercase=True)
    True
    """
    if newlines:
        return "\n".join(comparable(line, lowercase=lowercase) for line in text.split("\n"))
    text = normalize(text)
    return unicodedata.normalize("NFC", text.lower().replace("ς", "σ")) if lowercase else text


def is_blank(text: str) -> bool:
    r"""Returns whether a text shows nothing, but blanks and characters without a width: nothing can be compared with
    it.

    >>> is_blank(" \u3000\u200b"), is_blank(" \u200b.")
    (True, False)
    """
    return all(character.isspace() or unicodedata.category(character) in ("Cc", "Cf") for character in text)


def are_composed(texts: Iterable[str]) -> bool:
    """Returns whether composition (NFC) leaves all of the texts as they are."""
    return all(unicodedata.is_normalized("NFC", text) for text in texts)


def with_field(signature: str, field: str) -> str:
    """Adds a field to a signature, before that of the version.

    >>> with_field("nrefs:1|tok:13a|version:2.6.0", "unicode:nfc")
    'nrefs:1|tok:13a|unicode:nfc|version:2.6.0'
    """
    fields, mark, version = signature.partition("|version:")
    return f"{fields}|{field}{mark}{version}"
