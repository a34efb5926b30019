import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given as cases, strategies as st

from mt.markup.segments import ELEMENT, Event, partners_of
from mt.markup.words import Linked
from tests.marks import examples
from tests.markup.linked import given, identity, reverse, translated
from tests.refusals.sentences import require_refusal

DOCUMENT = """<?xml version='1.0' encoding="UTF-8"?>
<!-- kept -->
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original='a'
  source-language="en" target-language="de"><body>
  <trans-unit id="1"><source>A <g id="1" ctype="bold">red</g> car<x id="2"/> &amp; more</source></trans-unit>
  <trans-unit id="2"><source>Done</source><target state="final">Fertig</target></trans-unit>
  <trans-unit id="3" translate="no"><source>ACME</source></trans-unit>
  <trans-unit id="4"><source>Say <ph id="1">&lt;b&gt;</ph>it <bpt id="2">[</bpt>loud<ept id="2">]</ept></source>
    <target/><alt-trans><source>x</source><target>y</target></alt-trans></trans-unit>
</body></file></xliff>
"""


def test_targets_are_written_where_none_is() -> None:
    result = translated(DOCUMENT, identity, "xliff")
    first = '<target>A <g id="1" ctype="bold">red</g> car<x id="2"/> &amp; more</target>'
    fourth = '<target>Say <ph id="1">&lt;b&gt;</ph>it <bpt id="2">[</bpt>loud<ept id="2">]</ept></target>'
    assert result == DOCUMENT.replace("more</source>", f"more</source>{first}").replace("<target/>", fourth)
    ElementTree.fromstring(result.encode())


def test_version_2_and_its_pairs() -> None:
    unit = '<xliff version="2.0"><file id="f"><unit id="u"><segment><source>{}</source></segment></unit></file></xliff>'
    source = '<pc id="1">red</pc> <mrk id="m" translate="no">Big Co</mrk> <sc id="2"/>car<ec startRef="2"/>'
    result = translated(unit.format(source), given("Auto rot", "0-1 1-0"), "xliff")
    target = '<mrk id="m" translate="no">Big Co</mrk> <sc id="2"/>Auto<ec startRef="2"/> <pc id="1">rot</pc>'
    assert f"</source><target>{target}</target>" in result


def bodied(inside: str, version: str = "1.2", attributes: str = "") -> str:
    namespace = f'xmlns="urn:oasis:names:tc:xliff:document:{version}"'
    return f'<xliff version="{version}" {namespace} {attributes}><file><body>{inside}</body></file></xliff>'


UNITS = {
    # Literal sections stay such, and what they hold is text or HTML.
    "<source><![CDATA[A red & blue car]]></source>": "<target><![CDATA[A red & blue car]]></target>",
    "<source><![CDATA[<p>A <b>red</b> car</p>]]></source>": "<target><![CDATA[<p>A <b>red</b> car</p>]]></target>",
    "<source>One <![CDATA[a < b]]> two</source>": "<target>One <![CDATA[a < b]]> two</target>",
    # A target is blank where it holds a frame alone.
    '<source>a</source><target><mrk mtype="seg"/></target>': "<target>a</target>",
    '<source>a</source><target state="new"> <!-- later --> </target>': '<target state="new"><!-- later -->a</target>',
    '<source>a</source><target xml:lang="de" />': '<target xml:lang="de">a</target>',
    "<source>a</source><target><![CDATA[]]></target>": "<target>a</target>",
    # Others stay.
    '<source>a</source><target state="new">b</target>': None,
    '<source>a <x id="1"/></source><target><x id="1"/></target>': None,
    "<source> </source>": None,
    "<source/>": None,
    # Segments are those of the file.
    '<source>A b. C d.</source>\n<seg-source><mrk mtype="seg" mid="1">A b.</mrk> <mrk mtype="seg" mid="2">C d.</mrk>'
    '</seg-source><target><mrk mtype="seg" mid="1"/></target>': '<target><mrk mtype="seg" mid="1">A b.</mrk> '
    '<mrk mtype="seg" mid="2">C d.</mrk></target>',
    '<source>A. B.</source><seg-source><mrk mtype="seg" mid="1">A.</mrk> <mrk mtype="seg" mid="2">B</mrk></seg-source>'
    '<target><mrk mtype="seg" mid="2"> </mrk> <mrk mtype="seg" mid="1">C.</mrk></target>': "<target>"
    '<mrk mtype="seg" mid="2">B</mrk> <mrk mtype="seg" mid="1">C.</mrk></target>',
    # What a tool has locked stays blank.
    '<source>A. B.</source><seg-source><mrk mtype="seg" mid="1">A.</mrk> <mrk mtype="seg" mid="2">B</mrk></seg-source>'
    '<target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"/></target><s:seg-defs xmlns:s="urn:s"><s:seg id="1" '
    'locked="true"/><s:seg id="2" locked="false"/></s:seg-defs>': '<target><mrk mtype="seg" mid="1"/> '
    '<mrk mtype="seg" mid="2">B</mrk></target><s:seg-defs xmlns:s="urn:s"><s:seg id="1" locked="true"/><s:seg id="2" '
    'locked="false"/></s:seg-defs>',
    # A proposal is no target.
    "<source>a</source><alt-trans><source>x</source><target>y</target></alt-trans>": "<target>a</target><alt-trans>"
    "<source>x</source><target>y</target></alt-trans>",
    # Entities of the document's own are kept, and so are references that say no text.
    "<source>a &brand; b &#9; c</source>": "<target>a &brand; b &#9; c</target>",
}


@pytest.mark.parametrize("unit", UNITS)
def test_targets(unit: str) -> None:
    around = '<!DOCTYPE xliff [<!ENTITY brand "Big Co">]>' if "&brand;" in unit else ""
    document = around + bodied(f'<trans-unit id="1">{unit}</trans-unit>')
    target = UNITS[unit]
    expected = document
    if target is not None:
        before = unit.partition("<target")[0].partition("<alt-trans")[0]
        expected = document.replace(unit, before + target)
    assert translated(document, identity, "xliff") == expected
    ElementTree.fromstring(expected)


@pytest.mark.parametrize(
    "inside",
    [
        "<trans-unit><source>a</source><target>b</target><alt-trans><source>x</source><target/></alt-trans></trans-unit>",
        '<group translate="no"><trans-unit id="1"><source>a</source></trans-unit></group>',
        '<unit xmlns:its="http://www.w3.org/2005/11/its" its:translate="no"><source>a</source></unit>',
        "<unit><ignorable><source> a </source></ignorable></unit>",
        '<unit><m:matches xmlns:m="urn:oasis:names:tc:xliff:matches:2.0"><m:match><source>a</source></m:match>'
        "</m:matches></unit>",
        '<resource:source xmlns:resource="urn:x">red</resource:source>',
        '<trans-unit xmlns:mq="MQXliff" mq:locked="locked"><source>a</source><target/></trans-unit>',
        '<group xmlns:m="http://www.memsource.com/mxlf/2.0"><trans-unit m:locked="true"><source>a</source></trans-unit>'
        "</group>",
        '<trans-unit xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0"><source>a</source><target/><sdl:seg-defs>'
        '<sdl:seg id="1" locked="true"/></sdl:seg-defs></trans-unit>',
    ],
)
def test_what_is_not_of_the_document_is_left(inside: str) -> None:
    assert translated(bodied(inside), identity, "xliff") == bodied(inside)


def test_a_source_that_is_the_whole_document_is_left() -> None:
    assert translated("<source>a</source>", identity, "xliff") == "<source>a</source>"


def test_prefixes_and_namespaces() -> None:
    document = '<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:1.2"><x:source>a</x:source></x:xliff>'
    expected = document.replace("</x:source>", "</x:source><x:target>a</x:target>")
    assert translated(document, identity, "xliff") == expected


def test_segments_of_cat_tools_are_translated_one_by_one() -> None:
    inside = '<g id="7"><mrk mtype="seg" mid="1">one two</mrk> <mrk mtype="seg" mid="2">a b</mrk></g>'
    document = bodied(f"<trans-unit><source>one two a b</source><seg-source>{inside}</seg-source></trans-unit>")
    target = '<target><g id="7"><mrk mtype="seg" mid="1">two one</mrk> <mrk mtype="seg" mid="2">b a</mrk></g></target>'
    assert f"</seg-source>{target}" in translated(document, reverse, "xliff")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # Words move, and pairs with them; a pair in part of another element stays.
        ("a &lt;b&gt;red&lt;/b&gt; car", "car &lt;b&gt;red&lt;/b&gt; a"),
        ("a <![CDATA[b <i>c</i>]]>", "a <![CDATA[<i>c</i> b]]>"),
        ("R&amp;amp;D &amp;copy; x", "x &amp;copy; R&amp;amp;D"),
        ("a&lt;sup&gt;1&lt;/sup&gt; b&lt;p&gt;c", "b a&lt;sup&gt;1&lt;/sup&gt;&lt;p&gt;c"),
        # What is no tag is text, and what is one is kept.
        ("x &lt; y", "y &lt; x"),
        ("press &lt;Enter&gt;", "press &lt;Enter&gt;"),
        # Pairs of Angular, and Apple's plurals.
        (
            'a <x id="START_LINK_1"/>b c<x id="CLOSE_LINK"/> d <x id="START_LINK"/>e<x id="CLOSE_LINK"/>',
            '<x id="START_LINK"/>e<x id="CLOSE_LINK"/> d <x id="START_LINK_1"/>c b<x id="CLOSE_LINK"/> a',
        ),
        ("a b %#@red_cars@ c %arg", "c b a %#@red_cars@ %arg"),
        # So is a line break that is written as such; within a path it is none.
        (r"a b\n\nC d:\nE, f.\n g", r"b a\n\nd: C\nf. E,\n g"),
        (r"C:\new d\n", r"d C:\new\n"),
        # The texts of a plural of Symfony or Laravel are translated one by one, and one of ICU stays whole.
        ("{0} a b|{1} c d|]1,Inf] %count% e", "{0} b a|{1} d c|]1,Inf] %count% e"),
        ("[0,1]a b|[2,*]:count c", "[0,1]b a|[2,*]c :count"),
        ("one file|%count% files {{ x|y }}", "file one|%count% files {{ x|y }}"),
        ("{0} of {1} a", "{0} {1} a of"),
        ("{n, plural, one {# a} other {# b|c}} d e", "{n, plural, one {# a} other {# b|c}} e d"),
    ],
)
def test_what_moves_and_what_stays(source: str, expected: str) -> None:
    result = translated(bodied(f"<trans-unit><source>{source}</source></trans-unit>"), reverse, "xliff")
    assert f"<target>{expected}</target>" in result


def test_white_space_that_is_preserved_stays() -> None:
    source = "\n  one two\n\tthree four\n"
    document = bodied(f'<trans-unit xml:space="preserve"><source>{source}</source></trans-unit>')
    assert "<target>\n  two one\n\tfour three\n</target>" in translated(document, reverse, "xliff")
    collapsed = document.replace(' xml:space="preserve"', "")
    assert "<target>\n  four three two one\n</target>" in translated(collapsed, reverse, "xliff")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<xliff>\n<a></b></xliff>", r"line 2, column 6 is no XML \(mismatched tag\)"),
        ("<xliff><source>a</xliff>", "line 1, column 19 is no XML"),
        ("", r"line 1, column 1 is no XML \(no element found\)"),
        ("<xliff>\n&nbsp;</xliff>", r"line 2, column 1 is no XML \(undefined entity\)"),
        ("<xliff><m:a/></xliff>", r"is no XML \(unbound prefix\)"),
        ("<xliff>\ud800</xliff>", "is no XML"),
        ("<resources><string>a</string></resources>", "is no XLIFF, but XML of <resources>: choose another format"),
    ],
)
def test_what_is_no_xliff_is_refused(text: str, sentence: str) -> None:
    require_refusal(lambda: translated(text, identity, "xliff"), f"^the text .*{sentence}")


def test_entities_are_not_put_in_place_of_their_names() -> None:
    """So that a few lines of them do not become gigabytes."""
    lines = [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 30)]
    document = f'<!DOCTYPE xliff [<!ENTITY e0 "x">{"".join(lines)}]><xliff><source>a &e29; b</source></xliff>'
    assert "<target>a &e29; b</target>" in translated(document, identity, "xliff")
    hostile = document.replace("<source>", '<source a="&e29;">')
    require_refusal(lambda: translated(hostile, identity, "xliff"), "is no XML")


@pytest.mark.parametrize(
    "inside",
    [
        "<source> </source>",
        "<trans-unit><source>a</source></trans-unit>",
        "<source>a</source><x/>",
        "<trans-unit><source>a</source><target><mrk/></target></trans-unit>",
    ],
)
def test_time_grows_with_the_number_of_units(inside: str) -> None:
    """Of the work that is done, since time is also that of others: the calls of Python's own functions."""

    def calls(count: int) -> int:
        seen = 0

        def note(*_: object) -> None:
            nonlocal seen
            seen += 1

        document = bodied(inside * count)
        sys.setprofile(note)
        try:
            translated(document, identity, "xliff")
        finally:
            sys.setprofile(None)
        return seen

    assert calls(800) < 9 * calls(100)


PIECES = [
    *("die", "A. B", "{x}", " ", "\n", "&amp;", "]]&gt;", "&lt;i&gt;", "&lt;/i&gt;", "&lt;p&gt;", "&lt;a href='"),
    *("&lt;code&gt;", "&lt;/code&gt;", "&lt;sup&gt;", "&lt;/sup&gt;", "&amp;nbsp;", "<g id='1'>", "</g>"),
    *("<bpt id='2'>[</bpt>", "<ept id='2'>]</ept>", "<sc id='3'/>", "<ec startRef='3'/>"),
    *("<em startRef='4'/>", "<![CDATA[a <b>]]>", "<mrk mtype='seg' mid='5'>", "</mrk>", "<ph id='6'>&lt;b&gt;</ph>"),
    *("<sm id='4' translate='no'/>", "<!-- c -->", "<x id='7'/>"),
]


@examples(300)
@cases(
    st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join),
    st.sampled_from(["", " xml:space='preserve'"]),
    st.lists(st.sampled_from(["die", "&", "<b", "]]>", "a&copy", "\x01", "&lt;"]), max_size=6).map(" ".join),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=8),
)
def test_any_translation_is_xml_with_all_codes(content, space, text, links):
    document = bodied(f"<trans-unit{space}><source>One {content}</source></trans-unit>")
    try:
        ElementTree.fromstring(document)
    except ElementTree.ParseError:
        return
    result = translated(document, lambda _: Linked(text, links), "xliff")
    source, target = ({child.tag: child for child in ElementTree.fromstring(result)[0][0][0]}[name] for name in SIDES)
    parts = [[part for part in side.iter() if part is not side] for side in (source, target)]
    ids = [sorted((part.tag, *part.attrib.items()) for part in of_side) for of_side in parts]
    assert ids[0] == ids[1]


SIDES = [f"{{urn:oasis:names:tc:xliff:document:1.2}}{name}" for name in ("source", "target")]


def test_tags_within_an_element_have_their_partners_within_it() -> None:
    names = ["b", f"{ELEMENT}g", "b", f"{ELEMENT}g", "b"]
    events = [Event("start" if place < 2 else "end", "", name) for place, name in enumerate(names)]
    assert partners_of(events) == {0: 4, 4: 0, 1: 3, 3: 1}
