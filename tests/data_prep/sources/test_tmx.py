"""Translation memories: what is read of them, and what is refused."""

import gzip
from pathlib import Path

import pytest

from data_prep.sources import open_source
from data_prep.sources.tmx import TmxFile
from mt.data.dataset import DatasetConfig
from tests.refusals.sentences import require_refusal

_DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
_MANY = [(f"word {number}" + 300 * " x", f"Wort {number}") for number in range(5_000)]
"""More bytes than are read at once."""


def test_an_archive_is_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "train.zip").touch()
    config = DatasetConfig(folder=str(tmp_path), source="en", target="de", dev_size=1)
    require_refusal(lambda: open_source(config), r"train\.zip is an archive, which only 0\.3\.0 still reads: unpack it")


def _unit(**texts: str) -> str:
    named = [(name.replace("_", "-"), text) for name, text in texts.items()]
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in named)
    return f"<tu>{variants}</tu>\n"


def _memory(folder: Path, units: str, before: str = _DOCTYPE, encoding: str = "UTF-8") -> Path:
    path = folder / "train.tmx"
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n{before}\n<tmx version="1.4"><header/><body>'
    path.write_bytes(f"{head}\n{units}</body></tmx>".encode(encoding))
    return path


def _read(path: Path, source: str = "en", target: str = "de") -> list[tuple[str, str]]:
    return [pair[:2] for pair in TmxFile(path, (source, target)).read()]


def test_a_translation_memory(tmp_path: Path) -> None:
    path = _memory(tmp_path, "".join(_unit(en=source, de=target) for source, target in _MANY))
    assert _read(path) == _MANY
    packed = tmp_path / "train.tmx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert _read(packed) == _MANY


def test_what_a_unit_holds(tmp_path: Path) -> None:
    units = [
        _unit(EN_GB="a &amp; b &lt;c&gt;", de="  ein\n   Haus "),
        _unit(en="no German", fr="pas"),
        _unit(en='<bpt i="1">{\\b</bpt>bold<ept i="1">}</ept> <hi>high</hi><ph>{x}</ph>', de_DE="fett"),
        '<tu><tuv lang="en"><prop type="x">not this</prop><seg>one</seg></tuv><tuv lang="de"><seg/></tuv></tu>\n',
        _unit(en="first", de="erste", de_AT="andere"),
    ]
    expected = [("a & b <c>", "ein Haus"), ("bold high", "fett"), ("one", ""), ("first", "erste")]
    assert _read(_memory(tmp_path, "".join(units))) == expected


@pytest.mark.parametrize("encoding", ["gb2312", "shift_jis", "nonsense"])
def test_an_encoding_that_cannot_be_read_is_refused(tmp_path: Path, encoding: str) -> None:
    path = _memory(tmp_path, _unit(en="a", de="b"))
    path.write_text(path.read_text().replace("UTF-8", encoding))
    require_refusal(lambda: _read(path), r"train\.tmx says that it is in an encoding that cannot be read \(.*convert")


def test_no_entity_vanishes(tmp_path: Path) -> None:
    path = _memory(tmp_path, _unit(en="10&nbsp;000 &euro; &amp; &#x41; <![CDATA[<b> & c]]>", de="x"))
    assert _read(path) == [("10\N{NO-BREAK SPACE}000 € & A <b> & c", "x")]
    for before in (_DOCTYPE, "", "<!DOCTYPE tmx []>"):
        path = _memory(tmp_path, _unit(en="10 &gulden;", de="x"), before)
        require_refusal(lambda path=path: _read(path), r"train\.tmx, line 4 is not XML \(undefined entity")


@pytest.mark.parametrize("kind", ["SYSTEM 'file:///etc/passwd'", "PUBLIC '-' 'http://x.invalid/e'"])
def test_other_files_are_not_read(tmp_path: Path, kind: str) -> None:
    path = _memory(tmp_path, _unit(en="&a;", de="x"), f"<!DOCTYPE tmx [<!ENTITY a {kind}>]>")
    require_refusal(lambda: _read(path), r"train\.tmx, line 4 is not XML \(undefined entity")


def test_a_namespace_of_its_own(tmp_path: Path) -> None:
    path = _memory(tmp_path, _unit(en="a <hi>b</hi>", de="c"))
    path.write_text(path.read_text().replace("<tmx ", '<tmx xmlns="http://www.lisa.org/tmx14" '))
    assert _read(path) == [("a b", "c")]


@pytest.mark.parametrize(
    ("units", "sentence"),
    [
        ("<tu>", r"train\.tmx, line 4 is not XML \(.*\): copy the file again"),
        (_unit(en="a", fr="b"), r"train\.tmx has no units in de: choices: en, fr; set dataset\.source and"),
        ("", r"train\.tmx has no units in en and de: expected units of both languages"),
        (_unit(en="a</seg><seg>b", de="c"), r"train\.tmx, unit 1 has a second <seg> in one <tuv>, whose text would be"),
        (_unit(en="a<seg>b</seg>c", de="c"), r"train\.tmx, unit 1 has a second <seg> in one <tuv>"),
    ],
)
def test_a_bad_memory_is_refused(tmp_path: Path, units: str, sentence: str) -> None:
    require_refusal(lambda: _read(_memory(tmp_path, units)), sentence)


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('one<ph type="lb">&lt;br/&gt;</ph>two', "one two"),
        ('one<bpt i="1">&lt;p&gt;</bpt>two<ept i="1">&lt;/p&gt;</ept>three', "one two three"),
        ('one<it pos="begin">&lt;td&gt;</it>two<ut>{\\tab}</ut>three', "one two three"),
        ("one <ph/> two<ph/>, three", "one  two, three"),
        ('<bpt i="1" type="bold">b</bpt>F<ept i="1">/b</ept>ile', "File"),
        ("an <hi>orange</hi>s", "an oranges"),
        ("one<ph>fn<sub>a note</sub></ph>two.", "one two."),
        ("one<sub>two</sub>three", "one two three"),
        ("你<ph/>好", "你好"),
    ],
)
def test_codes_are_left_out_and_glue_no_words(tmp_path: Path, segment: str, text: str) -> None:
    assert _read(_memory(tmp_path, _unit(en=segment, de="x"))) == [(text, "x")]


@pytest.mark.parametrize(
    ("written", "asked"),
    [("zh-CN", "zh_cn"), ("ZH-cn", "zh-CN"), ("zh-CN", "zh"), ("zh-Hans-CN", "zh-CN"), ("EN", "en")],
)
def test_one_language_has_several_spellings(tmp_path: Path, written: str, asked: str) -> None:
    path = _memory(tmp_path, _unit(**{written: "a", "de": "b"}))
    assert _read(path, asked) == [("a", "b")]
    require_refusal(lambda: _read(path, "zh-TW"), r"has no units in zh-TW")


def test_what_may_be_two_languages_is_refused(tmp_path: Path) -> None:
    path = _memory(tmp_path, _unit(zh_TW="a", zh_CN="b", de="c"))
    require_refusal(
        lambda: _read(path, "zh"), r"train\.tmx, unit 1 has zh-cn and zh-tw, and zh may be either: set dataset"
    )
    assert _read(path, "zh-tw") == [("a", "c")]
    # The same code in another spelling comes before a longer one, and one text is not both sides.
    path = _memory(tmp_path, _unit(zh_CN="a", zh_Hans_CN="b", de="c"))
    assert _read(path, "zh_CN") == [("a", "c")]
    require_refusal(lambda: _read(path, "de", "DE"), "has no units in")


@pytest.mark.parametrize("codes", [("zh-cn", "zh-tw"), ("pt", "pt-br"), ("sr-cyrl", "sr-latn")])
def test_units_in_several_regions_or_scripts_are_told(tmp_path: Path, codes: tuple[str, str]) -> None:
    path = _memory(tmp_path, "".join(_unit(**{"en": "a", code: "b"}) for code in codes))
    splits = {"train": "train", "dev": "train", "test": None}
    source = open_source(DatasetConfig(source="en", target=codes[0][:2], folder=str(tmp_path), splits=splits))
    assert len(list(source.splits["train"].read())) == 2
    note = f"{codes[0][:2]} is {codes[0]} in some units, {codes[1]} in others"
    assert source.notes()[0].startswith(f"{path}: {note}: set dataset.source and dataset.target to one of them")


def test_units_that_are_left_out_are_counted(tmp_path: Path) -> None:
    path = _memory(tmp_path, _unit(en="a", de="b") * 2 + _unit(en="a", fr="b") + _unit(de="b"))
    memory = TmxFile(path, ("en", "de"))
    for _ in range(2):
        assert len([*memory.read()]) == 2
        assert memory.notes() == [f"{path}: 2 of 4 units have no en or no de, and are left out"]
