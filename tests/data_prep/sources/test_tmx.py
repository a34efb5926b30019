"""What a translation memory says beside plain text: entities, codes of a word processor, codes of languages."""

from pathlib import Path

import pytest

from data_prep.sources import open_source
from data_prep.sources.opus import TmxFile
from mt.data.dataset import DatasetConfig
from mt.errors import UserError

_DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'


def _memory(folder: Path, segment: str, before: str = _DOCTYPE, languages: tuple[str, ...] = ("en", "de")) -> Path:
    variants = "".join(f'<tuv xml:lang="{language}"><seg>{segment}</seg></tuv>' for language in languages)
    path = folder / "train.tmx"
    path.write_text(
        f'<?xml version="1.0"?>\n{before}\n<tmx version="1.4"><header/><body>\n<tu>{variants}</tu></body></tmx>',
        encoding="utf-8",
    )
    return path


def _text(path: Path, sides: tuple[str, str] = ("en", "de")) -> str:
    memory = TmxFile(path, sides)
    assert len(list(memory.read())) == 1
    return next(memory.read()).source


@pytest.mark.parametrize("before", [_DOCTYPE, "", "<!DOCTYPE tmx []>", "<!DOCTYPE tmx [%further;]>"])
def test_no_entity_vanishes(tmp_path: Path, before: str) -> None:
    assert _text(_memory(tmp_path, "10&nbsp;000 &euro; &amp; &#x41;", before)) == "10\N{NO-BREAK SPACE}000 € & A"
    path = _memory(tmp_path, "10 &gulden;", before)
    with pytest.raises(UserError, match=r"train\.tmx, line 4 has &gulden;, which is neither declared nor a character"):
        _text(path)


@pytest.mark.parametrize("kind", ["SYSTEM 'file:///etc/passwd'", "'ha'", "PUBLIC '-' 'http://x.invalid/e'"])
def test_what_is_declared_is_refused(tmp_path: Path, kind: str) -> None:
    path = _memory(tmp_path, "&nbsp;&a;", f"<!DOCTYPE tmx [<!ENTITY a {kind}>]>")
    with pytest.raises(UserError, match=r"train\.tmx, line 2 declares an entity"):
        _text(path)


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
    assert _text(_memory(tmp_path, segment)) == text


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("zh_CN", "zh_CN"),
        ("zh-CN", "zh_cn"),
        ("ZH-cn", "zh-CN"),
        ("zh_CN", "zh"),
        ("zh-Hans-CN", "zh-CN"),
        ("EN", "en"),
    ],
)
def test_one_language_has_several_spellings(tmp_path: Path, written: str, asked: str) -> None:
    assert _text(_memory(tmp_path, "a", languages=(written, "de")), (asked, "de")) == "a"
    with pytest.raises(UserError, match=r"has no units in zh-TW"):
        _text(_memory(tmp_path, "a", languages=(written, "de")), ("zh-TW", "de"))


def test_what_may_be_two_languages_is_refused(tmp_path: Path) -> None:
    path = _memory(tmp_path, "a", languages=("zh_TW", "zh-CN", "de"))
    with pytest.raises(UserError, match=r"train\.tmx, line 4 has zh-cn and zh-tw, and zh may be either: set dataset"):
        _text(path, ("zh", "de"))
    assert _text(path, ("zh-tw", "de")) == "a"
    with pytest.raises(UserError, match="has no units in de"):
        _text(_memory(tmp_path, "a", languages=("zh-CN", "fr")), ("zh-CN", "de"))


@pytest.mark.parametrize("segment", ["a</seg><seg>b", "a<seg>b</seg>c"])
def test_a_second_segment_is_refused(tmp_path: Path, segment: str) -> None:
    with pytest.raises(
        UserError, match=r"train\.tmx, line 4 has a second <seg> in one <tuv>, whose text would be lost"
    ):
        _text(_memory(tmp_path, segment))


@pytest.mark.parametrize("encoding", ["gb2312", "shift_jis", "nonsense"])
def test_an_encoding_that_cannot_be_read_is_refused(tmp_path: Path, encoding: str) -> None:
    path = _memory(tmp_path, "a")
    path.write_text(path.read_text().replace('"1.0"', f'"1.0" encoding="{encoding}"', 1))
    with pytest.raises(UserError, match=r"train\.tmx says that it is in an encoding that cannot be read \(.*convert"):
        _text(path)


@pytest.mark.parametrize("codes", [("zh-CN", "zh-TW"), ("pt_BR", "pt"), ("sr-Latn", "sr-Cyrl")])
def test_units_in_several_regions_or_scripts_are_told(tmp_path: Path, codes: tuple[str, str]) -> None:
    language = codes[0][:2]
    units = (_memory(tmp_path, "a", languages=("en", code)).read_text("utf-8").partition("<tu>") for code in codes)
    (head, _, first), (_, _, second) = units
    path = tmp_path / "train.tmx"
    path.write_text(f"{head}<tu>{first.removesuffix('</body></tmx>')}\n<tu>{second}", encoding="utf-8")
    config = DatasetConfig(
        source="en", target=language, folder=str(tmp_path), splits={"train": "train", "dev": "train", "test": None}
    )
    source = open_source(config)
    assert len(list(source.splits["train"].read())) == 2
    some, others = sorted(code.lower().replace("_", "-") for code in codes)
    assert source.notes()[0] == (
        f"{path}: {language} is {some} in some units, {others} in others: set dataset.source and dataset.target to "
        "one of them to read that alone"
    )
