from xml.etree import ElementTree

import pytest

from mt.errors import UserError
from tests.markup.linked import given, identity, translated

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
    expected = DOCUMENT.replace(
        "&amp; more</source>",
        '&amp; more</source><target>A <g id="1" ctype="bold">red</g> car<x id="2"/> &amp; more</target>',
    ).replace(
        "<target/>",
        '<target>Say <ph id="1">&lt;b&gt;</ph>it <bpt id="2">[</bpt>loud<ept id="2">]</ept></target>',
    )
    assert result == expected
    ElementTree.fromstring(result.encode())


def test_version_2_and_its_pairs() -> None:
    unit = '<xliff version="2.0"><file id="f"><unit id="u"><segment><source>{}</source></segment></unit></file></xliff>'
    source = '<pc id="1">red</pc> <mrk id="m" translate="no">Big Co</mrk> <sc id="2"/>car<ec startRef="2"/>'
    result = translated(unit.format(source), given("Auto rot", "0-1 1-0"), "xliff")
    target = '<mrk id="m" translate="no">Big Co</mrk> <sc id="2"/>Auto<ec startRef="2"/> <pc id="1">rot</pc>'
    assert f"</source><target>{target}</target>" in result


def test_what_is_no_xml_is_refused_with_its_line() -> None:
    with pytest.raises(UserError, match=r"line 2, column 6 is no XML \(mismatched tag\)"):
        translated("<xliff>\n<a></b></xliff>", identity, "xliff")
