import re

import pytest

from mt import markup
from mt.markup import html
from mt.markup.blocks import Kept
from mt.markup.segments import Segment
from mt.markup.words import Linked
from tests.markup.linked import identity


def texts(document: str) -> list[str]:
    pieces = html.read_attributes(document, Kept(), ("en", "de"))
    return [piece.text for piece in pieces if isinstance(piece, Segment)]


@pytest.mark.parametrize(
    ("document", "read"),
    [
        ('<body title="Prices"><img alt="A train" src="a b">', ["Prices", "A train"]),
        ("<input placeholder='Your name' aria-label=Name value='x'><input type=submit value=\"Send it\">", None),
        ('<meta name="description" content="All trains"><meta name="viewport" content="width=1">', ["All trains"]),
        ('<img alt="x" translate="no"><p translate="no" title="a">b <img alt="c"></p><i title="d">', ["d"]),
        ("<img alt=1984 title=a>", ["a"]),
        ('<code title="a">b</code><script src="a" title="b"></script><img alt=""><a title="—">', []),
        ('<img alt="{name} sees %s"> <img alt="%s: %d">', [" sees"]),
    ],
)
def test_attributes_that_people_read_are_texts(document: str, read: list[str] | None) -> None:
    expected = ["Your name", "Name", "Send it"] if read is None else read
    assert [text.strip() for text in texts(document)] == [text.strip() for text in expected]
    same = "".join(map(_written, html.read_attributes(document, Kept(), ("fr", "de"))))
    # Quotation marks may be new, and nothing else.
    assert re.sub("[\"']", "", same) == re.sub("[\"']", "", document)


def _written(piece: str | Segment) -> str:
    return markup.write([piece], [identity(piece.text)] if isinstance(piece, Segment) else [])


@pytest.mark.parametrize(
    ("document", "languages", "expected"),
    [
        ('<html lang="en-GB" xml:lang=en><p lang="fr">', ("en", "de"), '<html lang="de" xml:lang=de><p lang="fr">'),
        ('<html lang="en">', ("source", "target"), '<html lang="en">'),
    ],
)
def test_the_language_is_the_target_s(document: str, languages: tuple[str, str], expected: str) -> None:
    assert markup.write(html.read_attributes(document, Kept(), languages), []) == expected


@pytest.mark.parametrize(("quote", "written"), [('"', "a &quot;b&quot; c's &lt;d"), ("'", 'a "b" c&#39;s &lt;d')])
def test_what_would_end_an_attribute_is_escaped(quote: str, written: str) -> None:
    document = html.read_attributes(f"<img alt={quote}x{quote}>", Kept(), ("en", "de"))
    assert markup.write(document, [Linked('a "b" c\'s <d', [])]) == f"<img alt={quote}{written}{quote}>"
