"""Tags that a model has put itself are taken where they are whole, nested and around words; else links put them."""

import pytest

from mt import markup
from mt.data.placeholders import Kept
from mt.markup.words import Linked, Span
from tests.markup.linked import identity

TEXT = "<b>one two</b> <i>three <br>four</i> five"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({}, TEXT),
        ({0: (4, 13)}, "one <b>two three</b> <i><br>four</i> five"),  # A neighbour keeps out of it.
        ({1: (19, 23)}, "<b>one two</b> three four <i><br>five</i>"),
        ({2: (14, 14)}, TEXT),
        ({2: (8, 8)}, "<b>one two</b> <i><br>three four</i> five"),
        ({2: (0, 0)}, TEXT),  # Not within its pair: put by links.
        ({0: (4, 13), 1: (8, 18)}, "one <b>two three</b> <i><br>four</i> five"),  # Crossing: the second by links.
        ({0: (8, 8)}, TEXT),  # Around nothing: by links.
        ({0: (5, 6)}, "one <b>two</b> <i>three <br>four</i> five"),  # Of a part of a word: around the word.
    ],
)
def test_learnt_places_are_checked(tags: dict[int, Span], expected: str) -> None:
    document = markup.read(TEXT, "html")
    linked: Linked = identity("one two three four five")._replace(tags=tags)
    found = markup.write(document, [linked])
    assert "".join(found.split()) == "".join(expected.split())


def test_learnt_places_follow_what_is_left_out() -> None:
    """A doubled placeholder of the translation goes, and the tags behind it move."""
    document = markup.read("{x} one <b>two</b>", "html", Kept(symbols=4))
    [segment] = [part for part in document if isinstance(part, markup.Segment)]
    symbol = segment.text[0]
    text = f"{symbol} {symbol} eins zwei"
    found = markup.write(document, [Linked(text, [], {0: (9, 13)})])
    assert found == "{x} eins <b>zwei</b>"
