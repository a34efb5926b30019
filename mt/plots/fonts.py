"""Chooses the fonts that draw a text: the bundled ones, then those that are installed, for as many scripts as
possible."""

import functools
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution

import regex
from matplotlib import font_manager
from matplotlib.font_manager import FontProperties

SQUARE = "□"
"""Stands for a character that no font has."""

# Fonts with a box for every character, which would hide that it has no glyph.
_PLACEHOLDERS = (".", "last resort", "adobe blank")
_warned: set[str] = set()


def characters(text: str) -> list[str]:
    """Cuts a text into what a reader takes for characters: a base with its combining marks (extended grapheme
    clusters)."""
    return regex.findall(r"\X", unicodedata.normalize("NFC", text))


def drawable(text: str) -> str:
    """Returns a text with a square for each character that no installed font has, and without combining marks that
    none has. Warns on standard error of a script that has no font, once."""
    return "".join(
        "".join(code for code in cluster if family_of(code) or not _is_mark(code))
        if family_of(cluster[0])
        else _missing(cluster[0])
        for cluster in characters(text)
    )


def shortened(text: str, limit: int) -> str:
    """Returns a text as it can be drawn, of at most `limit` characters, of which the last is an ellipsis where more are
    cut."""
    drawn = characters(drawable(text))
    return "".join(drawn if len(drawn) <= limit else [*drawn[: limit - 1], "…"])


def font(points: float, texts: Iterable[str]) -> FontProperties:
    """Returns a font, with fallbacks, in which `drawable` texts can be drawn. points: the height of its letters."""
    needed = {family_of(code) for text in texts for code in text}
    others = sorted(family for family in needed if family and family not in _bundled())
    return FontProperties(family=[*_bundled(), *others], size=points)


@functools.cache
def family_of(character: str) -> str | None:
    """Returns the first family that has a glyph for a character; None where none has."""
    if not character.isprintable():
        return None
    return next((family for family in _families() if ord(character) in _charmap(family)), None)


def _families() -> Iterator[str]:
    yield from _bundled()
    yield from _installed()


@functools.cache
def _bundled() -> tuple[str, ...]:
    # matplotlib-fontja brings a Japanese font. Located, not imported: its import changes everyone's settings.
    japanese = str(distribution("matplotlib-fontja").locate_file("matplotlib_fontja/fonts/ipaexg.ttf"))
    font_manager.fontManager.addfont(japanese)
    return "DejaVu Sans", font_manager.get_font(japanese).family_name


@functools.cache
def _installed() -> tuple[str, ...]:
    """Lists the families of this system, those for running text first."""
    known = {str(entry.fname) for entry in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        # matplotlib keeps a list from when it first ran, which knows no font that was installed since.
        if path not in known:
            try:
                font_manager.fontManager.addfont(path)
            except (OSError, RuntimeError, ValueError):
                continue
    # Of others matplotlib would log that it has no regular weight.
    entries = (entry for entry in font_manager.fontManager.ttflist if (entry.style, entry.weight) == ("normal", 400))
    names = {entry.name for entry in entries if not entry.name.lower().startswith(_PLACEHOLDERS)} - set(_bundled())
    # The bundled Japanese font lacks the simplified Han characters first of all.
    return tuple(sorted(names, key=lambda n: ("Sans" not in n, "Mono" in n, "Noto" not in n, not n.endswith(" SC"), n)))


@functools.cache
def _charmap(family: str) -> frozenset[int]:
    """Returns the code points that a family can draw; none where its file cannot be used, as of coloured bitmaps."""
    try:
        face = font_manager.get_font(font_manager.findfont(FontProperties(family=family), fallback_to_default=False))
        return frozenset(face.get_charmap()) if face.scalable else frozenset()
    except (OSError, RuntimeError, ValueError):
        return frozenset()


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _missing(character: str) -> str:
    """Warns that no font has a character, once for each script; returns what stands in its place."""
    script = _script(character)
    if script and script not in _warned:
        _warned.add(script)
        print(
            f"warning: no installed font has {script}, so that heatmaps show {SQUARE} in their place: install one, for "
            "example of the Noto family",
            file=sys.stderr,
        )
    return SQUARE


def _script(character: str) -> str | None:
    """Names the script of a character; None where it has none, as a control character."""
    kind = unicodedata.category(character)[0]
    name = unicodedata.name(character, "")
    if kind == "S":
        return "some of the symbols"
    script = name.partition(" ")[0]
    return f"some {script if script == 'CJK' else script.capitalize()} characters" if kind in "LMN" and name else None
