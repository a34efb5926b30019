"""The law of every format: a translator that returns its text, each character linked to itself, writes what it read.

Documents go the whole way: they are cut into sentences, these are joined again, and tags are placed by the links."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from mt import markup
from mt.data.words import word_spans
from mt.decoding.documents import joined, sentences
from mt.markup.blocks import Kept
from mt.markup.segments import Segment
from mt.markup.words import Linked
from tests.marks import examples
from tests.markup.linked import identity


def unchanged(document: str, form: str, symbols: int = 0, *, unsure: bool = False) -> str:
    """Returns a document that is translated into itself. unsure: whether all of its words are marked."""
    parts = markup.read(document, form, Kept(symbols=symbols))
    blocks = [sentences(part, "en") for part in parts if isinstance(part, Segment)]
    links: list[Linked] = [joined([(identity(one.text), one) for one in block]) for block in blocks]
    if unsure:
        links = [one._replace(unsure=word_spans(one.text)) for one in links]
    return markup.write(parts, links)


# HTML.

HTML = [
    # Words, marks, and blanks of all kinds.
    *("the", "Train", "leaves", "2024", "18:55", "o'clock", "Cafe\u0301", "東京", "ไทย", "🚂", "a-b", "A. B", "So?"),
    *(".", ",", "!", "(", ")", "«", "»", "|", "€", "%", "/", "-", "…", "' '", "  ", "\n", "\t", "\r\n", "\r", "\f"),
    *("\u00a0", "\u200b", "\u3000", "\u2028", "\u202f", "\ufeff", "\x01", "\x1c", "\x85", "\ufffd", "\uf500"),
    # Pairs, what is open or closed alone, and what has no words.
    *("<b>", "</b>", "<a href='u'>", "</a>", "<i>", "</i>", "<sup>", "</sup>", "<p>", "</p>", "<li>", "<td>"),
    *("<br>", "<wbr>", "<img src=x alt='> b'>", "<br/>", "<x-y/>", "<!-- - -->", "<?php x ?>", "<![x]>"),
    *("<code>x < y</code>", "<span translate=no>Big Co</span>", "<script>a<b</script>", "<pre> a  b\n</pre>"),
    *(f"&#{'1' * 5000};", f"&#{'0' * 5000}65;", f"<i title='&#{'1' * 5000};'>"),
    *("<!DOCTYPE html>", "<html lang=en>", "<a { $howto }>", "</ul>", "<style>p { a }</style>", "<p translate=no>"),
    # Attributes that are translated, with references as attributes have them.
    *("<img alt='A &quot;b&quot; &region=x &copy2 &amp; '>", '<a title="a  b\n c" href=u>', "<i title='>'>"),
    *("<p title=Home&copy>", '<input placeholder="&#x22;a&#1;" aria-label=\'"b"\'>'),
    # References, those without a semicolon too, and what only looks so.
    *("&amp;", "&lt;b&gt;", "&nbsp;", "&copy", "&copy2024", "&region", "&notin;", "&not", "&AMP", "&#65", "&#x41;"),
    *("&#1;", "&#0;", "&#x80;", "&#xD800;", "&#x110000;", "&#x1F682;", "&#32;", "&zwj;", "&NotEqualTilde;", "&"),
    *("&own;", "&;", "&#;", "&#x;", "<", "< ", ">", "</", "<a b", "<!", "<!x>", "</ >", "<>", '"'),
    # Placeholders.
    *("{name}", "{n}%", "{a}/{b}", "%s", "%1$d", "%(n)s", "%count%", "${x}", "{{ x }}", "%%", "{", "}"),
]
XML = [
    *("the", "Train", "2024", "Cafe\u0301", "東京", "A. B", ".", "|", "  ", "\n", "\t", "\r\n", "\u00a0", "\ufffd"),
    *("&amp;", "&lt;", "&gt;", "&lt;b&gt;", "&lt;/b&gt;", "&lt;br/&gt;", "&#65;", "&#xA0;", "&#13;", "&quot;", '"'),
    *("&amp;amp;", "&amp;nbsp;", "&amp;copy", "<![CDATA[a & b]]>", "<![CDATA[<p>a</p>]]>", "<![CDATA[]]>"),
    *("<x id='1'/>", "<ph id='2'>&lt;b&gt;</ph>", "<bpt id='3'>[</bpt>", "<ept id='3'>]</ept>", "<!-- c -->"),
    *("<sc id='4' isolated='yes'/>", "<ec id='4' isolated='yes'/>", "<sc id='5'/>", "<ec startRef='5'/>"),
    *("<g id='6'>red</g>", "<g id='7'> a  b </g>", "<mrk translate='no'>Co</mrk>", "<g id='8'></g>", "<?pi x?>"),
    *("{name}", "{n}%", "{a}/{b}", "%s", "%count%"),
    *("&lt;img alt='A &amp;quot;b&amp;copy'/&gt;", '&lt;a title="A  b"&gt;', "<![CDATA[<img alt='a & b &copy'>]]>"),
]
UNIT = '<xliff version="1.2"><file><body>\n<trans-unit id="1"{}><source>{}</source></trans-unit></body></file></xliff>'


def filled(document: str) -> str:
    """Returns the document with a target behind each source that says the same."""
    return re.sub(r"<source>(.*?)</source>", r"<source>\1</source><target>\1</target>", document, flags=re.DOTALL)


def of(pieces: Sequence[str], most: int = 9) -> st.SearchStrategy[str]:
    """Any pieces, with and without blanks between."""
    lists = st.lists(st.sampled_from([*pieces, " ", " ", " "]), max_size=most)
    return st.builds(str.join, st.sampled_from(["", " "]), lists)


@examples(500)
@given(of(HTML), st.sampled_from([0, 16]))
def test_any_html(text: str, symbols: int) -> None:
    assert unchanged(text, "html", symbols) == text


@examples(500)
@given(of([piece for piece in HTML if "<" not in piece and "&" not in piece]), st.sampled_from([0, 16]))
def test_any_text(text: str, symbols: int) -> None:
    assert unchanged(text, "text", symbols) == text


@examples(500)
@given(of(XML), st.sampled_from(["", " xml:space='preserve'"]), st.sampled_from([0, 16]))
def test_any_xliff(content: str, attribute: str, symbols: int) -> None:
    document = UNIT.format(attribute, f"One {content}")
    assert unchanged(document, "xliff", symbols) == filled(document)


# Marks of what is probably wrong.


@examples(200)
@given(of([piece for piece in HTML if "]" not in piece]), of([piece for piece in XML if "]" not in piece]))
def test_marks_change_nothing_else(text: str, content: str) -> None:
    """Without them a document is what it was, and XLIFF stays well-formed."""
    document = UNIT.format("", f"One {content}")
    for written, form in ((text, "html"), (document, "xliff")):
        marked = unchanged(written, form, unsure=True)
        assert marked.replace("[?", "").replace("]", "") == unchanged(written, form)
    assert "<target>[?One]" in marked
    ElementTree.fromstring(marked)


@pytest.mark.parametrize(
    ("form", "text", "marked"),
    [
        ("html", "<p>R&amp;D <b>H<sub>2</sub>O</b> {n}</p>", "<p>[?R][?&amp;][?D] <b>[?H<sub>2</sub>O]</b> {n}</p>"),
        ("html", "<title>One &lt;</title>", "<title>[?One] [?&lt;]</title>"),
        ("text", "a < {b}", "[?a] [?<] {b}"),
    ],
)
def test_words_are_marked_where_they_stand(form: str, text: str, marked: str) -> None:
    assert unchanged(text, form, unsure=True) == marked


def test_marks_stand_in_literal_sections() -> None:
    document = UNIT.format("", "<![CDATA[an <b>x</b>]]>")
    written = unchanged(document, "xliff", unsure=True)
    target = ElementTree.fromstring(written).find(".//target")
    assert target is not None and target.text == "[?an] <b>[?x]</b>"
